// A host application: launches the plugin in a frame, authorises its challenge, and answers, honestly unless told.
import { randomUUID } from "node:crypto";
import { answerWith, loopbackSite, type Site, type SiteAnswer, type SiteRequest } from "./loopback-site.js";

export interface Launch {
  readonly opaqueCode: string;
  readonly state: string;
  readonly tenantId: string;
}

/** A code that the host gave out, and what it is bound to. */
export interface Grant extends Launch {
  readonly challenge: string;
}

export interface FakeHostOptions {
  /** Attributes of the plugin's frame. */
  readonly attributes?: string;
  /** JavaScript; may define `reply(answer, post)`, which is called instead of `post(answer)`. */
  readonly script?: string;
  /** What is sent along with the page. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The address that is launched; `launch` is filled in. */
  readonly src?: (launch: Launch) => string;
}

export interface FakeHost extends Site {
  readonly launch: Launch;
  readonly grants: Map<string, Grant>;
  /** HTML beside the frame: siblings. */
  beside: string;
  /** Holds the answers to `plugin:pkce-init` back until the function that comes back is called. */
  hold(): () => void;
}

export async function fakeHost(pluginOrigin: () => string, options: FakeHostOptions): Promise<FakeHost> {
  const launch = { opaqueCode: `opaque-${randomUUID()}`, state: `state-${randomUUID()}`, tenantId: "acme" };
  const grants = new Map<string, Grant>();
  let gate = Promise.resolve();

  async function authorise({ body }: SiteRequest): Promise<SiteAnswer> {
    await gate;
    const { challenge, opaque_code } = JSON.parse(body);
    if (opaque_code !== launch.opaqueCode) return answerWith({}, 400);
    const code = `code-${randomUUID()}`;
    grants.set(code, { ...launch, challenge });
    return answerWith({ type: "host:auth-code", code, state: launch.state, tenantId: launch.tenantId });
  }

  function page(): SiteAnswer {
    const query = new URLSearchParams({ opaque_code: launch.opaqueCode, state: launch.state });
    const src = options.src?.(launch) ?? `${pluginOrigin()}/?${query}&lang=en`;
    const html = `<!doctype html><title>Host</title><link rel="icon" href="data:,">
      <iframe name="plugin" ${options.attributes ?? ""} src="${src.replaceAll("&", "&amp;")}"></iframe>
      ${host.beside}
      <script>
        const inits = [], plugin = document.querySelector("iframe").contentWindow;
        window.post = (message) => plugin.postMessage(message, ${JSON.stringify(pluginOrigin())});
        let reply = (answer, post) => post(answer);
        addEventListener("message", async ({ source, origin, data }) => {
          if (source !== plugin || origin !== ${JSON.stringify(pluginOrigin())}) return;
          if (data?.type !== "plugin:pkce-init") return;
          inits.push(data);
          const answer = await fetch("/authorise", { method: "POST", body: JSON.stringify(data) });
          if (answer.ok) reply(await answer.json(), post);
        });
        ${options.script ?? ""}
      </script>`;
    return {
      headers: { "content-type": "text/html", ...options.headers },
      body: html,
    };
  }

  const site = await loopbackSite("host", (request) =>
    request.url.pathname === "/authorise" ? authorise(request) : page(),
  );
  const host: FakeHost = {
    ...site,
    launch,
    grants,
    beside: "",
    hold() {
      let open = (): void => {};
      gate = new Promise((resolve) => {
        open = resolve;
      });
      return open;
    },
  };
  return host;
}
