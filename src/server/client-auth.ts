/**
 * Which clients an HTTPS listener serves when it asks for client certificates. Checked once per connection, and again
 * when the authorities change, since a connection may outlive the one that vouched for it. A rejected client gets the
 * reason over HTTP, because a TLS alert reaches the log of an API server as little more than "connection reset".
 */
import { type X509Certificate } from "node:crypto";
import { type Server } from "node:https";
import { type Socket } from "node:net";
import { type DetailedPeerCertificate, type PeerCertificate, TLSSocket } from "node:tls";
import { readCertificates, subjectOf } from "../util/pem-certificates.ts";

export interface ClientAuth {
  /** PEM, the CAs. */
  readonly caFile: string;
  /** Common names and subject alternative names, exact; empty = every certificate of the CAs. */
  readonly allowedNames: ReadonlySet<string>;
  /** Called once per rejected connection. */
  readonly onRejected: (rejection: ClientRejection) => void;
}

export interface ClientRejection {
  /** 401: no valid certificate of the CAs. 403: none of its names is allowed. */
  readonly status: 401 | 403;
  readonly message: string;
  readonly peerAddress: string;
}

/** What becomes of connections by what is known of their clients. */
export interface ClientConnections {
  /** Called once per accepted connection. */
  identified(socket: TLSSocket): void;
  endWithNextAnswer(socket: TLSSocket): void;
}

export class ClientCheck {
  readonly #auth: ClientAuth;
  readonly #connections: ClientConnections;
  readonly #rejections = new WeakMap<Socket, ClientRejection>();
  /** The open connections of accepted clients. */
  readonly #accepted = new Set<TLSSocket>();

  constructor(auth: ClientAuth, connections: ClientConnections) {
    this.#auth = auth;
    this.#connections = connections;
  }

  /** From now on checks the connections of `server`, which asks for certificates. */
  watch(server: Server): void {
    server.on("secureConnection", (socket) => {
      const rejection = rejectionOf(socket, this.#auth.allowedNames);
      if (rejection !== undefined) return this.#reject(socket, rejection);
      this.#accepted.add(socket);
      socket.once("close", () => this.#accepted.delete(socket));
      this.#connections.identified(socket);
    });
  }

  /** Why the client of a socket is rejected. */
  rejectionOf(socket: Socket): ClientRejection | undefined {
    return this.#rejections.get(socket);
  }

  /**
   * Each connection whose certificate comes from none of the authorities in `ca` (PEM) ends with its next answer. Until
   * then it is served: an API server shows its new certificate on new connections only, and a review of it that was
   * refused here would not be repeated.
   */
  authoritiesChanged(ca: string): void {
    const authorities = readCertificates(ca);
    for (const socket of this.#accepted) {
      if (isIssuedByAny(socket, authorities)) continue;
      this.#accepted.delete(socket);
      this.#connections.endWithNextAnswer(socket);
    }
  }

  #reject(socket: TLSSocket, rejection: ClientRejection): void {
    this.#rejections.set(socket, rejection);
    this.#auth.onRejected(rejection);
  }
}

/** Of a certificate that was valid when the connection began. */
function isIssuedByAny(socket: TLSSocket, authorities: readonly X509Certificate[]): boolean {
  const own = socket.getPeerX509Certificate();
  if (own === undefined) return false;
  if (authorities.some((ca) => own.checkIssued(ca) && own.verify(ca.publicKey))) return true;
  const chain = chainOf(socket.getPeerCertificate(true));
  return authorities.some(({ fingerprint256 }) => chain.includes(fingerprint256));
}

/** OpenSSL builds no longer chains by default. */
const chainLengthMax = 100;

/** The fingerprints of the issuers, as far as the connection knows them. */
function chainOf(certificate: DetailedPeerCertificate): readonly string[] {
  const chain: string[] = [];
  let issuer: DetailedPeerCertificate | undefined = certificate.issuerCertificate;
  while (issuer !== undefined && chain.length < chainLengthMax && !chain.includes(issuer.fingerprint256)) {
    chain.push(issuer.fingerprint256);
    issuer = issuer.issuerCertificate;
  }
  return chain;
}

/** The authorities of a fleet, each with the one that is to replace it. A line of the log can be read with so many. */
const loggedMax = 50;

/** The authorities in `ca` (PEM) for a line of the log: whose they are, and until when. The others are only counted. */
export function authoritiesText(ca: string): readonly string[] {
  const authorities = readCertificates(ca);
  const more = authorities.length - loggedMax;
  return [
    ...authorities.slice(0, loggedMax).map((one) => `${subjectOf(one)} until ${one.validToDate.toISOString()}`),
    ...(more > 0 ? [`and ${more} more`] : []),
  ];
}

/** Whether a client certificate that was accepted tells who the client of this connection is. */
export function isIdentified(socket: Socket | undefined): boolean {
  return socket instanceof TLSSocket && socket.authorized;
}

/** The names that an accepted client certificate gives the client of this connection; none without one. */
export function certificateNames(socket: Socket): readonly string[] {
  return socket instanceof TLSSocket && socket.authorized ? namesOf(socket.getPeerCertificate()) : [];
}

/** Names in a message: of a bounded length, and nothing in them but printable characters of their own. */
export function quoteNames(names: readonly string[]): string {
  const shown = names.slice(0, shownMax).map((name) => {
    const text = name.length > shownCharsMax ? `${name.slice(0, shownCharsMax)}…` : name;
    return JSON.stringify(text).replace(unprintable, escapeChar);
  });
  return [...shown, ...(names.length > shownMax ? [`and ${names.length - shownMax} more`] : [])].join(", ");
}

/** JSON escapes the ASCII ones. These would end a line, or turn the order of the characters around them. */
const unprintable = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;
const escapeChar = (char: string): string => `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
/** A certificate of an API server has two or three names, each with at most 253 characters. */
const shownMax = 8;
const shownCharsMax = 253;

function rejectionOf(socket: TLSSocket, allowedNames: ReadonlySet<string>): ClientRejection | undefined {
  const peerAddress = socket.remoteAddress ?? "";
  if (!socket.authorized) {
    const isShown = Object.keys(socket.getPeerCertificate()).length > 0;
    const reason = isShown
      ? `that of the client is not: ${String(socket.authorizationError)}`
      : "the client showed none";
    const message = `a client certificate of an accepted CA is required, and ${reason}`;
    return { status: 401, message, peerAddress };
  }
  const names = namesOf(socket.getPeerCertificate());
  if (allowedNames.size === 0 || names.some((name) => allowedNames.has(name))) return undefined;
  const message =
    `the client certificate is valid, but none of its names is allowed: ${quoteNames(names)} ` +
    "(--webhook-client-cells, --webhook-client-allowed-names)";
  return { status: 403, message, peerAddress };
}

/** The common names, then the subject alternative names of every kind. */
function namesOf({ subject, subjectaltname = "" }: PeerCertificate): string[] {
  const commonName: string | readonly string[] | undefined = subject.CN;
  // Node quotes a name that contains a comma or a quote. Such a name could pose as several, and is never allowed.
  const alternatives = subjectaltname.includes('"') ? [] : subjectaltname.split(", ");
  return [commonName ?? [], alternatives.map((entry) => entry.slice(entry.indexOf(":") + 1))]
    .flat(2)
    .filter((name) => name !== "");
}
