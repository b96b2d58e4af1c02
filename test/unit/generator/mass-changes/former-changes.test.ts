import assert from "node:assert/strict";
import { test } from "node:test";
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { annotations, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { loweredBefore, releasedBefore } from "../../../../src/generator/mass-changes/former-changes.ts";
import { objectKey } from "../../../../src/api/object-key.ts";
import { type Switched } from "../../../../src/generator/sources/namespace-modes.ts";
import { type SourceRecord } from "../../../../src/sources/source.ts";
import { after, deployment, managed, noon, protector, rule } from "./samples.ts";

/** What a new leader knows: the source of each PodProtector, and who has switched the namespace to shadow. */
const known = (source: SourceRecord | undefined, shadowed?: Switched) => ({
  sources: { get: () => source },
  modes: { switched: (_namespace: string, to: string) => (to === "shadow" ? shadowed : undefined) },
  rule,
});

function generated(minAvailable: number, set: Readonly<Record<string, string>> = {}) {
  const one = protector(minAvailable, { [annotations.floorBefore]: "6@2026-01-01T12:00:00Z", ...set });
  const { name, group, kind, resource } = sourceLabels;
  const labels = { [name]: "web", [group]: "apps", [kind]: "Deployment", [resource]: "deployments" };
  const metadata = { ...one.metadata, labels };
  return { key: objectKey("shop", "deployment-web"), uid: "p", protector: { ...one, metadata } } as never;
}

test("releases count by their causes, those of one namespace as one, and others not at all", () => {
  const causes = ["owner/App.example.com", "manager/tool", "namespaces/shop", "not selected in shop", "by hand"];
  const releases = causes.map((cause, index) => ({
    digest: `${index}`,
    releasedAt: noon,
    cause,
    number: index,
    namespace: "shop",
  }));
  assert.deepEqual(
    releasedBefore(releases).map(({ id, cause }) => [id, cause]),
    [
      ["0", "owner/App.example.com"],
      ["1", "manager/tool"],
      ["namespaces/shop", "namespaces"],
    ],
  );
});

test("a floor that was lowered far counts by its annotation, if its source is there and says who did it", () => {
  const fields = { "f:spec": { "f:replicas": {} } };
  const source = deployment(1, { managedFields: [managed("tool", fields)] });
  const found = loweredBefore(generated(1), known(source), after(60));
  const cause = "manager/tool";
  assert.deepEqual(found, { id: digestOfUID("p"), cause, at: noon, endsProtection: false, isApplied: true });
  assert.equal(loweredBefore(generated(4), known(source), after(60)), undefined);
  assert.equal(loweredBefore(generated(1), known(undefined), after(60)), undefined);
  assert.equal(loweredBefore(generated(1), known(source), after(3_600)), undefined);
});

test("what was put in shadow counts by whoever has switched the namespace, and not at all if a flag has", () => {
  const shadow = generated(6, { [annotations.mode]: "shadow" });
  const source = deployment(8);
  const by = { manager: "tool", subresource: undefined, time: noon };
  const found = loweredBefore(shadow, known(source, { by }), after(60));
  const cause = "manager/tool";
  assert.deepEqual(found, { id: digestOfUID("p"), cause, at: noon, endsProtection: true, isApplied: true });
  assert.equal(loweredBefore(shadow, known(source), after(60)), undefined);
  assert.equal(loweredBefore(shadow, known(undefined, { by }), after(60)), undefined);
  assert.equal(loweredBefore(generated(6), known(source, { by }), after(60)), undefined);
});

test("a floor that follows workloads counts by its annotation alone", () => {
  const lowered = (spec: object) => {
    const one = protector(0, { [annotations.floorBefore]: "6@2026-01-01T12:00:00Z" });
    const stored = { key: "shop/mine", uid: "p", protector: { ...one, spec: { ...one.spec, ...spec } } } as never;
    return loweredBefore(stored, known(undefined), after(60))?.cause;
  };
  assert.deepEqual([lowered({ maxUnavailable: 1 }), lowered({})], ["manager/unknown", undefined]);
});
