/**
 * Opens a listener for a hono app: HTTP or HTTPS, with limits on everything that a client can hold open. Used by the
 * health server, the metrics server and the webhook.
 */
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import http, { type IncomingMessage, type Server, type ServerResponse } from "node:http";
import https from "node:https";
import { type AddressInfo, type Socket } from "node:net";
import { ipv4Fallback } from "../config/address.ts";
import { StartError } from "../lifecycle/component.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { loadCertificate, watchCertificate, type Certificate, type CertificateFiles } from "./certificate.ts";
import { judgeClients, type ClientAuth, type ClientRejection } from "./client-auth.ts";
import { messageOf } from "../util/error-message.ts";

export interface ListenOptions {
  /** Who listens, for messages: "webhook". */
  readonly name: string;
  /** `app.fetch` of a hono app. */
  readonly fetch: (request: Request, bindings: HttpBindings) => Response | Promise<Response>;
  /**
   * IP address or host name; "" = all addresses. `::1` and `::` mean 127.0.0.1 and 0.0.0.0 where the host has no IPv6.
   */
  readonly bindAddress: string;
  /** 0 = the system chooses. */
  readonly port: number;
  /** The flag that chose the port, for messages. */
  readonly portFlag: string;
  /** Present = HTTPS; with `clientAuth`, clients need certificates. */
  readonly tls?: Omit<CertificateFiles, "caFile"> & { readonly clientAuth?: ClientAuth };
  /** Longest time to receive the header of a request; 0 = no limit. */
  readonly readHeaderTimeoutMs: number;
  /** Longest time from there to the end of the body; no limit when the header has none. Default: 30 s. */
  readonly bodyTimeoutMs?: number;
  /** More connections are closed at once. */
  readonly connectionsMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Listener {
  /** The address in use, after the stand-in for IPv6. */
  readonly address: string;
  readonly port: number;
  /**
   * From now on each answer ends its connection, so that clients with open ones come back over new ones, which a
   * balancer sends elsewhere. New connections are accepted as before. Before a close this is what keeps it from cutting
   * a connection on which a client is just sending.
   */
  sendAway(): void;
  /** Accepts nothing new, lets running requests finish for at most `graceMs`, and closes what is left then. */
  close(graceMs: number): Promise<void>;
}

/**
 * Above the 90 s after which Go's HTTP client (the API server) drops an idle connection, so that never both ends race
 * to use and close it.
 */
const keepAliveTimeoutMs = 120_000;
/** The body of a request must be there so soon after its header: an API server waits at most 30 s for a webhook. */
const bodyTimeoutMsDefault = 30_000;
/** A TLS handshake takes two round trips; slower clients only hold sockets. */
const handshakeTimeoutMs = 10_000;

/**
 * The most that a header may have. API servers send about 300 bytes; 16 kB are Node's default, written down so that it
 * stays.
 */
const headerBytesMax = 16 * 1024;

/**
 * TLS 1.2 with forward secrecy and authenticated encryption only, as Mozilla's "intermediate" list has it, without the
 * slow finite-field exchanges; TLS 1.3 has no others.
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
} as const;

/** Throws a StartError that names the address and the flag, or the certificate files. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const { tls, clock, logger } = options;
  const files = tls && { ...tls, ...(tls.clientAuth && { caFile: tls.clientAuth.caFile }) };
  const certificate = files && loadCertificate(files);
  const server = createHttpServer(options, certificate);
  const { sendAway, close } = trackConnections(server, clock);
  const { address, port } = await bind(server, options);
  server.on("error", (error) => logger.error("listener error", { listener: options.name, err: error }));
  logger.info("listening", { listener: options.name, address, port, tls: certificate !== undefined });
  if (files === undefined || certificate === undefined) return { address, port, sendAway, close };
  const onChange = (next: Certificate): void => (server as https.Server).setSecureContext({ ...next, ...tlsLimits });
  const stopWatching = watchCertificate({ files, clock, logger, onChange }, certificate);
  return {
    address,
    port,
    sendAway,
    close: async (graceMs) => {
      stopWatching();
      await close(graceMs);
    },
  };
}

/** Not listening yet. */
function createHttpServer(options: ListenOptions, certificate: Certificate | undefined): Server | https.Server {
  // Node takes whole milliseconds only.
  const headersTimeoutMs = Math.ceil(options.readHeaderTimeoutMs);
  const serverOptions = {
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: headersTimeoutMs,
    // No limit on the header means none on the whole request.
    requestTimeout: headersTimeoutMs === 0 ? 0 : headersTimeoutMs + (options.bodyTimeoutMs ?? bodyTimeoutMsDefault),
    // How often Node looks for requests beyond these limits; its default of 30 s would make them vague.
    connectionsCheckingInterval: 1000,
    maxHeaderSize: headerBytesMax,
  };
  // Neither listener speaks HTTP/2.
  const fetch = (request: Request, bindings: unknown): Response | Promise<Response> =>
    options.fetch(request, bindings as HttpBindings);
  const clientAuth = options.tls?.clientAuth;
  let rejectionOf: ReturnType<typeof judgeClients> = () => undefined;
  const server =
    certificate === undefined
      ? createAdaptorServer({ fetch, createServer: http.createServer, serverOptions })
      : createAdaptorServer({
          fetch:
            clientAuth === undefined
              ? fetch
              : (request, bindings) => {
                  const rejection = rejectionOf(bindings.incoming.socket);
                  return rejection === undefined ? fetch(request, bindings) : reject(rejection);
                },
          createServer: https.createServer,
          serverOptions: {
            ...serverOptions,
            ...certificate,
            ...tlsLimits,
            handshakeTimeout: handshakeTimeoutMs,
            requestCert: clientAuth !== undefined,
            // Refused over HTTP, with words.
            rejectUnauthorized: false,
          },
        });
  if (clientAuth !== undefined) rejectionOf = judgeClients(server as https.Server, clientAuth);
  (server as Server).maxConnections = options.connectionsMax;
  return server as Server | https.Server;
}

/** The body of the request is not read. */
function reject({ status, message }: ClientRejection): Response {
  return new Response(`${message}\n`, { status, headers: { "Content-Type": "text/plain", Connection: "close" } });
}

async function bind(server: Server | https.Server, options: ListenOptions): Promise<AddressInfo> {
  try {
    return await orIpv4(options.bindAddress, (host) => bindTo(server, host, options.port));
  } catch (error) {
    throw bindError(options, error);
  }
}

/**
 * Opens the address; where the host has no IPv6, its IPv4 stand-in. The only place that knows of the stand-ins' use.
 */
export async function orIpv4<T>(address: string, open: (host: string) => Promise<T>): Promise<T> {
  const host = address === "" ? "::" : address;
  const standIn = ipv4Fallback(host);
  try {
    return await open(host);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (standIn === undefined || (code !== "EAFNOSUPPORT" && code !== "EADDRNOTAVAIL")) throw error;
  }
  return open(standIn);
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
  return new StartError(
    `${name} cannot listen on ${bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress}:${port} (--${portFlag}): ${reason}`,
    {
      cause: error,
    },
  );
}

/** The two steps of a graceful end. */
function trackConnections(server: Server | https.Server, clock: Clock): Pick<Listener, "sendAway" | "close"> {
  const sockets = new Set<Socket>();
  /** The last response of each socket: over HTTP/1.1 there is never more than one under way. */
  const responses = new Map<Socket, ServerResponse>();
  let isSendingAway = false;
  let isClosing = false;
  const closeAfter = (response: ServerResponse): void => {
    response.once("close", () => server.closeIdleConnections());
  };
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  // Before the app, which may answer at once.
  server.prependListener("request", ({ socket }: IncomingMessage, response: ServerResponse) => {
    if (!responses.has(socket)) socket.once("close", () => responses.delete(socket));
    responses.set(socket, response);
    // "Connection: close" tells the client not to send its next request here.
    if (isSendingAway) response.shouldKeepAlive = false;
    if (isClosing) closeAfter(response);
  });
  const sendAway = (): void => {
    isSendingAway = true;
    for (const response of responses.values()) response.shouldKeepAlive = false;
  };
  return {
    sendAway,
    async close(graceMs) {
      sendAway();
      isClosing = true;
      for (const response of responses.values()) if (!response.closed) closeAfter(response);
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      const timer = clock.setTimer(graceMs, () => {
        for (const socket of sockets) socket.destroy();
      });
      await closed;
      timer.cancel();
    },
  };
}
