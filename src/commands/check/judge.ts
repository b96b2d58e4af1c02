/** All findings about a fleet, in the order in which people read them. Pure: facts in, groups of findings out. */
import { type EpochMicros } from "../../util/clock.ts";
import { type CoreFacts, type Facts, type WorkerFacts } from "./facts.ts";
import { fail, type Finding, type Group, unchecked } from "./finding.ts";
import { cellFindings, nobodyHeard } from "./findings/cells.ts";
import { certificateFindings, publishedFindings, tokenFindings } from "./findings/certificates.ts";
import { clockFindings } from "./findings/clocks.ts";
import { configurationFindings } from "./findings/configuration.ts";
import { definitionFindings } from "./findings/definition.ts";
import { gateFindings } from "./findings/gate.ts";
import { generatorFindings } from "./findings/generator.ts";
import { guardedFindings } from "./findings/guarded.ts";
import { policyFindings } from "./findings/policies.ts";
import { protectorFindings, tombstoneFindings } from "./findings/protectors.ts";
import { certificateEventFindings, releaseFindings, rightFindings, webhookReplicaFindings } from "./findings/roles.ts";
import { cellsOf, workerCellFindings } from "./findings/worker-cell.ts";

export function judge(facts: Facts): readonly Group[] {
  const { cores, workers } = facts;
  const title = (what: string, { name }: CoreFacts): string => (cores.length === 1 ? what : `${what} of ${name}`);
  const checked = new Set(workers.flatMap((worker) => cellsOf(worker, cores).reported));
  return [
    ...cores.map((core) => ({ title: core.name, findings: coreFindings(core, facts) })),
    ...workers.map((worker) => ({ title: workerTitle(worker, cores), findings: workerFindings(worker, facts) })),
    ...(workers.length > 0 ? [] : [{ title: "workers", findings: [noWorkers] }]),
    ...cores.map((core) => ({
      title: title("cells", core),
      findings: [...cellFindings(core, coreNow(core, facts), checked), ...unseenWorkers(core, checked)],
    })),
    ...cores.map((core) => ({
      title: title("protectors", core),
      findings: [...protectorFindings(core), ...tombstoneFindings(core, coreNow(core, facts))],
    })),
    { title: "clocks", findings: clockFindings(facts) },
  ];
}

const noWorkers = unchecked("worker", "worker clusters", "give each by --worker CELL=CONTEXT");

/** Of a cluster about which nothing can be found out, and that alone. */
function silence({ name, answers }: Pick<CoreFacts, "name" | "answers">): readonly Finding[] | undefined {
  if (answers.ok) return undefined;
  return [
    fail("cluster", `${name} does not answer: ${answers.why}`, {
      cure: "look at its API server, the way to it, and the context of your kubeconfig",
      page: "docs/commands.md#which-clusters",
    }),
  ];
}

function coreFindings(core: CoreFacts, facts: Facts): readonly Finding[] {
  const silent = silence(core);
  if (silent !== undefined) return silent;
  const { productVersion, systemNamespace } = facts;
  const now = coreNow(core, facts);
  const observer = core.heartbeats.ok ? core.heartbeats.value.observer : undefined;
  return [
    ...definitionFindings(core, releaseIn(observer?.productVersion), releaseIn(productVersion) ?? ""),
    ...(isAnybodyHeard(core, now)
      ? generatorFindings(core, now, systemNamespace)
      : [unchecked("generator", "the generator", "nobody can be heard in this core")]),
    ...webhookReplicaFindings(core.deployments),
    ...certificateEventFindings(core.certificateEvents, now),
    ...rightFindings(core.rights),
    ...policyFindings({ part: "core", ...core }, systemNamespace),
    ...tokenFindings(core.tokens, now),
    ...releaseFindings(core, facts.workers, productVersion),
  ];
}

function workerFindings(worker: WorkerFacts, facts: Facts): readonly Finding[] {
  const silent = silence(worker);
  if (silent !== undefined) return silent;
  const { cores, workers } = facts;
  const others = new Map(workers.filter((other) => other !== worker).map((other) => [other.name, other]));
  const { reported, configured } = cellsOf(worker, cores);
  const own = reported.length > 0 ? reported : configured;
  const gates = gateFindings(worker, own);
  const certificates = certificateFindings(worker, facts.now);
  return [
    ...workerCellFindings(worker, cores, others),
    ...configurationFindings(worker),
    ...guardedFindings(worker, cores, own),
    // The API server's view and ours of one certificate are one finding.
    ...gates.filter((gate) => !certificates.some((one) => one.check === gate.check && one.level === "fail")),
    ...certificates,
    ...publishedFindings(worker, cores),
    ...rightFindings(worker.rights),
    ...policyFindings({ part: "worker", ...worker }, facts.systemNamespace),
    ...tokenFindings(worker.tokens, worker.clock.ok ? worker.clock.value.server : facts.now),
  ];
}

function workerTitle({ name }: WorkerFacts, cores: readonly CoreFacts[]): string {
  return cores.some((core) => core.name === name) ? `${name} as worker` : name;
}

/** Cells of clusters that were not given, so that nobody takes silence about them for health. */
function unseenWorkers({ heartbeats }: CoreFacts, checked: ReadonlySet<string>): readonly Finding[] {
  const cells = heartbeats.ok ? heartbeats.value.cells.filter(({ cellID }) => !checked.has(cellID)) : [];
  return cells.map(({ cellID }) =>
    unchecked("worker", `the worker cluster of cell "${cellID}"`, `give it by --worker ${cellID}=CONTEXT`),
  );
}

function isAnybodyHeard({ heartbeats }: CoreFacts, now: EpochMicros): boolean {
  return !heartbeats.ok || nobodyHeard(heartbeats.value, now) === undefined;
}

/** By the clock of the API server, which ages of what it holds are measured by. */
function coreNow({ clock }: CoreFacts, { now }: Facts): EpochMicros {
  return clock.ok ? clock.value.server : now;
}

/** "0.1.0" of "0.1.0 (commit)". */
function releaseIn(productVersion: string | undefined): string | undefined {
  return productVersion?.split(" ")[0];
}
