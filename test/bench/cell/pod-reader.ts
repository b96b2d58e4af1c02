/**
 * A child process of the benchmark: the pod informer of an aggregator, from nothing until it is synced. Arguments: URL
 * of the server, encoding.
 */
import { type PodRecord, readPodRecord } from "../../../src/api/pod.ts";
import { createLabelInterner } from "../../../src/aggregator/index.ts";
import { createInformer } from "../../../src/kube/watch/index.ts";
import { pods } from "../../../src/kube/resources.ts";
import { createKubeClient } from "../../../src/kube/transport/index.ts";
import { silentLogger } from "../../../src/util/logger.ts";
import { silentMetrics } from "../../../src/util/metrics.ts";
import { createSystemRng } from "../../../src/util/rng.ts";
import { createSystemClock } from "../../../src/util/system-clock.ts";
import { plainCluster } from "../../support/cluster-config.ts";

const [master = "", encoding] = process.argv.slice(2);
const shared = { clock: createSystemClock(), rng: createSystemRng(), logger: silentLogger, metrics: silentMetrics };
const client = await createKubeClient({ ...plainCluster, master, userAgent: "podseidon-bench" }, shared, "worker");
const intern = createLabelInterner();
const informer = createInformer<PodRecord>({
  client,
  resource: pods,
  preferProtobuf: encoding === "protobuf",
  decode: (raw) => readPodRecord(raw, intern),
  ...shared,
  name: "pods",
});
const startMs = performance.now();
const startCpu = process.cpuUsage();
informer.subscribe({
  onEvent() {},
  onListed() {
    const { user, system } = process.cpuUsage(startCpu);
    process.send?.({
      pods: informer.size,
      wallMs: performance.now() - startMs,
      cpuMs: (user + system) / 1000,
      // In kibibytes.
      peakBytes: process.resourceUsage().maxRSS * 1024,
    });
  },
});
process.on("disconnect", () => process.exit(0));
await informer.run(new AbortController().signal);
