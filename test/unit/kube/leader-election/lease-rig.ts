/** A Lease on a scripted server and candidates for it on a virtual clock, for run-elected.*.test.ts. */
import { KubeError, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import type { ElectorConfig } from "../../../../src/config/election.ts";
import { Elector, runElected } from "../../../../src/kube/leader-election/index.ts";
import { sleep } from "../../../../src/util/clock.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { type VirtualClock } from "../../../support/virtual-clock.ts";
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

export interface Lease {
  metadata: { name?: string; namespace?: string; resourceVersion?: string; labels?: unknown };
  spec: Record<string, unknown>;
}

/** One Lease behind compare-and-swap, and a network that can fail per client. */
export function createLeaseServer(clock: VirtualClock) {
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
export function candidate(
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
    clusterClass: "core",
    electorName: "test",
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
