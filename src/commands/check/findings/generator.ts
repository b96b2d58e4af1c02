/** The generator of a core: whether one leads, and what hangs on finalizers when none does. */
import { finalizer } from "../../../api/v1alpha1/names.ts";
import { finalizerCommand, type WaitingWorkload } from "../../../sources/waiting-deletions.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { type CoreFacts, type LeaseFacts } from "../facts.ts";
import { isLost } from "./definition.ts";
import { agoText, counted, fail, type Finding, namesText, ok, unchecked } from "../finding.ts";

/** A leader renews every few seconds, and another replica takes its Lease after 15 s. */
const awayAfterSeconds = 30;

/** `now`: by the clock of the core. */
export function generatorFindings(
  core: Pick<CoreFacts, "generator" | "protectors" | "waiting" | "definition">,
  now: EpochMicros,
  systemNamespace: string,
): readonly Finding[] {
  const { generator, protectors, waiting } = core;
  if (!generator.ok) return [unchecked("generator", "the generator", generator.why)];
  const lease = generator.value;
  if (lease !== undefined && !isAway(lease, now)) {
    return [ok("generator", `generator leads: ${lease.holder}, renewed ${agoText(now, lastRenewal(lease))} ago`)];
  }
  const carrying = protectors.ok
    ? protectors.value.valid.filter(({ protector }) => protector.metadata.finalizers?.includes(finalizer) === true)
    : [];
  const since = awayText(lease, now);
  if (isLost(core)) {
    const text = `no generator leads${since}: floors no longer follow the workloads`;
    const cure = "leave it stopped until the CRD is back: it would make objects without their status";
    const remedy = { cure, page: "docs/disasters.md#the-crd-is-lost" };
    return [fail("generator", text, remedy), ...waitingFindings(waiting, "restore the CRD, then start the generator")];
  }
  const command = `kubectl -n ${systemNamespace} scale deploy podseidon-generator --replicas=2`;
  if (carrying.length === 0) {
    const remedy = { cure: "start it", command, page: "docs/generator.md#lifecycle" };
    const text = `no generator leads${since}: floors no longer follow the workloads`;
    return [fail("generator", text, remedy), ...waitingFindings(waiting, "start the generator")];
  }
  const workloads = carrying.length === 1 ? "its workload" : "their workloads";
  const objects = `${counted(carrying.length, "PodProtector")} and ${workloads}`;
  return [
    fail(
      "generator",
      `no generator leads${since}, and its finalizer is on ${objects}: deleting such a workload hangs, and floors no ` +
        "longer follow",
      {
        cure: "start it, or take the finalizers off if Podseidon is to go",
        command,
        page: "docs/install.md#removing-it",
      },
    ),
    ...waitingFindings(waiting, "start the generator"),
  ];
}

/** They hang already. */
function waitingFindings(waiting: readonly WaitingWorkload[], cure: string): readonly Finding[] {
  const [first] = waiting;
  if (first === undefined) return [];
  const names = namesText(waiting.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`));
  return [
    fail(
      "generator-awaited",
      `${counted(waiting.length, "workload")} being deleted until a generator leads: ${names}`,
      {
        cure: `${cure}; only if none is to come back, take the finalizer off`,
        command: finalizerCommand(first),
        page: "docs/generator.md#when-none-leads",
      },
    ),
  ];
}

/** The write by the API server's clock where it is known: the holder's own may be off. */
export function lastRenewal({ writtenAt, renewedAt }: LeaseFacts): EpochMicros | undefined {
  return writtenAt ?? renewedAt;
}

export function isAway(lease: LeaseFacts, now: EpochMicros): boolean {
  const last = lastRenewal(lease);
  return lease.holder === "" || last === undefined || now - last > awayAfterSeconds * 1_000_000;
}

function awayText(lease: LeaseFacts | undefined, now: EpochMicros): string {
  const last = lease === undefined ? undefined : lastRenewal(lease);
  return last === undefined ? "" : ` (the last one renewed its Lease ${agoText(now, last)} ago)`;
}
