/** Starts an API double that listens on loopback, so that real processes can talk to it. */
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import { type AddressInfo, type Socket } from "node:net";
import { type Clock } from "../../src/util/clock.ts";
import { createSystemClock } from "../../src/util/system-clock.ts";
import { type Rng, createSystemRng } from "../../src/util/rng.ts";
import { clusterAt, writeKubeconfig } from "../support/kubeconfig.ts";
import { type CallWebhook, type Caller } from "./engine/admission.ts";
import { Engine } from "./engine/engine.ts";
import { type JsonObject } from "./engine/object.ts";
import { type FaultScript } from "./http/faults.ts";
import { Front } from "./http/front.ts";
import { type ResolveService, createWebhookClient } from "./http/webhook-client.ts";
import { permissivePodProtectorCrd } from "./pod-protector-crd.ts";
import { type Authorizer } from "./rest/rest.ts";

export interface ApiServerOptions {
  readonly clock?: Clock;
  readonly rng?: Rng;
  /** 0 (default) = chosen by the system. */
  readonly port?: number;
  /** PEM texts; without them plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca?: string };
  /** Callers by bearer token; without it everybody is system:admin. */
  readonly tokens?: Readonly<Record<string, Caller>>;
  /** False = 403. Default: everything is allowed. */
  readonly authorizer?: Authorizer;
  /** CustomResourceDefinitions to install; default: a PodProtector that keeps every field. Empty = none. */
  readonly crds?: readonly unknown[];
  /** Default: real HTTP(S) calls. */
  readonly callWebhook?: CallWebhook;
  /** Where a webhook's clientConfig.service is found; used by the default callWebhook. */
  readonly resolveService?: ResolveService;
  /** ValidatingWebhookConfigurations besides the stored ones. */
  readonly webhookConfigurations?: readonly JsonObject[];
  readonly historyChangesMax?: number;
  readonly bookmarkPeriodMs?: number;
  /** What goes wrong, and when; default: nothing. */
  readonly faults?: FaultScript;
}

export interface ApiServer {
  readonly url: string;
  readonly engine: Engine;
  /** What goes wrong from now on; undefined = nothing. The script's numbers begin again. */
  setFaults(script: FaultScript | undefined): void;
  /** Resets the connections of all watches. */
  dropWatches(): void;
  readonly openWatches: number;
  readonly openConnections: number;
  /** Stops listening and resets all connections; the engine keeps its state. */
  stop(): Promise<void>;
  /** Listens again on the same port. */
  start(): Promise<void>;
  /** Writes a kubeconfig; `token` when the server wants one. */
  writeKubeconfig(path: string, token?: string): void;
  close(): Promise<void>;
}

async function listen(server: Server, port: number): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, "127.0.0.1", () => {
      server.off("error", reject);
      resolve();
    });
  });
  return (server.address() as AddressInfo).port;
}

async function stopListening(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => {
    server.close(() => resolve());
  });
  server.closeAllConnections();
  await closed;
}

/** Starts an API server with an engine of its own. Rejects when it cannot listen. */
export async function startApiServer(options: ApiServerOptions = {}): Promise<ApiServer> {
  const clock = options.clock ?? createSystemClock();
  const { tls, historyChangesMax, bookmarkPeriodMs, webhookConfigurations } = options;
  const engine = new Engine({
    clock,
    rng: options.rng ?? createSystemRng(),
    callWebhook: options.callWebhook ?? createWebhookClient(options.resolveService),
    ...(historyChangesMax === undefined ? {} : { historyChangesMax }),
    ...(bookmarkPeriodMs === undefined ? {} : { bookmarkPeriodMs }),
    ...(webhookConfigurations === undefined ? {} : { webhookConfigurations }),
  });
  await engine.bootstrap();
  for (const crd of options.crds ?? [permissivePodProtectorCrd()]) await engine.installCrd(crd);

  const front = new Front({ engine, clock, tokens: options.tokens, authorizer: options.authorizer });
  front.setFaults(options.faults);
  const handle = (request: IncomingMessage, response: ServerResponse): void => void front.handle(request, response);
  const server: Server =
    tls === undefined ? createHttpServer(handle) : createHttpsServer({ cert: tls.cert, key: tls.key }, handle);
  // Watches of clients stay open for an hour; Node's default would cut slow requests.
  server.requestTimeout = 0;
  const connections = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.on("close", () => connections.delete(socket));
  });
  const port = await listen(server, options.port ?? 0);
  const url = `${tls === undefined ? "http" : "https"}://127.0.0.1:${port}`;
  return {
    url,
    engine,
    setFaults: (script) => front.setFaults(script),
    dropWatches: () => front.dropWatches(),
    get openWatches() {
      return front.openWatches;
    },
    get openConnections() {
      return connections.size;
    },
    stop: () => stopListening(server),
    start: async () => void (await listen(server, port)),
    writeKubeconfig: (path, token) =>
      void writeKubeconfig(path, clusterAt(url, tls?.ca ?? tls?.cert), token === undefined ? {} : { token }),
    close: () => stopListening(server),
  };
}
