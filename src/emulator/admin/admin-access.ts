// Only people on this machine may use the page at /_emulator. No other site may have their browser
// use it.
import { isIP } from "node:net";
import { isMediaType } from "../http/messages.js";

interface AdminCall {
  /** See `EmulatorOptions.admin`. */
  readonly access: "loopback" | "everywhere";
  readonly request: Request;
  /** Undefined for a call in this process. */
  readonly remoteAddress: string | undefined;
  readonly publicUrl: string;
}

/** A valid Host header, without a path or credentials. */
const HOST = /^(\[[0-9a-f:.]+\]|[a-z0-9._~-]+)(:\d{1,5})?$/i;

/**
 * Headers that proxies add. Their values are not trusted, but their presence means that the caller
 * is elsewhere.
 */
const PROXY_HEADER = /^(forwarded|x-forwarded-(for|host|proto)|x-real-ip|via)$/;

const FORM_TYPE = "application/x-www-form-urlencoded";

/** Returns a code and the reason, as the answer has them. */
export function refuseCall(call: AdminCall): string | undefined {
  const { access, request, remoteAddress } = call;
  const isProxied = [...request.headers.keys()].some((name) => PROXY_HEADER.test(name));
  const isRemote = remoteAddress !== undefined && !isLoopback(remoteAddress);
  if (access === "loopback" && (isRemote || isProxied)) {
    const caller = isRemote ? "on another machine" : "behind a proxy";
    const remedy = 'The option admin: "everywhere" allows it.';
    return `address_not_allowed: A caller ${caller} may not use this page. ${remedy}`;
  }
  // The request line may name another host than the header does.
  const { host: requested, protocol } = new URL(request.url);
  const host = request.headers.get("host") ?? requested;
  if (![requested, host].every((name) => isAllowedHost(call, name)))
    return "host_not_allowed: Use 127.0.0.1 or localhost: another name may be rebound, or lead here through a proxy.";
  if (request.method !== "POST") return undefined;
  // Another site can have a browser send a form, but not with our origin.
  const own = [`${protocol}//${host.toLowerCase()}`, new URL(call.publicUrl).origin];
  if (!own.includes(request.headers.get("origin") ?? ""))
    return "origin_not_allowed: The Origin header must be that of the page.";
  const site = request.headers.get("sec-fetch-site") ?? "same-origin";
  if (site !== "same-origin" && site !== "none")
    return "site_not_allowed: The page of another site sent this.";
  if (isMediaType(request.headers.get("content-type"), FORM_TYPE)) return undefined;
  return `media_type_not_allowed: Send a form of the page, as ${FORM_TYPE}.`;
}

function isLoopback(address: string): boolean {
  return address === "::1" || /^(::ffff:)?127(\.\d{1,3}){3}$/.test(address);
}

/**
 * The owner of a foreign name can have it resolve to this machine (DNS rebinding). An IP address
 * cannot be rebound.
 */
function isAllowedHost({ access, publicUrl, remoteAddress }: AdminCall, host: string): boolean {
  if (!HOST.test(host) || !URL.canParse(`http://${host}`)) return false;
  const { hostname } = new URL(`http://${host}`);
  // A public name in a call over the network was passed on by a proxy.
  const isPublicNameAllowed = access === "everywhere" || remoteAddress === undefined;
  if (isPublicNameAllowed && hostname === new URL(publicUrl).hostname) return true;
  const address = hostname.replace(/^\[|\]$/g, "");
  if (access === "everywhere" && isIP(address) !== 0) return true;
  // RFC 6761 section 6.3: names under localhost always resolve to loopback.
  return isLoopback(address) || /(^|\.)localhost$/.test(hostname);
}
