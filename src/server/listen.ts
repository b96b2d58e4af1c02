/**
 * Opens a listener for a hono app, HTTP or HTTPS, with limits on everything that a client can hold open. Used by the
 * health server, the metrics server and the webhook.
 */
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import { constants } from "node:crypto";
import http, { type Server } from "node:http";
import https from "node:https";
import { type AddressInfo } from "node:net";
import { failedCallStatus } from "../api/failed-call.ts";
import { ipv4Fallback } from "../config/types/address.ts";
import { StartError } from "../lifecycle/component.ts";
import { type CertificateUses } from "../util/certificate-use.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import {
  loadCertificate,
  watchCertificate,
  type Certificate,
  type CertificateFiles,
  type SuppliedCertificate,
} from "./certificate.ts";
import { authoritiesText, ClientCheck, type ClientAuth, type ClientRejection } from "./client-auth.ts";
import { type ConnectionLimits, Connections } from "./connections.ts";
import { messageOf } from "../util/printable.ts";

export interface ListenOptions extends ConnectionLimits {
  /** The name of the server, for messages: "webhook". */
  readonly name: string;
  /** `app.fetch` of a hono app. */
  readonly fetch: (request: Request, bindings: HttpBindings) => Response | Promise<Response>;
  /** IP address or host name; "" = all addresses. On a host without IPv6, `::1` and `::` mean 127.0.0.1 and 0.0.0.0. */
  readonly bindAddress: string;
  /** 0 = any free port. */
  readonly port: number;
  /** The flag that chose the port, for messages. */
  readonly portFlag: string;
  /** Present = HTTPS; with `clientAuth`, clients need certificates. */
  readonly tls?: (Omit<CertificateFiles, "caFile"> | Omit<SuppliedCertificate, "caFile">) & {
    readonly clientAuth?: ClientAuth;
  };
  /** Maximum time to receive the header of a request; 0 = no limit. */
  readonly readHeaderTimeoutMs: number;
  /** Maximum time from there to the end of the body; no limit when the header has none. Default: 30 s. */
  readonly bodyTimeoutMs?: number;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Told which certificates are in use. */
  readonly certificates?: CertificateUses | undefined;
}

export interface Listener {
  /** The address in use, which may be the IPv4 fallback. */
  readonly address: string;
  readonly port: number;
  /**
   * From now on every response closes its connection. Clients return over new connections, which a load balancer can
   * send to another replica; new connections are accepted as before. Called some time before `close`, it prevents that
   * `close` cuts a connection on which a client is just sending.
   */
  disableKeepAlive(): void;
  /** Accepts no new connections, lets requests in flight finish for at most `graceMs`, and then closes the rest. */
  close(graceMs: number): Promise<void>;
}

/**
 * Go's HTTP client (the API server) closes an idle connection after 90 s. This is longer, so that the server never
 * closes a connection that the client is about to use.
 */
const keepAliveTimeoutMs = 120_000;
/** An API server waits at most 30 s for a webhook, so the body of a request must follow its header within that time. */
const bodyTimeoutMsDefault = 30_000;
/** A TLS handshake takes two round trips; clients that take longer only occupy sockets. */
const handshakeTimeoutMs = 10_000;

/** Maximum size of a header. API servers send about 300 bytes; 16 kB is Node's default, fixed here. */
const headerBytesMax = 16 * 1024;

/**
 * TLS 1.2 only with forward secrecy and authenticated encryption: Mozilla's "intermediate" list without the slow
 * finite-field exchanges. TLS 1.3 has no other ciphers.
 */
const tlsLimits = {
  minVersion: "TLSv1.2",
  ciphers: [
    "TLS_AES_128_GCM_SHA256",
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
  ].join(":"),
  // A client could make the server do one handshake after the other over one connection.
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
} as const;

/** Throws a StartError that names the address and the flag, or the certificate files. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { tls, clock, logger } = options;
  const files = tls && { ...tls, ...(tls.clientAuth && { caFile: tls.clientAuth.caFile }) };
  // With none yet, handshakes fail until it is issued.
  const certificate = files && loadCertificate(files);
  const connections = new Connections(options);
  const clients = tls?.clientAuth && new ClientCheck(tls.clientAuth, connections);
  const server = createHttpServer(options, connections, clients, tls && (certificate ?? {}));
  connections.watch(server);
  clients?.watch(server as https.Server);
  const { address, port } = await bind(server, options);
  server.on("error", (error) => logger.error("Listener error", { listener: options.name, err: error }));
  logger.info("Listening", { listener: options.name, address, port, tls: tls !== undefined });
  let known: string | undefined;
  const noteUse = ({ cert, ca }: Certificate): void => {
    options.certificates?.inUse(`${options.name} https`, cert);
    if (ca === undefined) return;
    options.certificates?.inUse(`${options.name} client authorities`, ca);
    // A rotation is a change of this line: who still trusts the old authority, who the new one already.
    if (ca !== known) {
      const fields = { listener: options.name, caFile: files?.caFile, authorities: authoritiesText(ca) };
      logger.info("Accepting client certificates of these authorities", fields);
    }
    known = ca;
  };
  if (certificate !== undefined) noteUse(certificate);
  const onChange = (next: Certificate): void => {
    (server as https.Server).setSecureContext({ ...next, ...tlsLimits });
    if (next.ca !== undefined) clients?.authoritiesChanged(next.ca);
    noteUse(next);
  };
  const stopWatching = files && watchCertificate({ files, clock, logger, onChange }, certificate);
  return {
    address,
    port,
    disableKeepAlive: () => connections.disableKeepAlive(),
    async close(graceMs) {
      stopWatching?.();
      await connections.close(graceMs, clock);
    },
  };
}

/** Not listening yet. */
function createHttpServer(
  options: ListenOptions,
  connections: Connections,
  clients: ClientCheck | undefined,
  certificate: Partial<Certificate> | undefined,
): Server | https.Server {
  // Node accepts whole milliseconds only.
  const headersTimeoutMs = Math.ceil(options.readHeaderTimeoutMs);
  const serverOptions = {
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: headersTimeoutMs,
    // No limit on the header means none on the whole request.
    requestTimeout: headersTimeoutMs === 0 ? 0 : headersTimeoutMs + (options.bodyTimeoutMs ?? bodyTimeoutMsDefault),
    // How often Node looks for requests beyond these limits. Its default of 30 s would make the limits imprecise.
    connectionsCheckingInterval: 1000,
    maxHeaderSize: headerBytesMax,
    ServerResponse: connections.Response,
  };
  // Neither listener speaks HTTP/2.
  const fetch = (request: Request, bindings: unknown): Response | Promise<Response> =>
    options.fetch(request, bindings as HttpBindings);
  if (certificate === undefined) {
    return createAdaptorServer({ fetch, createServer: http.createServer, serverOptions }) as Server;
  }
  return createAdaptorServer({
    fetch(request, bindings) {
      const rejection = clients?.rejectionOf(bindings.incoming.socket);
      return rejection === undefined ? fetch(request, bindings) : rejectionResponse(rejection);
    },
    createServer: https.createServer,
    serverOptions: {
      ...serverOptions,
      ...certificate,
      ...tlsLimits,
      handshakeTimeout: handshakeTimeoutMs,
      requestCert: clients !== undefined,
      // Rejected over HTTP, with a reason.
      rejectUnauthorized: false,
    },
  }) as https.Server;
}

/** The body of the request is not read. */
function rejectionResponse({ status, message }: ClientRejection): Response {
  const headers = { "Content-Type": "application/json", Connection: "close" };
  return new Response(JSON.stringify(failedCallStatus(status, message)), { status, headers });
}

async function bind(server: Server | https.Server, options: ListenOptions): Promise<AddressInfo> {
  try {
    return await withIPv4Fallback(options.bindAddress, (host) => bindTo(server, host, options.port));
  } catch (error) {
    throw bindError(options, error);
  }
}

/** Opens the address, or its IPv4 fallback on a host without IPv6. */
export async function withIPv4Fallback<T>(address: string, open: (host: string) => Promise<T>): Promise<T> {
  const host = address === "" ? "::" : address;
  const fallback = ipv4Fallback(host);
  try {
    return await open(host);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (fallback === undefined || (code !== "EAFNOSUPPORT" && code !== "EADDRNOTAVAIL")) throw error;
  }
  return open(fallback);
}

function bindTo(server: Server | https.Server, host: string, port: number): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve(server.address() as AddressInfo);
    });
  });
}

function bindError({ name, bindAddress, port, portFlag }: ListenOptions, error: unknown): StartError {
  const reason = messageOf(error);
  const host = bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress;
  return new StartError(`${name} cannot listen on ${host}:${port} (--${portFlag}): ${reason}`, { cause: error });
}
