import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf, type Json } from "../../../../../src/api/json.ts";
import { type PolicyFacts, type Reading } from "../../../../../src/commands/check/facts.ts";
import { policyFindings, type PolicyQuestion } from "../../../../../src/commands/check/findings/policies.ts";
import { policies, read, unread } from "../sound-facts.ts";

const accounts = ["podseidon-generator", "podseidon-webhook", "podseidon-aggregator-worker-1"];

function rightsOf(...names: readonly string[]): PolicyQuestion["rights"] {
  return read(names.map((account) => ({ account, right: "list pods", isGranted: true })));
}

function found(
  given: Reading<PolicyFacts>,
  {
    part = "core",
    rights = rightsOf(...accounts),
    namespace = "podseidon-system",
  }: Partial<PolicyQuestion> & { namespace?: string } = {},
): readonly string[] {
  return policyFindings({ part, policies: given, rights }, namespace).map(({ level, text }) => `${level} ${text}`);
}

const sound = policies("core");

/** One policy changed. */
function edited(name: string, change: (spec: Json) => Json): Reading<PolicyFacts> {
  const own = sound.policies.get(name) ?? {};
  return read({ ...sound, policies: new Map([...sound.policies, [name, change(own)]]) });
}

/** Its text changed. */
function rewritten(name: string, from: string, to: string): Reading<PolicyFacts> {
  return edited(name, (spec) => {
    const text = JSON.stringify(spec);
    assert.ok(text.includes(from));
    return fieldsOf(JSON.parse(text.replaceAll(from, to)));
  });
}

test("the policies of the manifests, as API servers fill them in, limit the accounts that are there", () => {
  assert.deepEqual(found(read(sound)), ["ok 8 policies limit what accounts may write"]);
  const rights = rightsOf("podseidon-aggregator-team-a", "podseidon-webhook");
  assert.deepEqual(found(read(policies("worker")), { part: "worker", rights }), [
    "ok 2 policies limit what accounts may write",
  ]);
});

test("policies are needed by accounts that are there alone", () => {
  const none = read({ ...sound, policies: new Map(), bindings: [] });
  assert.deepEqual(found(none, { rights: rightsOf() }), []);
  assert.deepEqual(found(none, { rights: rightsOf("podseidon-aggregator") }), []);
  assert.deepEqual(found(none, { rights: rightsOf("podseidon-webhook") }), [
    "fail podseidon-webhook not limited, and may write all that RBAC gives: no policy: podseidon-webhook-status",
  ]);
  assert.match(found(none, { rights: unread })[0] ?? "", /^fail podseidon-aggregator-\*, podseidon-generator, /);
});

test("without bindings no policy limits anybody, and each account is named once", () => {
  assert.deepEqual(found(read({ ...sound, bindings: [] })), [
    "fail podseidon-aggregator-worker-1, podseidon-generator, podseidon-webhook not limited, and may write all that " +
      "RBAC gives: no binding that denies, everywhere: podseidon-aggregator-status, podseidon-aggregator-lease, " +
      "podseidon-aggregator-events, podseidon-webhook-status, podseidon-generator-status and 3 more",
  ]);
});

for (const [what, change] of [
  ["only warns", { validationActions: ["Warn"] }],
  ["only audits", { validationActions: ["Audit"] }],
  ["leaves namespaces out", { matchResources: { namespaceSelector: { matchLabels: { a: "b" } } } }],
  ["has parameters", { paramRef: { name: "x" } }],
  ["is of another policy", { policyName: "other" }],
] as const) {
  test(`a binding that ${what} does not count`, () => {
    const bindings = sound.bindings.map((binding) =>
      binding["policyName"] === "podseidon-webhook-status" ? { ...binding, ...change } : binding,
    );
    assert.match(
      found(read({ ...sound, bindings }))[0] ?? "",
      /^fail podseidon-webhook not limited.*no binding that denies/,
    );
  });
}

test("a binding that warns as well, or whose selectors are empty, counts", () => {
  const matchResources = { matchPolicy: "Equivalent", namespaceSelector: {}, objectSelector: {} };
  const bindings = sound.bindings.map((one) => ({ ...one, validationActions: ["Deny", "Audit"], matchResources }));
  assert.match(found(read({ ...sound, bindings })).join(), /^ok /);
});

for (const [what, policy, place] of [
  [
    "for accounts of another namespace",
    rewritten("podseidon-webhook-status", ":podseidon-system:", ":other:"),
    "spec.matchConditions[0].expression",
  ],
  [
    "with an expression that is always true",
    edited("podseidon-webhook-status", (spec) => ({ ...spec, validations: [{ expression: "true" }] })),
    "spec.validations",
  ],
  [
    "that lets pass what it cannot decide",
    edited("podseidon-webhook-status", (spec) => ({ ...spec, failurePolicy: "Ignore" })),
    "spec.failurePolicy",
  ],
  [
    "that leaves namespaces out",
    edited("podseidon-webhook-status", (spec) => ({
      ...spec,
      matchConstraints: { ...fieldsOf(spec["matchConstraints"]), namespaceSelector: { matchLabels: { a: "b" } } },
    })),
    "spec.matchConstraints.namespaceSelector",
  ],
  [
    "with a further condition",
    edited("podseidon-webhook-status", (spec) => ({
      ...spec,
      matchConditions: [...(spec["matchConditions"] as Json[]), { name: "never", expression: "false" }],
    })),
    "spec.matchConditions",
  ],
  [
    "with parameters",
    edited("podseidon-webhook-status", (spec) => ({ ...spec, paramKind: { kind: "ConfigMap" } })),
    "spec.paramKind",
  ],
] as const) {
  test(`a policy ${what} is a failure, with the place`, () => {
    const [finding = ""] = found(policy);
    assert.match(finding, /^fail podseidon-webhook not limited/);
    assert.ok(finding.includes(`: another ${place}: podseidon-webhook-status`), finding);
  });
}

test("words of refusals, and broken lines, are no difference", () => {
  const changed = edited("podseidon-webhook-status", (spec) => {
    const validations = (spec["validations"] as Json[]).map((one) => ({ ...one, message: "no", reason: "Invalid" }));
    return { ...spec, validations };
  });
  assert.match(found(changed).join(), /^ok /);
  assert.match(found(rewritten("podseidon-webhook-status", " && ", "\\n  && ")).join(), /^ok /);
});

test("another name in an expression is a warning, since docs ask for it in places", () => {
  const own = policies("worker");
  const text = JSON.stringify(own.policies.get("podseidon-dummy-pod")).replace("'do-not-schedule'", "'mine'");
  const given = read({
    ...own,
    policies: new Map([...own.policies, ["podseidon-dummy-pod", fieldsOf(JSON.parse(text))]]),
  });
  assert.match(
    found(given, { part: "worker", rights: rightsOf("podseidon-aggregator") }).join(),
    /^warn podseidon-aggregator: other names than in the manifests, another spec.validations\[0\].expression: /,
  );
});

test("a policy that names a thing otherwise and has no binding is a failure all the same", () => {
  const own = policies("worker");
  const text = JSON.stringify(own.policies.get("podseidon-dummy-pod")).replace("'do-not-schedule'", "'mine'");
  const given = new Map([...own.policies, ["podseidon-dummy-pod", fieldsOf(JSON.parse(text))]]);
  const bindings = own.bindings.filter(({ policyName }) => policyName !== "podseidon-dummy-pod");
  assert.match(
    found(read({ ...own, policies: given, bindings }), {
      part: "worker",
      rights: rightsOf("podseidon-aggregator"),
    }).join(),
    /^fail podseidon-aggregator not limited, .*: no binding that denies, everywhere: podseidon-dummy-pod$/,
  );
});

test("a policy of another release limits in another way, and is said to do so", () => {
  const [finding = ""] = found(rewritten("podseidon-webhook-status", ".orValue([])", ".orValue([1])"));
  assert.match(
    finding,
    /^fail podseidon-webhook not limited as by this release: another spec\.(?:variables|validations)/,
  );
});

test("accounts in another namespace are looked for there", () => {
  const moved = new Map(
    [...sound.policies].map(([name, spec]) => {
      return [
        name,
        fieldsOf(
          JSON.parse(JSON.stringify(spec).replaceAll("serviceaccount:podseidon-system:", "serviceaccount:guard:")),
        ),
      ];
    }),
  );
  assert.match(found(read({ ...sound, policies: moved }), { namespace: "guard" }).join(), /^ok /);
  assert.match(found(read(sound), { namespace: "guard" }).join(), /^fail .*spec.matchConditions/);
});

test("a cluster that serves no policies is a failure, and what cannot be read is not checked", () => {
  const none = { isServed: false, policies: new Map(), bindings: [] };
  assert.deepEqual(found(read(none)), [
    "fail podseidon-aggregator-worker-1, podseidon-generator, podseidon-webhook not limited: this cluster serves no " +
      "ValidatingAdmissionPolicies",
  ]);
  assert.deepEqual(found(unread), ["unchecked the policies that limit the accounts: not checked, you may not look"]);
});
