/** The facts about a fleet that is in good order, for tests that plant one fault: a core and two workers. */
import { entriesOf } from "../../../../src/aggregator/audits/guarded-namespaces.ts";
import { cellLeaseAnnotations, cellLeaseLabels, cellLeaseName, readCellLease } from "../../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../../src/api/micro-time.ts";
import {
  type CellFacts,
  type CoreFacts,
  type DeploymentFacts,
  type EntryFacts,
  type Facts,
  type PolicyFacts,
  type Reading,
  type WorkerFacts,
} from "../../../../src/commands/check/facts.ts";
import { type Group } from "../../../../src/commands/check/finding.ts";
import { judge } from "../../../../src/commands/check/judge.ts";
import { ownConfiguration, ownPolicies } from "../../../../src/carried/admission.ts";
import { ownDefinition } from "../../../../src/carried/definition.ts";
import { decodeGeneratorState } from "../../../../src/kube/generator-state.ts";
import { readProtector, type StoredProtector } from "../../../../src/kube/resources.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";

export const now = (Date.UTC(2026, 0, 1) * 1_000) as EpochMicros;
export const productVersion = "0.1.0 (abc)";

/** `seconds` before now. */
export function before(seconds: number): EpochMicros {
  return (now - seconds * 1_000_000) as EpochMicros;
}

export function read<T>(value: T): Reading<T> {
  return { ok: true, value };
}

export const unread: Extract<Reading<never>, { ok: false }> = { ok: false, why: "you may not look" };

export interface CellOptions {
  readonly renewedSecondsAgo?: number;
  readonly writtenSecondsAgo?: number | undefined;
  readonly clusterUID?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

export function cell(cellID: string, options: CellOptions = {}): CellFacts {
  const { renewedSecondsAgo = 2, clusterUID = `uid-${cellID}`, annotations = {} } = options;
  const writtenSecondsAgo = "writtenSecondsAgo" in options ? options.writtenSecondsAgo : renewedSecondsAgo;
  const renewedAt = before(renewedSecondsAgo);
  const lease = readCellLease({
    metadata: {
      name: cellLeaseName(cellID),
      resourceVersion: "1",
      labels: { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: cellID },
      annotations: {
        [cellLeaseAnnotations.productVersion]: productVersion,
        [cellLeaseAnnotations.clusterUID]: clusterUID,
        ...annotations,
      },
    },
    spec: { holderIdentity: "a", leaseDurationSeconds: 180, renewTime: formatMicroTime(renewedAt) },
  });
  if (lease === undefined) throw new Error("the Lease cannot be read");
  const writtenAt = writtenSecondsAgo === undefined ? undefined : before(writtenSecondsAgo);
  return { cellID, lease, holder: "a", renewedAt, writtenAt };
}

export interface ProtectorOptions {
  readonly metadata?: object;
  readonly conditions?: readonly string[];
  readonly cells?: readonly object[];
  readonly minAvailable?: number;
}

export function protector(
  name: string,
  { metadata = {}, conditions = [], cells = [], minAvailable = 1 }: ProtectorOptions = {},
): StoredProtector {
  const summary = { totalReplicas: 0, aggregatedAvailableReplicas: 0, estimatedAvailableReplicas: 0 };
  const all = conditions.map((type) => ({ type, status: "True", reason: "R", message: "", lastTransitionTime: "" }));
  const answer = readProtector({
    metadata: { name, namespace: "shop", uid: `uid-${name}`, resourceVersion: "1", ...metadata },
    spec: { minAvailable, minReadySeconds: 0, selector: { matchLabels: { app: name } } },
    status: { cells, summary, conditions: all },
  });
  if (!answer.ok) throw new Error(answer.reason);
  return answer.stored;
}

export function deployment(component: string, fields: Partial<DeploymentFacts> = {}): DeploymentFacts {
  const name = `podseidon-${component}`;
  return { name, component, wanted: 3, ready: 3, image: "x:0.1.0", account: name, flags: new Map(), ...fields };
}

export function core(fields: Partial<CoreFacts> = {}): CoreFacts {
  const lease = { holder: "g", renewedAt: before(2), writtenAt: before(2) };
  return {
    name: "core",
    answers: read({}),
    clock: read({ server: now, own: now }),
    definition: read(ownDefinition()),
    protectors: read({ valid: [protector("api")], invalid: [] }),
    heartbeats: read({ cells: [cell("worker-1"), cell("worker-2")], observer: { ...lease, productVersion } }),
    generator: read(lease),
    waiting: [],
    generatorState: read(decodeGeneratorState(undefined)),
    deployments: read([deployment("webhook"), deployment("generator")]),
    protectorEvents: read([]),
    certificateEvents: read([]),
    published: read(undefined),
    modes: read(new Map()),
    rights: read([{ account: "podseidon-generator", right: "get namespaces", isGranted: true }]),
    tokens: read([]),
    policies: read(policies("core")),
    ...fields,
  };
}

/** As the manifests have them, with what API servers fill in. */
export function policies(part: "core" | "worker"): PolicyFacts {
  const own = ownPolicies(part, "podseidon-system");
  const filledIn = { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} };
  return {
    isServed: true,
    policies: new Map(
      own.map(({ name, spec }) => {
        const matchConstraints = { ...filledIn, ...(spec["matchConstraints"] as object) };
        return [name, { ...spec, matchConstraints }];
      }),
    ),
    bindings: own.map(({ name }) => ({ policyName: name, validationActions: ["Deny"] })),
  };
}

/** As the manifests have it, by its name; one of another name as the first of them. */
export function entry({ fields, ...facts }: Partial<EntryFacts> = {}): EntryFacts {
  const url = facts.url ?? "https://podseidon.example.com/worker-1";
  const name = facts.name ?? "podseidon.kubewharf.io";
  const carried = entriesOf(ownConfiguration());
  const own = carried.find((one) => one.fields.name === name) ?? carried[0]!;
  return {
    configuration: "podseidon",
    fields: { ...own.fields, clientConfig: { url }, ...fields },
    name,
    failurePolicy: "Fail",
    url,
    isService: false,
    cell: url.slice(url.lastIndexOf("/") + 1),
    caBundle: "",
    rules: ["DELETE pods", "CREATE pods/eviction"],
    hasObjectSelector: false,
    isMain: true,
    ...facts,
  };
}

/** Those of the manifests. `changed`: of the first one. */
export function entries(url: string, changed: Partial<EntryFacts> = {}): readonly EntryFacts[] {
  return entriesOf(ownConfiguration()).map(({ fields: { name } }, index) =>
    entry({ url, name: String(name), ...(index === 0 ? changed : { isMain: false }) }),
  );
}

export function worker(name: string, fields: Partial<WorkerFacts> = {}): WorkerFacts {
  const url = `https://podseidon.example.com/${name}`;
  return {
    name,
    isNamed: true,
    answers: read({}),
    clock: read({ server: now, own: now }),
    nodes: read([]),
    clusterUID: read(`uid-${name}`),
    entries: read(entries(url)),
    namespaces: read(new Map([["shop", { "kubernetes.io/metadata.name": "shop" }]])),
    deployments: read([deployment("aggregator", { flags: new Map([["aggregator-cell-id", name]]) })]),
    webhookReleases: [productVersion],
    gates: new Map([["podseidon-update-trigger/podseidon-update-trigger", { kind: "other-cell", cell: name }]]),
    served: new Map([
      [url, read({ distrust: undefined, validFrom: before(86_400), validTo: before(-200 * 86_400), status: 401 })],
    ]),
    rights: read([{ account: "podseidon-aggregator", right: "list pods", isGranted: true }]),
    tokens: read([]),
    policies: read(policies("worker")),
    ...fields,
  };
}

export function facts(fields: Partial<Facts> = {}): Facts {
  return {
    now,
    productVersion,
    systemNamespace: "podseidon-system",
    cores: [core()],
    workers: [worker("worker-1"), worker("worker-2")],
    ...fields,
  };
}

/** What is no "ok", as `level check`, in the order in which it is shown. */
export function said(groups: readonly Group[]): readonly string[] {
  return groups
    .flatMap(({ findings }) => findings)
    .filter(({ level }) => level !== "ok")
    .map(({ level, check }) => `${level} ${check}`);
}

/** What is said of a fleet. */
export function saidOf(fields: Partial<Facts>): readonly string[] {
  return said(judge(facts(fields)));
}
