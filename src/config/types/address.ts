/**
 * Checks of addresses and names: bind addresses, URLs of API servers, paths of the webhook, cells, certificates. Each
 * returns undefined, or what is wrong in words that follow the quoted value.
 */
import { isIP } from "node:net";
import { isCellID } from "../../api/cell-id.ts";

/** An IP address, a host name, or "" for all addresses. Brackets belong in URLs only. */
export function bindAddressProblem(text: string): string | undefined {
  const isHostName = /^[A-Za-z0-9]([-A-Za-z0-9.]{0,251}[A-Za-z0-9])?$/.test(text) && !/^[\d.]+$/.test(text);
  return text === "" || isIP(text) !== 0 || isHostName ? undefined : "is not an IP address or host name";
}

/** The URL of an API server; "" = not given. */
export function masterUrlProblem(text: string): string | undefined {
  if (text === "") return undefined;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol) || !/^https?:\/\//.test(text))
    return "is not an http or https URL";
  // They would not be sent, and a token there would show up in logs.
  return /[?#]/.test(text) ? "has a query or a fragment, which an API server ignores" : undefined;
}

/** "" or the path before `/{cell}`. */
export function pathPrefixProblem(text: string): string | undefined {
  return text === "" || /^(\/[A-Za-z0-9._~-]+)+$/.test(text) ? undefined : "is not a path such as /podseidon";
}

export function cellIDProblem(text: string): string | undefined {
  return isCellID(text) ? undefined : "is not a cell ID";
}

/** A common name or a subject alternative name, as it stands in a client certificate. */
export function certificateNameProblem(text: string): string | undefined {
  return /^[^,\u0000-\u001f\u007f]{1,253}$/.test(text) ? undefined : "is not a certificate name";
}

/** A DNS name, perhaps with `*.` in front, or an IP address, by which a server is called. */
export function serverNameProblem(text: string): string | undefined {
  const labels = (text.startsWith("*.") ? text.slice(2) : text).split(".");
  const isName = text.length <= 253 && labels.every((label) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(label));
  return isName || isIP(text) !== 0 ? undefined : "is not a DNS name or an IP address";
}

/** Masks the user, password, query and fragment of every URL in the text. */
export function maskPasswords(text: string): string {
  return text.replace(/(:\/\/)[^/@\s,]+@/g, "$1***@").replace(/(:\/\/[^\s",?#]*[?#])[^\s",]+/g, "$1***");
}

/** Whether listening on this address means listening on every address. */
export function isWildcard(address: string): boolean {
  return address === "" || address === "::" || address === "0.0.0.0";
}

/** Whether only this host can reach what listens there. The address of another name than localhost is not known. */
export function isLoopback(address: string): boolean {
  return (
    address === "::1" || address.toLowerCase() === "localhost" || (isIP(address) === 4 && address.startsWith("127."))
  );
}

/** The IPv4 address that replaces an IPv6 one on a host without IPv6; undefined = there is none. */
export function ipv4Fallback(address: string): string | undefined {
  if (address === "::1") return "127.0.0.1";
  return address === "::" || address === "" ? "0.0.0.0" : undefined;
}

/** Whether one replaces the other on a host without IPv6, so that both cannot have the same port there. */
export function isIPv4Fallback(one: string, other: string): boolean {
  return ipv4Fallback(one) === other || ipv4Fallback(other) === one;
}

/** An item of --webhook-client-cells: `NAME=CELL`. */
export interface ClientCell {
  /** A name of a client's certificate. */
  readonly name: string;
  /** A cell that it may speak for. */
  readonly cell: string;
}

/** Names of certificates may hold "=", cells cannot. Without "=" the name is empty. */
export function readClientCell(item: string): ClientCell {
  const equals = item.lastIndexOf("=");
  return { name: item.slice(0, Math.max(equals, 0)), cell: item.slice(equals + 1) };
}

/** What is wrong, in words that follow the quoted item. */
export function clientCellProblem(item: string): string | undefined {
  const { name, cell } = readClientCell(item);
  if (name === "") return "is not NAME=CELL";
  if (certificateNameProblem(name) !== undefined) return "begins with what is not a certificate name";
  return cellIDProblem(cell) === undefined ? undefined : `ends with ${JSON.stringify(cell)}, which is not a cell ID`;
}
