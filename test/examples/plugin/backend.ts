// The server half: bivariant's routes under /auth, one of its own, and the page's files.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
// yours: "bivariant/backend"
import { type BackendOptions, createBackend } from "../../../src/backend/index.js";

const folder = fileURLToPath(new URL(".", import.meta.url));

/** Makes the handler for all requests to the plugin. */
export async function createPlugin(
  options: BackendOptions & { readonly hostOrigins: readonly string[] },
): Promise<(request: Request) => Promise<Response>> {
  const { hostOrigins, ...backendOptions } = options;
  const backend = createBackend(backendOptions);
  const script = await bundle();
  const files: Record<string, () => Response> = {
    "/": () => file(readFileSync(`${folder}page.html`, "utf8"), "text/html", hostOrigins),
    "/page.css": () => file(readFileSync(`${folder}page.css`, "utf8"), "text/css"),
    "/page.js": () => file(script, "text/javascript"),
    "/settings.json": () => Response.json({ hostOrigins }),
  };
  return async (request) => {
    const { pathname } = new URL(request.url);
    if (pathname.startsWith("/auth/")) return backend(request);
    if (pathname === "/api/devices") return listDevices(request);
    return files[pathname]?.() ?? new Response("Not found", { status: 404 });
  };

  async function listDevices(request: Request): Promise<Response> {
    try {
      const service = await backend.connect(request);
      // The call is the same for a launch (Variant A) and a login (Variant B).
      const result = await service.call("listDevices", { signal: request.signal });
      return result.ok ? Response.json(result.data) : backend.answer(result.error);
    } catch (error) {
      return backend.answer(error);
    }
  }
}

/** In a plugin of your own, a build step does this. */
async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [`${folder}page.ts`],
    bundle: true,
    format: "esm",
    target: "es2022",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

function file(text: string, type: string, hostOrigins?: readonly string[]): Response {
  const headers: Record<string, string> = {
    "content-type": `${type}; charset=utf-8`,
    "cache-control": "no-store",
  };
  // Only the hosts that may launch the page may embed it, and only its own files may run in it.
  if (hostOrigins !== undefined)
    headers["content-security-policy"] =
      `default-src 'self'; img-src data:; base-uri 'none'; object-src 'none'; frame-ancestors ${hostOrigins.join(" ")}`;
  return new Response(text, { headers });
}
