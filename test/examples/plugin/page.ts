// The browser half: a session by launch or by login, and the devices that the backend lists with
// it.
import { isPageError, type Session, startSession } from "../../../src/page/index.js"; // yours: "bivariant/page"

const element = (id: string) => document.getElementById(id) as HTMLElement;
const tell = (text: string) => {
  element("status").textContent = text;
};
/** Set by the server: the origins of the host applications that may launch this page. */
const { hostOrigins } = (await (await fetch("/settings.json")).json()) as { hostOrigins: string[] };

async function start(): Promise<void> {
  element("again").hidden = true;
  try {
    const session = await startSession({
      hostOrigins,
      onEnded: ({ ask, reason }) => ended(ask, reason),
    });
    const { operator, variant } = session;
    const name =
      [operator?.firstname, operator?.lastname].filter(Boolean).join(" ") || operator?.userId;
    element("operator").textContent = name ?? "";
    element("logout").hidden = variant === "A";
    element("logout").onclick = () => session.logout().catch(failed);
    element("refresh").onclick = () => list(session).catch(failed);
    await list(session);
  } catch (error) {
    failed(error);
  }
}

function failed(error: unknown): void {
  const code = isPageError(error) ? error.code : "the plugin's server was not reached";
  // `onEnded` has reported that already.
  if (code === "session_ended") return;
  const isFramed = window.parent !== window;
  tell(
    `${isFramed ? "Open the plugin again from the sidebar" : "You are not logged in"} (${code}).`,
  );
  element("again").hidden = isFramed;
}

function ended(ask: "relaunch" | "login", reason: string): void {
  element("list").hidden = true;
  element("logout").hidden = true;
  element("operator").textContent = "";
  element("again").hidden = ask !== "login";
  if (ask === "relaunch") tell("This session is over. Open the plugin again from the sidebar.");
  else
    tell(reason === "logged_out" ? "You are logged out." : "This session is over. Log in again.");
}

async function list(session: Session): Promise<void> {
  const answer = await session.fetch("/api/devices");
  if (!answer.ok) return tell(`The devices could not be listed (${answer.status}).`);
  const devices = (await answer.json()) as { id: string; name: string }[];
  element("devices").replaceChildren(
    ...devices.map(({ id, name }) => {
      const item = document.createElement("li");
      const code = document.createElement("code");
      code.textContent = id;
      item.append(name, code);
      return item;
    }),
  );
  element("list").hidden = false;
  tell(`${devices.length} devices.`);
}

element("again").onclick = start;
await start();
