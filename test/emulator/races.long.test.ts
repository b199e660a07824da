// Runs every race a hundred times.
import { describeRaces } from "./race.js";

describeRaces(100);
