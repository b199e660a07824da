// The files that pages load.
import { hostScript } from "../host/host-script.js";
import { HOST_SCRIPT_PATH, STYLESHEET_PATH } from "./asset-paths.js";
import type { PageRoute } from "./page-route.js";
import { stylesheet } from "./stylesheet.js";

export const assetRoutes: readonly PageRoute[] = [
  asset(STYLESHEET_PATH, "text/css; charset=utf-8", stylesheet),
  asset(HOST_SCRIPT_PATH, "text/javascript; charset=utf-8", hostScript),
];

function asset(path: string, type: string, text: string): PageRoute {
  const headers = { "content-type": type, "cache-control": "no-cache", "x-content-type-options": "nosniff" };
  return { operation: "readAsset", method: "GET", path, answer: () => new Response(text, { headers }) };
}
