// The forms of the clock.
import { EmulatorError } from "../emulator-error.js";
import type { AdminAction } from "./admin-site.js";
import { overviewPage } from "./overview-page.js";

export const clockAction: AdminAction = {
  path: "/clock",
  page: overviewPage,
  act(site, fields) {
    const { time } = site.deployment();
    const read = (name: string) => (fields.get(name) ?? "").trim();
    switch (fields.get("do")) {
      case "freeze":
        return time.freeze();
      case "resume":
        return time.resume();
      case "reset":
        return time.reset();
      case "set":
        return time.set(/^-?\d+$/.test(read("instant")) ? Number(read("instant")) : read("instant"));
      default:
        return time.advance(milliseconds(read("amount"), read("unit")));
    }
  },
};

function milliseconds(amount: string, unit: string): number {
  const product = Number(amount) * Number(unit);
  if (amount !== "" && Number.isFinite(product)) return product;
  throw new EmulatorError("option_invalid", "clock", { issues: ["amount: must be a number"] });
}
