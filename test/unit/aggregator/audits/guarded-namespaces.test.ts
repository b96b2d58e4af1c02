import assert from "node:assert/strict";
import { describe, test } from "node:test";
import {
  addressesFor,
  addressOf,
  entriesOf,
  type Guard,
  guardOf,
  type LabelledNamespace,
  type WebhookEntry,
} from "../../../../src/aggregator/audits/guarded-namespaces.ts";
import { asList, fieldsOf, type Json } from "../../../../src/api/json.ts";
import { render } from "../../../manifests/manifest-files.ts";
import { ownConfiguration } from "../../../../src/carried/admission.ts";

const own = entriesOf(ownConfiguration());
const name = "kubernetes.io/metadata.name";
const shop: LabelledNamespace = { name: "shop", labels: { [name]: "shop", team: "blue" } };

/** The entries of the manifests, each changed. */
function changed(change: (fields: Json, index: number) => Json): readonly WebhookEntry[] {
  return own.map(({ configuration, fields }, index) => ({ configuration, fields: change({ ...fields }, index) }));
}

function withExpressions(...added: readonly Json[]): readonly WebhookEntry[] {
  return changed((fields) => {
    const { matchExpressions } = fieldsOf(fields["namespaceSelector"]);
    return { ...fields, namespaceSelector: { matchExpressions: [...asList(matchExpressions), ...added] } };
  });
}

function text(guard: Guard): string {
  if (guard.kind !== "guarded") return `${guard.kind}: ${guard.gap.request}: ${guard.gap.entry} ${guard.gap.why}`;
  return ["guarded", ...guard.lesser.map(({ request, entry, why }) => `${request}: ${entry} ${why}`)].join("; ");
}

function judged(entries: readonly WebhookEntry[], namespace = shop, addresses?: ReadonlySet<string>): string {
  return text(guardOf(entries, own, namespace, addresses));
}

test("the configuration of the manifests guards a namespace, and leaves out those of its list", () => {
  assert.equal(judged(own), "guarded");
  assert.equal(
    judged(own, { name: "kyverno", labels: { [name]: "kyverno" } }),
    `open: DELETE pods: podseidon.kubewharf.io leaves it out by namespaceSelector: ${name} NotIn has kyverno`,
  );
});

for (const [overlay, namespace] of [
  ["single-cluster", "shop"],
  ["worker", "shop"],
  ["label-cells", "shop"],
  ["namespace-cells", "team-a"],
  ["namespace-cells", "team-b"],
] as const) {
  test(`the overlay ${overlay} guards the namespace ${namespace}`, () => {
    const entries = render(`overlays/${overlay}`)
      .filter(({ kind }) => kind === "ValidatingWebhookConfiguration")
      .flatMap((manifest) => entriesOf(manifest));
    assert.equal(judged(entries, { name: namespace, labels: { [name]: namespace } }), "guarded");
  });
}

test("without any entry nothing is sent", () => {
  assert.equal(judged([]), "open: DELETE pods: podseidon.kubewharf.io is not there");
});

describe("namespaces that are left out", () => {
  const aks = [
    { key: "control-plane", operator: "NotIn", values: ["true"] },
    { key: "kubernetes.azure.com/managedby", operator: "NotIn", values: ["aks"] },
  ];

  test("expressions that AKS adds leave out a namespace once it has such a label, which is named", () => {
    assert.equal(judged(withExpressions(...aks)), "guarded");
    for (const [key, value] of [
      ["control-plane", "true"],
      ["kubernetes.azure.com/managedby", "aks"],
    ] as const) {
      const guard = guardOf(withExpressions(...aks), own, { name: "shop", labels: { ...shop.labels, [key]: value } });
      assert.equal(
        text(guard),
        `open: DELETE pods: podseidon.kubewharf.io leaves it out by namespaceSelector: ${key} NotIn has ${value}`,
      );
      assert.equal(guard.kind === "open" && guard.gap.label, key);
    }
  });

  test("a namespace that is in the list by its name is left out, and no label of it mends that", () => {
    const guard = guardOf(withExpressions({ key: name, operator: "NotIn", values: ["pay", "shop"] }), own, shop);
    assert.match(text(guard), /^open: DELETE pods: podseidon.kubewharf.io .* NotIn has shop$/);
    assert.equal(guard.kind === "open" && guard.gap.label, undefined);
  });

  for (const [requirement, says] of [
    [{ key: "team", operator: "DoesNotExist" }, "team DoesNotExist"],
    [{ key: "guard", operator: "Exists" }, "guard"],
    [{ key: "team", operator: "In", values: ["red", "green"] }, "team in (green,red)"],
    [{ key: "team", operator: "Above" }, 'key "team": unknown operator "Above"'],
  ] as const) {
    test(`a namespace that does not meet "${says}" is left out`, () => {
      assert.match(
        judged(withExpressions(requirement)),
        new RegExp(`namespaceSelector: ${says.replaceAll(/[()]/g, ".")}$`),
      );
    });
  }

  test("labels count as expressions do, and an absent selector selects all", () => {
    const labelled = changed((fields) => ({ ...fields, namespaceSelector: { matchLabels: { guard: "on" } } }));
    assert.match(judged(labelled), /namespaceSelector: guard in \(on\)$/);
    assert.equal(judged(changed((fields) => ({ ...fields, namespaceSelector: undefined }))), "guarded");
  });
});

describe("entries that are changed", () => {
  test("an entry that is missing leaves its requests out: all of them, or those that only few ask for", () => {
    assert.match(judged(own.slice(1)), /^open: DELETE pods: podseidon.kubewharf.io is not there$/);
    assert.equal(
      judged(own.slice(0, 1)),
      [
        "guarded",
        "DELETE pods: scheduler.podseidon.kubewharf.io is not there",
        "CREATE pods/eviction: scheduler.podseidon.kubewharf.io is not there",
        "UPDATE pods/status: pod-garbage-collection.podseidon.kubewharf.io is not there",
      ].join("; "),
    );
  });

  for (const [rule, says] of [
    [{ operations: ["CREATE"], resources: ["pods/eviction"] }, 'DELETE pods: rules[0].operations is ["CREATE"]'],
    [{ operations: ["DELETE"], resources: ["pods"] }, 'CREATE pods/eviction: rules[0].operations is ["DELETE"]'],
    [{ operations: ["*"], resources: ["*"] }, 'CREATE pods/eviction: rules[0].resources is ["*"]'],
    [{ operations: ["*"], resources: ["*/*"], scope: "Cluster" }, 'DELETE pods: rules[0].scope is "Cluster"'],
    [{ operations: ["*"], resources: ["*/*"], apiGroups: ["apps"] }, 'DELETE pods: rules[0].apiGroups is ["apps"]'],
    [{ operations: ["*"], resources: ["*/*"], apiVersions: ["v2"] }, 'DELETE pods: rules[0].apiVersions is ["v2"]'],
  ] as const) {
    test(`rules that are narrowed do not ask: ${says}`, () => {
      const all = { apiGroups: [""], apiVersions: ["v1"], ...rule };
      const narrowed = changed((fields, index) => (index === 0 ? { ...fields, rules: [all] } : fields));
      assert.equal(
        judged(narrowed),
        `open: ${says.replace(/^([^:]+): /, "$1: podseidon.kubewharf.io does not ask about $1: ")}`,
      );
    });
  }

  test("an entry without rules asks about nothing", () => {
    assert.match(judged(changed((fields) => ({ ...fields, rules: [] }))), /DELETE pods: it has no rules$/);
  });

  for (const rule of [
    { apiGroups: ["*"], apiVersions: ["*"], operations: ["*"], resources: ["*/*"] },
    { apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["pods/*"], scope: "*" },
  ]) {
    test(`rules that are wider ask as well: ${rule.resources.join()}`, () => {
      assert.equal(judged(changed((fields) => ({ ...fields, rules: [rule] }))), "guarded");
    });
  }

  test("a condition less sends more, also without the entry for preemption", () => {
    const without = changed((fields) => ({ ...fields, matchConditions: undefined }));
    assert.equal(judged(without), "guarded");
    assert.equal(judged([without[0]!, without[2]!]), "guarded");
  });

  test("a condition of others, or an objectSelector, is not judged, and never taken for guarded", () => {
    const only = { name: "only-one", expression: "request.name == 'podseidon-update-trigger'" };
    const conditions = changed((fields) => ({
      ...fields,
      matchConditions: [...asList(fields["matchConditions"]), only],
    }));
    assert.equal(
      judged(conditions),
      "unjudged: DELETE pods: podseidon.kubewharf.io has the matchCondition only-one, which this release does not know",
    );
    const selector = { matchLabels: { app: "dummy" } };
    assert.match(
      judged(changed((fields) => ({ ...fields, objectSelector: selector }))),
      /^unjudged: DELETE pods: podseidon.kubewharf.io has an objectSelector/,
    );
    assert.equal(judged(changed((fields) => ({ ...fields, objectSelector: {} }))), "guarded");
  });

  test("a condition whose lines are broken elsewhere is the same, one that keeps its name is not", () => {
    const edited = (change: (expression: string) => string): readonly WebhookEntry[] =>
      changed((fields) => ({
        ...fields,
        matchConditions: asList(fields["matchConditions"])
          .map(fieldsOf)
          .map((one) => ({ ...one, expression: change(String(one["expression"])) })),
      }));
    assert.equal(judged(edited((expression) => `${expression.replaceAll(" ", "\n  ")}\n`)), "guarded");
    assert.match(judged(edited((expression) => `${expression} && false`)), /^unjudged: .* not-by-the-scheduler/);
  });

  test("the entry for preemption does not stand in for the first one", () => {
    const renamed = own.slice(1).map(({ configuration, fields }) => {
      return { configuration, fields: { ...fields, name: "podseidon.kubewharf.io", failurePolicy: "Fail" } };
    });
    assert.match(judged(renamed), /^open: DELETE pods: podseidon.kubewharf.io is not there/);
  });

  test("a further entry that is right is enough, whatever another one leaves out", () => {
    assert.equal(judged([...withExpressions({ key: "team", operator: "DoesNotExist" }), ...own]), "guarded");
  });
});

describe("addresses", () => {
  const elsewhere = { clientConfig: { url: "https://other.example.com/default" } };

  test("an entry of our name that calls another address than the one that answered guards nothing", () => {
    const proven = addressesFor(own, { name: "dummy", labels: { [name]: "dummy" } });
    assert.deepEqual([...proven], ["https://podseidon-webhook.podseidon-system.svc/default"]);
    assert.equal(judged(own, shop, proven), "guarded");
    assert.equal(
      judged(
        changed((fields) => ({ ...fields, ...elsewhere })),
        shop,
        proven,
      ),
      `open: DELETE pods: podseidon.kubewharf.io calls ${elsewhere.clientConfig.url}, which is not known to be ours`,
    );
  });

  test("where no address is known to be ours, all are taken for it", () => {
    assert.equal(judged(changed((fields) => ({ ...fields, ...elsewhere }))), "guarded");
  });

  test("a Service is called by its name, port and path", () => {
    const service = { name: "a", namespace: "b" };
    assert.equal(addressOf({ service: { ...service, port: 443 } }), "https://a.b.svc/");
    assert.equal(addressOf({ service: { ...service, port: 8443, path: "/c" } }), "https://a.b.svc:8443/c");
    assert.equal(addressOf({ url: 1 }), "");
  });
});
