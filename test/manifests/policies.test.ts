import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { cellLeaseAnnotations, cellLeaseLabels, observerLeaseName } from "../../src/api/cell-lease.ts";
import { historyLimits } from "../../src/accounting/history/record.ts";
import { formatMicroTime } from "../../src/api/micro-time.ts";
import { apiGroup, annotations, finalizer, sourceLabels } from "../../src/api/v1alpha1/names.ts";
import { generatorStateName } from "../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../src/util/clock.ts";
import { type Manifest, manifestsFolder, onlyOne, render } from "./manifest-files.ts";

interface Policy extends Manifest {
  readonly spec: {
    readonly failurePolicy: string;
    readonly matchConditions: readonly { readonly expression: string }[];
    readonly variables?: readonly { readonly name: string; readonly expression: string }[];
    readonly validations: readonly {
      readonly expression: string;
      readonly reason?: string;
      readonly message?: string;
    }[];
  };
}
interface Binding extends Manifest {
  readonly spec: { readonly policyName: string; readonly validationActions: readonly string[] };
}

function policiesOf(folder: string): readonly Policy[] {
  return render(folder).filter((one): one is Policy => one.kind === "ValidatingAdmissionPolicy");
}

const all = [...policiesOf("base/policies/core"), ...policiesOf("base/policies/worker")];
const textOf = (policy: Policy): string => JSON.stringify(policy.spec);

test("each policy denies, also when it cannot decide, and answers Forbidden", () => {
  assert.equal(all.length, 10);
  const objects = [...render("base/policies/core"), ...render("base/policies/worker")];
  for (const { metadata, spec } of all) {
    assert.equal(spec.failurePolicy, "Fail", metadata.name);
    // The default reason is Invalid, which the roles take for something else.
    for (const { reason } of spec.validations) assert.equal(reason, "Forbidden", metadata.name);
    const binding = onlyOne<Binding>(objects, "ValidatingAdmissionPolicyBinding", metadata.name);
    assert.deepEqual(binding.spec, { policyName: metadata.name, validationActions: ["Deny"] });
  }
});

test("each policy is about Podseidon's own accounts, and about no accounts that people made for it", () => {
  for (const { metadata, spec } of all) {
    const accounts = spec.matchConditions.flatMap(({ expression }) => [
      ...expression.matchAll(/system:serviceaccount:podseidon-system:(podseidon-[a-z-]+)/g),
    ]);
    assert.ok(accounts.length > 0, `${metadata.name} is about an account`);
  }
});

test("every overlay has the policies for what its accounts may write", () => {
  const names = (folder: string): readonly string[] => policiesOf(folder).map(({ metadata }) => metadata.name);
  const [core, worker] = [names("base/policies/core"), names("base/policies/worker")];
  const expected = {
    core,
    worker,
    "several-cores": worker,
    "single-cluster": [...core, ...worker],
    "namespace-cells": [...core, ...worker],
    "label-cells": [...core, ...worker, "podseidon-cell-label"],
  };
  for (const [overlay, wanted] of Object.entries(expected))
    assert.deepEqual(names(`overlays/${overlay}`).toSorted(), [...wanted].toSorted(), overlay);
});

test("the names in the policies are those that the program writes", () => {
  const known: readonly string[] = [
    finalizer,
    ...Object.values(annotations),
    ...Object.values(sourceLabels),
    ...Object.values(cellLeaseAnnotations),
    ...Object.values(cellLeaseLabels),
  ];
  const used = all.flatMap((policy) => textOf(policy).match(/podseidon\.kubewharf\.io\/[a-z-]+/g) ?? []);
  assert.ok(used.length >= 10);
  for (const name of used) assert.ok(known.includes(name), name);
  assert.ok(textOf(policy("podseidon-generator-leases")).includes(`'${observerLeaseName}'`));
  assert.ok(textOf(policy("podseidon-generator-leases")).includes(`'${generatorStateName}'`));
  assert.ok(textOf(policy("podseidon-generator-workloads")).includes(`'${apiGroup}'`));
});

test("an aggregator creates only the Lease that it may patch, since all who list heartbeats read the others", () => {
  const { validations } = policy("podseidon-aggregator-lease").spec;
  const expressions = validations.map(({ expression }) => expression.replaceAll(/\s+/g, ""));
  const rule =
    "request.operation!='CREATE'||authorizer.group('coordination.k8s.io').resource('leases')" +
    ".namespace(request.namespace).name(object.metadata.name).check('patch').allowed()";
  assert.ok(expressions.includes(rule));
});

test("an aggregator makes no admissions, and the webhook none in a form that aggregators are refused", () => {
  const expressions = (name: string): string =>
    policy(name)
      .spec.validations.map(({ expression }) => expression.replaceAll(/\s+/g, ""))
      .join("\n");
  const own = expressions("podseidon-aggregator-status");
  assert.ok(own.includes("size(c.admissionHistory.buckets)<=size(o.?admissionHistory.?buckets.orValue([]))"));
  const digestsMax = Buffer.alloc(historyLimits.deletesMax * 8).toString("base64").length;
  for (const name of ["podseidon-aggregator-status", "podseidon-webhook-status"]) {
    const [, most = ""] = /size\(b\.podUIDDigests\)<=(\d+)/.exec(expressions(name)) ?? [];
    assert.ok(Number(most) >= digestsMax, "a full history can be written");
  }
  const written = formatMicroTime(0 as EpochMicros);
  assert.ok(expressions("podseidon-webhook-status").includes(`size(b.startTime)==${written.length}`));
  assert.match(written, /Z$/);
});

test("an aggregator writes Events about its own Lease only, as itself", () => {
  const text = textOf(policy("podseidon-aggregator-events")).replaceAll(/\s+/g, "");
  assert.ok(text.includes(".name(variables.regarding.?name.orValue('')).check('patch').allowed()"));
  assert.ok(text.includes("oldObject.involvedObject==variables.regarding"));
  assert.ok(text.includes("'podseidon-aggregator'"));
});

test("each condition but Ready belongs to the aggregator or to the generator, as the list of conditions says", () => {
  const page = readFileSync(path.join(manifestsFolder, "../docs/conditions.md"), "utf8");
  const writers = [...page.matchAll(/^\| `(\w+)` \|.*\| (aggregator|generator) \|$/gm)];
  const writtenBy = (role: string): readonly string[] =>
    writers.flatMap(([, type = "", writer]) => (writer === role ? [type] : [])).toSorted();
  const listed = (name: string): readonly string[] => {
    const variable = policy(name).spec.variables?.find((one) => one.name === "conditions");
    return [...(variable?.expression ?? "").matchAll(/'(\w+)'/g)].map(([, type = ""]) => type).toSorted();
  };
  assert.ok(writers.length >= 12);
  // It follows from all others, so whoever writes one of them writes it.
  const andReady = (types: readonly string[]): readonly string[] => [...types, "Ready"].toSorted();
  assert.deepEqual(listed("podseidon-aggregator-status"), andReady(writtenBy("aggregator")));
  assert.deepEqual(listed("podseidon-generator-status"), andReady(writtenBy("generator")));
});

function policy(name: string): Policy {
  return onlyOne<Policy>(all, "ValidatingAdmissionPolicy", name);
}
