/** The dashboard as a whole: what it knows, what it watches, and its listener on this machine. Also for the demo. */
import { hash } from "node:crypto";
import { type KubeClient } from "../../kube/kube-client.ts";
import { listen } from "../../server/index.ts";
import { silentLogger } from "../../util/logger.ts";
import { type ExplainPod } from "./explain-pod.ts";
import { createApp, joinPage } from "./http/app.ts";
import { DashboardState } from "./model/dashboard-state.ts";
import { CoreWatches, type WatchSettings } from "./watches.ts";

export interface DashboardOptions extends WatchSettings {
  /** By name. */
  readonly cores: ReadonlyMap<string, KubeClient>;
  /** 0 = any free port. */
  readonly port: number;
  /** The secret of the URL, at least 128 bits. */
  readonly token: string;
  /** The secret of `openURL`; absent = there is none. */
  readonly code?: string;
  /** Answers for people. */
  readonly explain: ExplainPod;
}

export interface RunningDashboard {
  /** Of the page, with the secret. */
  readonly url: string;
  /** Leads there once: for the command line of a browser, which all users of the machine can read. */
  readonly openURL: string;
  /** Ends the watches and the listener. The clients stay open. */
  close(): Promise<void>;
}

/** Each tab of a browser opens up to six; nobody else gets an answer. */
const connectionsMax = 200;
const headerTimeoutMs = 10_000;
/** Streams of updates end at once; other answers take milliseconds. */
const graceMs = 500;

/** Throws a StartError when the port cannot be opened. */
export async function startDashboard(options: DashboardOptions): Promise<RunningDashboard> {
  const { cores, clock, token, code, explain, port } = options;
  const ended = new AbortController();
  const state = new DashboardState(clock, { cores: [...cores.keys()], namespace: options.namespace });
  // What was sent by another run is worth nothing; the secret itself is not sent on.
  const run = hash("sha256", token, "hex").slice(0, 8);
  // Known when the listener is open, and asked for by each request.
  let ownPort = port;
  const access = { token, code, port: () => ownPort };
  const app = createApp({ state, clock, run, signal: ended.signal, access, page: joinPage(), explain });
  const listener = await listen({
    name: "dashboard",
    fetch: app.fetch,
    bindAddress: "127.0.0.1",
    port,
    portFlag: "port",
    readHeaderTimeoutMs: headerTimeoutMs,
    connectionsMax,
    clock,
    logger: silentLogger,
  });
  ownPort = listener.port;
  const watches = Array.from(cores, ([name, client]) =>
    new CoreWatches(name, client, state, options).run(ended.signal),
  );
  const origin = `http://127.0.0.1:${listener.port}`;
  return {
    url: `${origin}/?token=${token}`,
    openURL: `${origin}/open/${code ?? ""}`,
    async close() {
      ended.abort();
      await Promise.all([listener.close(graceMs), ...watches]);
    },
  };
}
