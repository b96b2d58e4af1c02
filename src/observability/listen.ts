/**
 * Opens a listener for a hono app: HTTP or HTTPS, with limits on everything that a client can hold open. Used by the health server, the
 * metrics server and the webhook.
 */
import { createAdaptorServer, type HttpBindings } from "@hono/node-server";
import http, { type Server, type ServerResponse } from "node:http";
import https from "node:https";
import { type AddressInfo, type Socket } from "node:net";
import { ipv4Twin } from "../config/address.ts";
import { StartError } from "../lifecycle/component.ts";
import { type Clock } from "../util/clock.ts";
import { type Logger } from "../util/logger.ts";
import { loadCertificate, watchCertificate, type CertificateFiles } from "./certificate.ts";

export interface ListenOptions {
  /** Who listens, for messages: "webhook". */
  readonly name: string;
  /** `app.fetch` of a hono app. */
  readonly fetch: (request: Request, bindings: HttpBindings) => Response | Promise<Response>;
  /** IP address or host name; "" = all addresses. `::1` and `::` mean 127.0.0.1 and 0.0.0.0 where the host has no IPv6. */
  readonly bindAddress: string;
  /** 0 = the system chooses. */
  readonly port: number;
  /** The flag that chose the port, for messages. */
  readonly portFlag: string;
  /** Present = HTTPS. */
  readonly tls?: CertificateFiles;
  /** Longest time to receive the header of a request; 0 = no limit. */
  readonly readHeaderTimeoutMs: number;
  /** More connections are closed at once. */
  readonly connectionsMax: number;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface Listener {
  /** The address in use, after the stand-in for IPv6. */
  readonly address: string;
  readonly port: number;
  /** Accepts nothing new, lets running requests finish for at most `graceMs`, and closes what is left then. */
  close(graceMs: number): Promise<void>;
}

/** Above the 90 s after which Go's HTTP client (the API server) drops an idle connection, so that never both ends race to use and close it. */
const keepAliveTimeoutMs = 120_000;
/** The body of a request must be there so soon after its header: an API server waits at most 30 s for a webhook. */
const bodyTimeoutMs = 30_000;
/** A TLS handshake takes two round trips; slower clients only hold sockets. */
const handshakeTimeoutMs = 10_000;

/** Throws a StartError that names the address and the flag, or the certificate files. */
export async function listen(options: ListenOptions): Promise<Listener> {
  const certificate = options.tls === undefined ? undefined : loadCertificate(options.tls);
  // Node takes whole milliseconds only.
  const headersTimeoutMs = Math.ceil(options.readHeaderTimeoutMs);
  const timeouts = {
    keepAliveTimeout: keepAliveTimeoutMs,
    headersTimeout: headersTimeoutMs,
    // No limit on the header means none on the whole request.
    requestTimeout: headersTimeoutMs === 0 ? 0 : headersTimeoutMs + bodyTimeoutMs,
    // How often Node looks for requests beyond these limits; its default of 30 s would make them vague.
    connectionsCheckingInterval: 1000,
  };
  const server = createAdaptorServer({
    // Neither listener speaks HTTP/2.
    fetch: (request, bindings) => options.fetch(request, bindings as HttpBindings),
    ...(certificate === undefined
      ? { createServer: http.createServer, serverOptions: timeouts }
      : {
          createServer: https.createServer,
          serverOptions: { ...timeouts, ...certificate, minVersion: "TLSv1.2", handshakeTimeout: handshakeTimeoutMs },
        }),
  }) as Server | https.Server;
  server.maxConnections = options.connectionsMax;

  const close = trackConnections(server, options.clock);
  const { address, port } = await bind(server, options);
  server.on("error", (error) => options.logger.error("listener error", { listener: options.name, err: error }));
  options.logger.info("listening", { listener: options.name, address, port, tls: certificate !== undefined });
  if (options.tls === undefined || certificate === undefined) return { address, port, close };
  const { tls: files, clock, logger } = options;
  const onChange = (next: { cert: string; key: string }): void =>
    (server as https.Server).setSecureContext({ ...next, minVersion: "TLSv1.2" });
  const stopWatching = watchCertificate({ files, clock, logger, onChange }, certificate);
  return {
    address,
    port,
    close: async (graceMs) => {
      stopWatching();
      await close(graceMs);
    },
  };
}

async function bind(server: Server | https.Server, options: ListenOptions): Promise<AddressInfo> {
  try {
    return await orIpv4(options.bindAddress, (host) => bindTo(server, host, options.port));
  } catch (error) {
    throw bindError(options, error);
  }
}

/** Opens the address; where the host has no IPv6, its IPv4 stand-in. The only place that knows of the stand-ins' use. */
export async function orIpv4<T>(address: string, open: (host: string) => Promise<T>): Promise<T> {
  const host = address === "" ? "::" : address;
  const standIn = ipv4Twin(host);
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
  const reason = error instanceof Error ? error.message : String(error);
  return new StartError(
    `${name} cannot listen on ${bindAddress.includes(":") ? `[${bindAddress}]` : bindAddress}:${port} (--${portFlag}): ${reason}`,
    {
      cause: error,
    },
  );
}

/** Returns the graceful close. */
function trackConnections(server: Server | https.Server, clock: Clock): Listener["close"] {
  const sockets = new Set<Socket>();
  const running = new Set<ServerResponse>();
  let isClosing = false;
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  server.on("request", (_request, response: ServerResponse) => {
    running.add(response);
    if (isClosing) response.shouldKeepAlive = false;
    response.once("close", () => {
      running.delete(response);
      if (isClosing) server.closeIdleConnections();
    });
  });
  return async (graceMs) => {
    isClosing = true;
    // "Connection: close" tells the client not to send its next request here.
    for (const response of running) response.shouldKeepAlive = false;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeIdleConnections();
    const timer = clock.setTimer(graceMs, () => {
      for (const socket of sockets) socket.destroy();
    });
    await closed;
    timer.cancel();
  };
}
