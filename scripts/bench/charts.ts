// Draws the charts from the figures that are stored beside them: figures.svg with the aims,
// figures-compared.svg for the README.
import { readFileSync, writeFileSync } from "node:fs";
import { drawFigures } from "./chart.js";
import { drawComparison } from "./comparison.js";

const figures = JSON.parse(readFileSync(new URL("figures.json", import.meta.url), "utf8"));
writeFileSync(new URL("figures.svg", import.meta.url), drawFigures(figures));
writeFileSync(new URL("figures-compared.svg", import.meta.url), drawComparison(figures));
