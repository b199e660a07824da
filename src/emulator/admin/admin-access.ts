// Who may use the page at /_emulator: people on this machine, and nothing that a site of somebody else makes them send.
import { isIP } from "node:net";
import { isMediaType } from "../http/media-type.js";

/** Who may; see `EmulatorOptions`. */
export type AdminAccess = "loopback" | "everywhere" | false;

export interface AdminCall {
  readonly access: AdminAccess;
  readonly request: Request;
  /** Undefined: in this process. */
  readonly remoteAddress: string | undefined;
  /** The base URL of the deployment. */
  readonly publicUrl: string;
  /** Undefined for what no POST goes to. */
  readonly mediaType?: string | undefined;
}

/** Why not: a stable code, and what to do about it. */
export interface AdminRefusal {
  readonly code:
    | "address_not_allowed"
    | "host_not_allowed"
    | "origin_not_allowed"
    | "site_not_allowed"
    | "media_type_not_allowed"
    | "form_token_invalid";
  readonly text: string;
}

/** A host as a Host header has it: no path, no credentials. */
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._~-]+)(:\d{1,5})?$/i;

/** Headers of proxies: what they say is not believed, but that they are there says that the caller is another. */
const PASSED_ON = [
  "forwarded",
  "x-forwarded-for",
  "x-forwarded-host",
  "x-forwarded-proto",
  "x-real-ip",
  "via",
];

export function refuseCall(call: AdminCall): AdminRefusal | undefined {
  const { access, request, remoteAddress } = call;
  if (access === "loopback" && remoteAddress !== undefined && !isLoopback(remoteAddress)) {
    const text = 'Only callers on this machine may; the option admin: "everywhere" lets others.';
    return { code: "address_not_allowed", text };
  }
  if (access === "loopback" && PASSED_ON.some((name) => request.headers.has(name))) {
    const text =
      'A proxy passed this on, for somebody who may be anywhere; the option admin: "everywhere" lets them.';
    return { code: "address_not_allowed", text };
  }
  // Both, for a request line may name another host than the header.
  const hosts = [new URL(request.url).host, request.headers.get("host") ?? new URL(request.url).host];
  if (!hosts.every((host) => isAllowedHost(call, host))) {
    const text = "Use 127.0.0.1 or localhost: another name may be a rebound one, or lead here by a proxy.";
    return { code: "host_not_allowed", text };
  }
  return request.method === "POST" ? refusePost(call, hosts[1] ?? "") : undefined;
}

/** Other sites can have a browser send a form, but not under our origin. */
function refusePost({ request, publicUrl, mediaType }: AdminCall, host: string): AdminRefusal | undefined {
  const own = [`${new URL(request.url).protocol}//${host.toLowerCase()}`, new URL(publicUrl).origin];
  if (!own.includes(request.headers.get("origin") ?? "")) {
    return { code: "origin_not_allowed", text: "The Origin header must be that of the page." };
  }
  const site = request.headers.get("sec-fetch-site") ?? "same-origin";
  if (site !== "same-origin" && site !== "none") {
    return { code: "site_not_allowed", text: "Another site's page sent this." };
  }
  const type = request.headers.get("content-type");
  if (mediaType === undefined || isMediaType(type, mediaType)) return undefined;
  return { code: "media_type_not_allowed", text: `Only a form of the page is read: ${mediaType}.` };
}

/** No header is believed, X-Forwarded-For and the like least of all. */
function isLoopback(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(address);
}

/** A name of somebody else's may resolve to this machine whenever they like; an IP address is what it is. */
function isAllowedHost({ access, publicUrl, remoteAddress }: AdminCall, host: string): boolean {
  if (!HOST.test(host) || !URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  // Over the network, a public name leads here by a proxy at best.
  const isPublicNameFine = access === "everywhere" || remoteAddress === undefined;
  if (isPublicNameFine && hostname === new URL(publicUrl).hostname) return true;
  const address = hostname.replace(/^\[|\]$/g, "");
  if (access === "everywhere" && isIP(address) !== 0) return true;
  // RFC 6761 section 6.3: names under localhost never leave the machine.
  return isLoopback(address) || /(^|\.)localhost$/.test(hostname);
}
