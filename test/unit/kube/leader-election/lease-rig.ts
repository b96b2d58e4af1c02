/** A Lease on a scripted server and candidates for it on a virtual clock, for run-elected.*.test.ts. */
import assert from "node:assert/strict";
import { type TestContext } from "node:test";
import { KubeError, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import type { ElectorConfig } from "../../../../src/config/election.ts";
import { Elector, runElected } from "../../../../src/kube/leader-election/index.ts";
import { sleep } from "../../../../src/util/clock.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../counting-metrics.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { createScriptedKubeClient } from "../scripted-kube-client.ts";

export const config: ElectorConfig = {
  enable: true,
  namespace: "default",
  name: "podseidon-test",
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

const common = { clusterClass: "core", electorName: "test" } as const;

export interface Lease {
  metadata: { name?: string; namespace?: string; resourceVersion?: string; labels?: unknown };
  spec: Record<string, unknown>;
}

/** One Lease behind compare-and-swap, and a network that can fail per client. */
function createLeaseServer(clock: VirtualClock) {
  let version = 0;
  const server = {
    lease: undefined as Lease | undefined,
    writes: [] as Lease[],
    put(lease: Lease): Lease {
      version++;
      server.lease = { metadata: { ...lease.metadata, resourceVersion: String(version) }, spec: { ...lease.spec } };
      server.writes.push(server.lease);
      return structuredClone(server.lease);
    },
    client() {
      const client = createScriptedKubeClient();
      const state = { client, down: false, hangs: false, loseAnswers: false, slowMs: 0, lateMs: 0 };
      client.request = async (request) => {
        client.requests.push(request);
        if (state.hangs) {
          await sleep(clock, request.timeoutMs ?? 30_000, request.signal);
          throw new KubeError("timeout", "no answer");
        }
        if (state.slowMs > 0) await sleep(clock, state.slowMs);
        if (state.down) throw new KubeError("network", "refused");
        const answer = handle(request);
        await late(request, state.lateMs);
        if (state.loseAnswers) throw new KubeError("network", "reset");
        return answer;
      };
      return state;
    },
  };
  /** What was carried out at once is answered after `lateMs`, or not at all when the request's time is over. */
  async function late({ timeoutMs = 30_000, signal }: KubeRequest, lateMs: number): Promise<void> {
    if (lateMs > 0) await sleep(clock, Math.min(lateMs, timeoutMs), signal);
    if (signal?.aborted === true) throw new KubeError("aborted", "stopped");
    if (timeoutMs < lateMs) throw new KubeError("timeout", "no answer");
  }
  function handle({ method, body }: KubeRequest): unknown {
    if (method === "POST") {
      if (server.lease !== undefined) throw new KubeError("alreadyExists", "exists");
      return server.put(body as Lease);
    }
    if (server.lease === undefined) throw new KubeError("notFound", "no Lease");
    if (method === "GET") return structuredClone(server.lease);
    const lease = body as Lease;
    if (lease.metadata.resourceVersion !== server.lease.metadata.resourceVersion)
      throw new KubeError("conflict", "changed");
    return server.put(lease);
  }
  return server;
}

type LeaseServer = ReturnType<typeof createLeaseServer>;

/** A candidate whose work lasts `drainMs` beyond the end of its leadership. */
function candidate(
  server: LeaseServer,
  clock: VirtualClock,
  identity: string,
  { drainMs = 0, slowMs = 0, lateMs = 0, change = {} } = {},
) {
  const net = server.client();
  net.slowMs = slowMs;
  net.lateMs = lateMs;
  const metrics = createCountingMetrics();
  const logger = createRecordingLogger();
  const elector = new Elector({
    config: { ...config, ...change },
    client: net.client,
    identity,
    ...common,
    clock,
    rng: createSeededRng(identity.length),
    logger,
    metrics,
  });
  const stop = new AbortController();
  const log: string[] = [];
  const state = { working: false };
  const running = runElected(elector, stop.signal, async (signal) => {
    state.working = true;
    log.push(`starts ${clock.monotonicMs()}`);
    while (!signal.aborted) await sleep(clock, 1_000_000_000, signal);
    log.push(`told ${clock.monotonicMs()}`);
    if (drainMs > 0) await sleep(clock, drainMs);
    log.push(`ends ${clock.monotonicMs()}`);
    state.working = false;
  });
  const events = (event: string): number =>
    metrics.value("leader_event", { cluster_class: "core", elector_name: "test", identity, event });
  const heartbeat = (): number => {
    metrics.scrape();
    return metrics.value("leader_heartbeat", { cluster_class: "core", elector_name: "test", identity });
  };
  return { heartbeat, net, elector, stop, log, running, state, metrics, logger, events };
}

/** A Lease and who stands for it. At the end of the test all are stopped, and no timer may be left. */
export function election(t: TestContext) {
  const clock = createVirtualClock();
  const server = createLeaseServer(clock);
  const all: ReturnType<typeof candidate>[] = [];
  t.after(async () => {
    for (const { stop } of all) stop.abort();
    // At once, unless an answer is still on its way.
    await clock.advance(all.some(({ net }) => net.hangs || net.lateMs > 0) ? 30_000 : 0);
    await Promise.all(all.map(({ running }) => running));
    assert.equal(clock.pendingTimers, 0);
  });
  const stand = (identity: string, options?: Parameters<typeof candidate>[3]) => {
    const one = candidate(server, clock, identity, options);
    all.push(one);
    return one;
  };
  /** An elector whose work is the test's. */
  const electorOf = (metrics = createCountingMetrics()) => {
    const own = { config, client: server.client().client, identity: "a", rng: createSeededRng(1) };
    return new Elector({ ...common, ...own, clock, logger: silentLogger, metrics });
  };
  const spec = (name: string): unknown => server.lease?.spec[name];
  return { clock, server, stand, electorOf, spec };
}
