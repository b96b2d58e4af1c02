import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { type Manifest, manifestsFolder, onlyOne, readManifests } from "./manifest-files.ts";

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}
interface Crd extends Manifest {
  readonly spec: { readonly versions: readonly [{ readonly schema: { readonly openAPIV3Schema: Schema } }] };
}
interface Gauge {
  readonly path: readonly string[];
  readonly labelsFromPath?: Readonly<Record<string, readonly string[]>>;
  readonly valueFrom?: readonly string[];
}
interface OfResource {
  readonly metrics: readonly { readonly name: string; readonly each: { readonly gauge: Gauge } }[];
}
interface Monitored extends Manifest {
  readonly spec: { readonly resources: readonly [OfResource] };
}

const crd = onlyOne<Crd>(
  readManifests(path.join(manifestsFolder, "base/crd/podprotectors.yaml")),
  "CustomResourceDefinition",
);
const monitored = onlyOne<Monitored>(
  readManifests(path.join(manifestsFolder, "monitoring/kube-state-metrics.yaml")),
  "CustomResourceStateMetrics",
);

/** Of the elements, where it is a list. */
function fieldAt(schema: Schema | undefined, fields: readonly string[]): Schema | undefined {
  const found = fields.reduce<Schema | undefined>((at, field) => at?.properties?.[field], schema);
  return found?.items ?? found;
}

test("every metric of a PodProtector is read from a field that its CRD has", () => {
  const [{ metrics }] = monitored.spec.resources;
  assert.equal(metrics.length, 5);
  for (const { name, each } of metrics) {
    const { path: fields, labelsFromPath = {}, valueFrom } = each.gauge;
    const field = fieldAt(crd.spec.versions[0].schema.openAPIV3Schema, fields);
    assert.ok(field, `${name}: ${fields.join(".")}`);
    const inside = [...Object.values(labelsFromPath), ...(valueFrom === undefined ? [] : [valueFrom])];
    for (const of of inside) assert.ok(fieldAt(field, of), `${name}: ${of.join(".")}`);
  }
});
