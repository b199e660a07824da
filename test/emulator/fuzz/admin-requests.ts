// A request of every page, file and form at /_emulator, as its own pages send them.
import { adminActions, adminFiles, adminPages } from "../../../src/emulator/admin/admin-routes.js";
import { draft, type Field, type ValidRequest } from "./valid-requests.js";
import { CALLBACK, type World } from "./world.js";

const PLUGIN: readonly Field[] = [
  ["tenantId", "acme"],
  ["clientId", "reporter"],
];

/** What each form is filled in with, by its path; the snapshot is uploaded as a file. */
const filledIn: Readonly<Record<string, (world: World) => readonly Field[]>> = {
  "/clock": () => [
    ["do", "advance"],
    ["amount", "1"],
    ["unit", "1000"],
  ],
  "/plugins": () => [...PLUGIN, ["do", "scopes"], ["scopes", "devices:read"]],
  "/operators": () => [
    ["tenantId", "acme"],
    ["userId", "ada"],
    ["capabilities", "devices:read"],
  ],
  "/plugins/unregister": () => PLUGIN,
  // Not ada, who launches and logs in.
  "/operators/unregister": () => [
    ["tenantId", "acme"],
    ["userId", "eve"],
  ],
  "/clients/account": () => [
    ["clientId", "worker"],
    ["limited", "yes"],
    ["scopes", "devices:read"],
  ],
  "/clients/client": () => [
    ["clientId", "vault"],
    ["name", "The vault"],
    ["tenantId", "acme"],
    ["redirectUris", CALLBACK],
  ],
  "/clients/unregister-account": () => [["clientId", "worker"]],
  // Not the portal, which people log in to.
  "/clients/unregister-client": () => [["clientId", "vault"]],
  "/faults": () => [
    ["name", "status"],
    ["status", "503"],
    ["body", "{}"],
    ["count", "1"],
    ["tenantId", "acme"],
  ],
  "/faults/remove": () => [["remove", "fault-1"]],
  "/rules": () => [
    ["on", "assertion.replay"],
    ["filter", "assertion"],
  ],
  "/reset": () => [],
  "/restore": ({ emulator }) => [["snapshot", JSON.stringify(emulator.snapshot())]],
};

const pages: readonly ValidRequest[] = [
  ...adminPages.map(({ path }) => path),
  ...Object.keys(adminFiles),
].map((path) => ({
  name: `/_emulator${path}`,
  operation: undefined,
  status: 200,
  draft: () =>
    draft("GET", `_emulator${path}`, {
      query: [
        ["filter", "code"],
        ["name", "slow"],
      ],
    }),
}));

const forms: readonly ValidRequest[] = adminActions.map(({ path, upload }) => ({
  name: `the form to /_emulator${path}`,
  operation: undefined,
  status: 303,
  async draft(world) {
    const hidden = [
      ["form_token", await world.adminToken()],
      ["form", "form-1"],
    ] as const;
    const type =
      upload === undefined ? "application/x-www-form-urlencoded" : "multipart/form-data; boundary=limit";
    return draft("POST", `_emulator${path}`, {
      headers: { "content-type": type, origin: new URL(world.emulator.publicUrl).origin },
      body: {
        type: upload === undefined ? "form" : "multipart",
        fields: [...hidden, ...(filledIn[path]?.(world) ?? [])],
      },
    });
  },
}));

export const adminRequests: readonly ValidRequest[] = [...pages, ...forms];
