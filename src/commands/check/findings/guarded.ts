/**
 * Whether each namespace that has a PodProtector with a floor is guarded in a worker: deletions and evictions of its
 * pods are sent to the webhook (docs/aggregator.md#which-namespaces-are-guarded).
 */
import {
  addressesFor,
  entriesOf,
  type Gap,
  type Guard,
  guardOf,
} from "../../../aggregator/audits/guarded-namespaces.ts";
import { type Labels } from "../../../api/pod.ts";
import { annotations } from "../../../api/v1alpha1/names.ts";
import { ownConfiguration } from "../../../carried/admission.ts";
import { type CoreFacts, type WorkerFacts } from "../facts.ts";
import { counted, fail, type Finding, namesText, ok, type Remedy, unchecked, warn } from "../finding.ts";

const check = "guarded";
const page = "docs/aggregator.md#which-namespaces-are-guarded";

/** `cores`: whose PodProtectors its pods may have. `own`: the cells that this cluster is. */
export function guardedFindings(
  worker: Pick<WorkerFacts, "entries" | "namespaces" | "deployments" | "gates">,
  cores: readonly CoreFacts[],
  own: readonly string[],
): readonly Finding[] {
  const { entries, namespaces } = worker;
  // That there are none, or that they cannot be read, is a finding of its own.
  if (!entries.ok || !entries.value.some(({ isMain }) => isMain)) return [];
  const unread = [namespaces, ...cores.map(({ protectors }) => protectors)].find((reading) => !reading.ok);
  if (unread?.ok === false) return [unchecked(check, "which namespaces are guarded", unread.why)];
  const labelled = namespaces.ok ? namespaces.value : new Map<string, Labels>();
  const wanted = namespacesWithFloors(cores, targetsOf(worker)).filter((name) => labelled.has(name));
  const labelsOf = (name: string): Labels => labelled.get(name) ?? {};
  const addresses = provenAddresses(worker, own, labelsOf);
  const carried = entriesOf(ownConfiguration());
  const guards = wanted.map((name): readonly [string, Guard] => {
    return [name, guardOf(entries.value, carried, { name, labels: labelsOf(name) }, addresses)];
  });
  const findings = [
    ...grouped(guards, (guard) => (guard.kind === "open" ? [guard.gap] : [])).map(openFinding),
    ...grouped(guards, (guard) => (guard.kind === "unjudged" ? [guard.gap] : [])).map(unjudgedFinding),
    ...grouped(guards, (guard) => (guard.kind === "guarded" ? guard.lesser : [])).map(lesserFinding),
  ];
  if (findings.length > 0 || wanted.length === 0) return findings;
  return [ok(check, `deletions and evictions in ${counted(wanted.length, "namespace")} with PodProtectors are sent`)];
}

/** Those of PodProtectors that keep pods. `targets`: where aggregators look; undefined = everywhere. */
function namespacesWithFloors(
  cores: readonly CoreFacts[],
  targets: ReadonlySet<string> | undefined,
): readonly string[] {
  const all = cores.flatMap(({ protectors }) => (protectors.ok ? protectors.value.valid : []));
  const guarding = all.filter(({ protector: { metadata, spec } }) => {
    return spec.minAvailable > 0 && !Object.hasOwn(metadata.annotations ?? {}, annotations.released);
  });
  const names = new Set(guarding.map(({ protector }) => protector.metadata.namespace));
  return [...names].filter((name) => targets?.has(name) !== false).toSorted();
}

/** Cells may be namespaces; pods elsewhere are nobody's then, by choice (docs/cells.md). */
function targetsOf({ deployments }: Pick<WorkerFacts, "deployments">): ReadonlySet<string> | undefined {
  if (!deployments.ok || deployments.value.length === 0) return undefined;
  const targets = deployments.value.map(({ flags }) => flags.get("worker-kube-target-namespace"));
  const named = targets.filter((target) => target !== undefined);
  return named.length === targets.length ? new Set(named) : undefined;
}

/** Where a webhook of ours has answered about a dummy pod, for a cell of this cluster; undefined = nowhere. */
function provenAddresses(
  { entries, gates }: Pick<WorkerFacts, "entries" | "gates">,
  own: readonly string[],
  labelsOf: (namespace: string) => Labels,
): ReadonlySet<string> | undefined {
  const answered = [...gates].filter(([, answer]) => {
    return answer !== "no pod" && (answer.kind === "ok" || (answer.kind === "other-cell" && own.includes(answer.cell)));
  });
  const found = answered.flatMap(([pod]) => {
    const name = pod.slice(0, pod.indexOf("/"));
    return entries.ok ? [...addressesFor(entries.value, { name, labels: labelsOf(name) })] : [];
  });
  return found.length === 0 ? undefined : new Set(found);
}

interface Affected {
  readonly namespaces: readonly string[];
  readonly gap: Gap;
}

/** By the line that leaves them out; all that one line leaves out is one finding. */
function grouped(
  guards: readonly (readonly [string, Guard])[],
  gapsOf: (guard: Guard) => readonly Gap[],
): readonly Affected[] {
  const pairs = guards.flatMap(([name, guard]) => gapsOf(guard).map((gap) => ({ name, gap })));
  return [...Map.groupBy(pairs, ({ gap }) => lineOf(gap)).values()].map((same) => ({
    namespaces: [...new Set(same.map(({ name }) => name))],
    gap: same[0]!.gap,
  }));
}

function lineOf({ configuration, entry, why }: Gap): string {
  return `entry ${entry} of webhook configuration ${configuration} ${why}`;
}

function openFinding({ namespaces, gap }: Affected): Finding {
  const text = `not guarded: ${namesText(namespaces)}, where ${gap.request} is not sent: ${lineOf(gap)}`;
  return fail(check, text, remedyFor(namespaces, gap));
}

function unjudgedFinding({ namespaces, gap }: Affected): Finding {
  return warn(check, `not known to be guarded: ${namesText(namespaces)}: ${lineOf(gap)}`, remedyFor(namespaces, gap));
}

/** Of preemptions and pod garbage collection. */
function lesserFinding({ namespaces, gap }: Affected): Finding {
  const text = `guarded in part: ${namesText(namespaces)}, where ${gap.request} is not sent for some: ${lineOf(gap)}`;
  return warn(check, text, remedyFor(namespaces, gap));
}

/** AKS adds expressions with these to every configuration, and puts them back. */
const labelsOfAks: ReadonlySet<string> = new Set(["control-plane", "kubernetes.azure.com/managedby"]);
/** Arguments of one command line. */
const argumentsMax = 20;

function remedyFor(namespaces: readonly string[], { at, configuration, label }: Gap): Remedy {
  if (label !== undefined) {
    const aks = labelsOfAks.has(label)
      ? `; AKS adds it, unless the configuration has the label admissions.enforcer/disabled=true`
      : "";
    return {
      cure: `take the label off, or that expression out of all entries${aks}`,
      command: `kubectl label namespace ${namespaces.slice(0, argumentsMax).join(" ")} ${label}-`,
      page,
    };
  }
  const cure =
    at === "namespaceSelector"
      ? "let namespaceSelector of all entries select them, or give them the mode off, so that nobody relies on it"
      : "apply that of the manifests of this release again, with all of its entries";
  return { cure, command: `kubectl edit validatingwebhookconfiguration ${configuration}`, page };
}
