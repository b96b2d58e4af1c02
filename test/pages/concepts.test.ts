/** What docs/concepts.md shows, against the code: the example, the floors, the names that people set. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { countedSpec, CountedSpec } from "../../src/accounting/count/counted-spec.ts";
import { floorConditions } from "../../src/accounting/count/floor-conditions.ts";
import { summarize } from "../../src/accounting/count/summary.ts";
import { cellLeaseAnnotations, cellLeaseLabels } from "../../src/api/cell-lease.ts";
import { withConditions, withReady } from "../../src/api/v1alpha1/conditions.ts";
import { decodePodProtector } from "../../src/api/v1alpha1/decode.ts";
import { annotations, apiGroup, labels, overrides, sourceLabels } from "../../src/api/v1alpha1/names.ts";
import { type PodProtector, type PodProtectorStatus } from "../../src/api/v1alpha1/pod-protector.ts";
import { planFor } from "../../src/generator/sources/source-plan.ts";
import { compileSelector, formatSelector } from "../../src/label-index/canonical-selector.ts";
import { deployments } from "../../src/sources/deployment.ts";
import { readSource } from "../../src/sources/read-source.ts";
import { type SourceRecord } from "../../src/sources/source.ts";
import { type EpochMicros } from "../../src/util/clock.ts";
import { type Manifest, manifestsFolder, onlyOne, readManifests } from "../manifests/manifest-files.ts";

const page = readFileSync(path.join(import.meta.dirname, "../../docs/concepts.md"), "utf8");
/** The flags at their defaults. */
const rule = { percentRounding: "at-least-one", singleReplica: "drainable" } as const;

/** The cells of each row of a table whose first cell matches. */
const rowsBy = (first: RegExp): readonly (readonly string[])[] =>
  Array.from(page.matchAll(/^\| (.+) \|$/gm), ([, cells = ""]) => cells.split(" | ")).filter(([cell = ""]) =>
    first.test(cell),
  );

function deployment(replicas: number, maxUnavailable: number | string, uid = "uid"): SourceRecord {
  const source = readSource(deployments, {
    metadata: { name: "checkout", namespace: "shop", uid, resourceVersion: "1" },
    spec: {
      replicas,
      minReadySeconds: 10,
      selector: { matchLabels: { app: "checkout" } },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable, maxSurge: "25%" } },
    },
  });
  assert(source !== undefined);
  return source;
}

/** Of the example. */
const shown = load(/^```yaml\n([\s\S]*?)^```$/m.exec(page)?.[1] ?? "");

function shownProtector(): PodProtector & { readonly status: PodProtectorStatus } {
  const decoded = decodePodProtector(shown);
  assert(decoded.ok, JSON.stringify(decoded));
  const { status } = decoded.protector;
  assert(status !== undefined);
  return { ...decoded.protector, status };
}

test("the PodProtector of docs/concepts.md is what the generator makes of a Deployment with 12 replicas", () => {
  const { metadata, spec } = shownProtector();
  const [owner] = metadata.ownerReferences ?? [];
  const wanted = planFor(deployment(12, "25%", owner?.uid), rule);
  assert.deepEqual(spec, wanted.spec);
  assert.partialDeepStrictEqual(metadata, { name: wanted.name, namespace: wanted.namespace });
  assert.deepEqual(
    [metadata.labels, metadata.annotations, metadata.finalizers, metadata.ownerReferences],
    [wanted.labels, wanted.annotations, [wanted.finalizer], [wanted.ownerReference]],
  );
});

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

interface Crd extends Manifest {
  readonly spec: { readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Schema } }] };
}

/** Fields that the schema does not know. What has no list of fields, such as labels, may hold anything. */
function unknownFields(value: unknown, { properties, items }: Schema, at: string): readonly string[] {
  if (Array.isArray(value)) return value.flatMap((item) => unknownFields(item, items ?? {}, `${at}[]`));
  if (typeof value !== "object" || value === null || properties === undefined) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const schema = properties[key];
    return schema === undefined ? [`${at}.${key}`] : unknownFields(field, schema, `${at}.${key}`);
  });
}

test("the CRD knows every field of the PodProtector of docs/concepts.md", () => {
  const manifests = readManifests(path.join(manifestsFolder, "base/crd/podprotectors.yaml"));
  const crd = onlyOne<Crd>(manifests, "CustomResourceDefinition");
  const schema = crd.spec.versions[0].schema.openAPIV3Schema;
  assert.deepEqual(unknownFields(shown, schema, ""), []);
  assert.deepEqual(unknownFields({ status: { cells: [{ cell: "x" }] } }, schema, ""), [".status.cells[].cell"]);
});

test("the status of docs/concepts.md follows from its cells: counted spec, summary, conditions", () => {
  const { metadata, spec, status } = shownProtector();
  const counting = compileSelector(spec.selector);
  assert(counting.ok);
  const question = [metadata.uid ?? "", formatSelector(counting.selector), spec.minReadySeconds] as const;
  for (const { aggregation } of status.cells) assert.equal(aggregation?.countedSpec, countedSpec(...question));
  assert.deepEqual(status.summary, summarize(status.cells, spec));
  const found = floorConditions(spec, status, new CountedSpec(...question));
  const conditions = withConditions(status.conditions, found, 0 as EpochMicros, 1) ?? [];
  assert.equal(conditions, status.conditions);
  assert.equal(withReady(conditions, status.cells, { generation: 1, now: 0 as EpochMicros }), status.conditions);
});

test("the columns of kubectl in docs/concepts.md are those of the PodProtector below", () => {
  const { metadata, spec, status } = shownProtector();
  const { summary, conditions = [] } = status;
  const ready = conditions.find(({ type }) => type === "Ready");
  const row = /^deployment-checkout .*$/m.exec(page)?.[0].split(/\s+/);
  const numbers = [summary.aggregatedAvailableReplicas, summary.promised, summary.disruptionsAllowed];
  const columns = [metadata.name, spec.minAvailable, ...numbers, summary.countedCells, ready?.reason, "12d"];
  assert.deepEqual(row, columns.map(String));
});

test("the floors of docs/concepts.md are what the code computes, for 1 to 12 replicas", () => {
  const [[, ...replicas] = []] = rowsBy(/^replicas$/);
  assert.deepEqual(
    replicas.map(Number),
    Array.from({ length: 12 }, (_, index) => index + 1),
  );
  for (const [maxUnavailable, title] of [
    ["25%", /^`maxUnavailable: 25%`/],
    [1, /^`maxUnavailable: 1`/],
    [0, /^`maxUnavailable: 0`/],
  ] as const) {
    const [[, ...floors] = []] = rowsBy(title);
    assert.deepEqual(
      floors.map(Number),
      replicas.map((count) => deployment(Number(count), maxUnavailable).spec.floorBy(rule).minAvailable),
      String(maxUnavailable),
    );
  }
});

/** What programs set alone. Every other name is one that people set. */
const setByPrograms: ReadonlySet<string> = new Set([
  ...Object.values(sourceLabels),
  annotations.generated,
  annotations.floorBefore,
  annotations.overridden,
  annotations.updateTriggerTime,
  annotations.fence,
  cellLeaseAnnotations.productVersion,
  annotations.handedToken,
  cellLeaseAnnotations.clusterUID,
  cellLeaseAnnotations.behind,
  cellLeaseAnnotations.gate,
  cellLeaseAnnotations.silentSince,
]);
/** On which objects people set the names of each list. */
const setOn = [
  { names: labels, on: /^namespace of the core, label$/ },
  { names: annotations, on: /^(pod or Eviction|PodProtector|hand-made PodProtector|ConfigMap.*), annotation$/ },
  { names: { cell: cellLeaseLabels.cell }, on: /^pod, label$/ },
  { names: overrides, on: /^workload, annotation$/ },
  { names: cellLeaseLabels, on: /^Lease of a cell, label$/ },
  { names: cellLeaseAnnotations, on: /^Lease of a cell, annotation$/ },
];

test("every label and annotation that people set stands in the table of docs/concepts.md, and nothing else", () => {
  for (const { names, on } of setOn) {
    const inTable = rowsBy(on).map(([, name = ""]) => `${apiGroup}/${name.replaceAll("`", "")}`);
    const setByPeople = Object.values(names).filter((name) => !setByPrograms.has(name));
    assert.deepEqual(new Set(inTable), new Set(setByPeople), String(on));
  }
});

test("the modes of docs/concepts.md are those that a namespace may have", () => {
  const [, , values = ""] = rowsBy(/^namespace of the core, label$/).find(([, name]) => name === "`mode`") ?? [];
  const modes = values.split(", ");
  assert.deepEqual(modes, ["`enforced`", "`shadow`", "`off`"]);
  for (const mode of modes) assert.equal(rowsBy(/^`/).filter(([cell]) => cell === mode).length, 1, mode);
});
