/** An HTTP server on loopback whose behaviour is one function; counts its connections. And clients of it. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createTlsServer, type ServerOptions } from "node:https";
import { type AddressInfo } from "node:net";
import { type ClusterConfig } from "../../../../src/config/clusters.ts";
import { createKubeClient } from "../../../../src/kube/transport/index.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { plainCluster } from "../../../support/cluster-config.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../counting-metrics.ts";

export interface LoopbackServer {
  readonly port: number;
  /** Connections accepted so far, and open now. */
  readonly accepted: number;
  readonly open: number;
  readonly requests: {
    readonly method: string;
    readonly url: string;
    readonly headers: IncomingMessage["headers"];
    readonly body: string;
  }[];
}

type Answer = (request: IncomingMessage, response: ServerResponse, index: number) => void;

/** Listens until the test ends. With `tls` it speaks HTTPS. */
export async function startLoopbackServer(
  t: { after(end: () => Promise<void>): void },
  answer: Answer,
  tls?: ServerOptions,
): Promise<LoopbackServer> {
  const state = { port: 0, accepted: 0, open: 0, requests: [] as LoopbackServer["requests"] };
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    let body = "";
    request.setEncoding("utf8");
    request.on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const { method = "", url = "", headers } = request;
      state.requests.push({ method, url, headers, body });
      answer(request, response, state.requests.length - 1);
    });
  };
  const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
  server.on(tls === undefined ? "connection" : "secureConnection", (socket: NodeJS.Socket) => {
    state.accepted++;
    state.open++;
    socket.on("close", () => state.open--);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  state.port = (server.address() as AddressInfo).port;
  t.after(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return state;
}

export function sendJson(
  response: ServerResponse,
  code: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(code, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}

/** A client until the test ends, on a virtual clock: no deadline passes unless the test moves it. */
export async function connectBy(
  t: { after(end: () => Promise<void>): void },
  config: Partial<ClusterConfig>,
  clock = createVirtualClock(),
) {
  const metrics = createCountingMetrics();
  const deps = { clock, rng: createSeededRng(1), logger: silentLogger, metrics };
  const client = await createKubeClient({ ...plainCluster, ...config }, deps, "core");
  t.after(() => client.close());
  return { client, clock, metrics };
}

/** By the port of a server on loopback. */
export async function connect(t: Parameters<typeof connectBy>[0], port: number, change: Partial<ClusterConfig> = {}) {
  const connected = await connectBy(t, { master: `http://127.0.0.1:${port}`, ...change });
  return { ...connected, host: `127.0.0.1:${port}` };
}
