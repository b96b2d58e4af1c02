/** The processes of the product in a world, and the flags that they start with. */
import { flagOfSources } from "../checkers/sources/kinds.ts";
import { type Plan } from "../plan.ts";
import { namespace } from "../clusters/namespaces.ts";
import { generatorOf, generatorsOfCore, secondCore, urlOfCore } from "../clusters/core-names.ts";
import { type ProcessOptions, SimProcess } from "./process.ts";
import { limitsOf } from "./small-limits.ts";

/** Whose PodProtectors say "yes" there has no aggregator. */
export const uncountedLabel = "uncounted";
/** Of pods that tell their cell themselves. */
export const cellLabel = "cell";
/** What a patched API server writes, for the algorithm "annotation". */
export const stampAnnotation = "example.com/written-at";

const policyFlag = "--webhook-core-unavailable-policy";

export interface FleetOptions {
  readonly plan: Plan;
  /** Names. */
  readonly cores: readonly string[];
  /** How aggregators settle. */
  readonly algorithm: string;
  /** More flags, for all. */
  readonly argv: readonly string[];
  /** The machine of a process. */
  readonly machine: (name: string) => Omit<ProcessOptions, "name" | "role" | "argv" | "limits">;
}

export interface Fleet {
  readonly webhooks: readonly SimProcess[];
  readonly aggregators: readonly SimProcess[];
  readonly generators: readonly SimProcess[];
}

/** None of them runs yet. */
export function createFleet(options: FleetOptions): Fleet {
  const { plan, cores } = options;
  const create = (role: ProcessOptions["role"], name: string, argv: readonly string[]): SimProcess =>
    new SimProcess({
      ...options.machine(name),
      name,
      role,
      limits: limitsOf(plan),
      argv: [...coreFlags(cores), `--silent-cell-after=${plan.silentAfterMs}ms`, ...argv, ...options.argv],
    });
  const numbers = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);
  return {
    generators: cores.flatMap((core) =>
      numbers(plan.hasGenerator ? generatorsOfCore : 0).map((number) =>
        create("generator", generatorOf(core, number), [...generatorFlags(plan), ...ownCoreFlags(core, cores)]),
      ),
    ),
    aggregators: plan.cells.flatMap((cell) =>
      numbers(plan.aggregatorsPerCell).map((number) =>
        create("aggregator", `aggregator-${cell}-${number}`, aggregatorFlags(options, cell)),
      ),
    ),
    webhooks: numbers(plan.webhooks).map((number) => create("webhook", `webhook-${number}`, webhookFlags(plan))),
  };
}

/** The previous release, which never has several, does not know the flag. */
function ownCoreFlags(core: string, cores: readonly string[]): readonly string[] {
  return cores.length === 1 ? [] : [`--generator-core=${core}`];
}

function coreFlags(cores: readonly string[]): readonly string[] {
  if (cores.length === 1) return cores.map((core) => `--core-kube-master=${urlOfCore(core)}`);
  const provider = "--podprotector-source-provider";
  const masters = cores.map((core) => `${core}=${urlOfCore(core)}`).join(",");
  const configs = cores.map((core) => `${core}=`).join(",");
  return [`${provider}=map`, `${provider}.map-configs=${configs}`, `${provider}.map-masters=${masters}`];
}

function generatorFlags(plan: Plan): readonly string[] {
  const { percentRounding, singleReplica, protectsNonZero, upgrade } = plan;
  const flags = [
    "--deployment-plugin-protection-selector=unprotected!=yes",
    `--deployment-plugin-protect-non-zero=${protectsNonZero}`,
  ];
  // The previous release knows no other rules and sources than its own.
  if (upgrade !== "none") return flags;
  return [
    ...flags,
    `--generator-sources=${flagOfSources(plan)}`,
    "--generator-source-selector=unprotected!=yes",
    `--generator-percent-rounding=${percentRounding}`,
    `--generator-single-replica=${singleReplica}`,
  ];
}

function aggregatorFlags({ plan, algorithm }: FleetOptions, cell: string): readonly string[] {
  return [
    `--worker-kube-master=http://worker-${cell}`,
    `--aggregator-cell-id=${cell}`,
    `--aggregator-leader-elector-enable=true`,
    `--aggregator-informer-synctime-algorithm=${algorithm}`,
    ...(algorithm === "annotation"
      ? [`--aggregator-informer-synctime-algorithm.annotation-key=${stampAnnotation}`]
      : []),
    ...(plan.updateTrigger ? [] : ["--update-trigger-enable=false"]),
    ...cellFlags(plan, cell),
    `--aggregator-podprotector-label-selector=${uncountedLabel}!=yes`,
    compactThresholdFlag(plan),
  ];
}

/** Of an aggregator that does not count all pods of its cluster. */
function cellFlags({ cellsBy }: Plan, cell: string): readonly string[] {
  if (cellsBy === "cluster") return [];
  if (cellsBy === "namespace")
    return [`--worker-kube-target-namespace=${namespace}`, `--update-trigger-dummy-pod-namespace=${namespace}`];
  return [
    `--webhook-cell-label=${cellLabel}`,
    `--aggregator-pod-label-selector=${cellLabel}=${cell}`,
    `--update-trigger-dummy-pod-labels=${cellLabel}=${cell}`,
  ];
}

function webhookFlags(plan: Plan): readonly string[] {
  return [
    ...evictedPodsFlags(plan),
    ...(plan.faults.has("last-known-quota") ? [`${policyFlag}=last-known`] : []),
    ...(plan.otherCore === "none" ? [] : [`${policyFlag}.by-core=${secondCore}=${plan.otherCore}`]),
    `--webhook-core-unavailable-replicas=${plan.webhooks}`,
    ...(plan.recordsPodNames
      ? ["--webhook-requires-pod-name=by-cell", "--webhook-requires-pod-name.by-cell-filter=a"]
      : []),
    ...(plan.servesOnlyItsCells || plan.cellsBy === "label" ? [`--webhook-allowed-cells=${plan.cells.join(",")}`] : []),
    ...(plan.cellsBy === "label" ? [`--webhook-cell-label=${cellLabel}`] : []),
    ...(plan.upgrade === "none" ? [`--orphaned-pod-grace=${plan.hourMs}ms`] : []),
    compactThresholdFlag(plan),
    `--default-admission-history-config-max-concurrent-lag=${plan.maxConcurrentLag}`,
  ];
}

function compactThresholdFlag({ compactThreshold }: Plan): string {
  return `--default-admission-history-config-compact-threshold=${compactThreshold}`;
}

/** Where the webhook reads the pods of evictions. */
function evictedPodsFlags({ evictedPods, cells }: Plan): readonly string[] {
  const provider = `--webhook-worker-client-provider=${evictedPods}`;
  if (evictedPods === "none") return [provider];
  if (evictedPods === "single")
    return [provider, `--webhook-worker-client-provider.single-kube-master=http://worker-${cells[0]}`];
  const masters = cells.map((name) => `${name}=http://worker-${name}`).join(",");
  const configs = cells.map((name) => `${name}=`).join(",");
  return [
    provider,
    `--webhook-worker-client-provider.map-configs=${configs}`,
    `--webhook-worker-client-provider.map-masters=${masters}`,
  ];
}
