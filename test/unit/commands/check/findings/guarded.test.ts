import assert from "node:assert/strict";
import { test } from "node:test";
import { type Labels } from "../../../../../src/api/pod.ts";
import { annotations } from "../../../../../src/api/v1alpha1/names.ts";
import { type WorkerFacts } from "../../../../../src/commands/check/facts.ts";
import { guardedFindings } from "../../../../../src/commands/check/findings/guarded.ts";
import { core, deployment, entries, protector, type ProtectorOptions, read, unread, worker } from "../sound-facts.ts";

const url = "https://podseidon.example.com/worker-1";
const name = "kubernetes.io/metadata.name";
const aks = [{ key: "control-plane", operator: "NotIn", values: ["true"] }];
const byAks = { fields: { namespaceSelector: { matchExpressions: aks } } };

function labelled(labels: Readonly<Record<string, Labels>>): WorkerFacts["namespaces"] {
  return read(new Map(Object.entries(labels).map(([key, own]) => [key, { [name]: key, ...own }])));
}

function found(
  fields: Partial<WorkerFacts>,
  protectors: readonly (readonly [string, ProtectorOptions?])[] = [["api"]],
): readonly string[] {
  const valid = protectors.map(([key, options]) => protector(key, options));
  const cores = [core({ protectors: read({ valid, invalid: [] }) })];
  return guardedFindings(worker("worker-1", fields), cores, ["worker-1"]).map(({ level, text, cure, command }) =>
    [`${level} ${text}`, ...(cure === undefined ? [] : [cure]), ...(command === undefined ? [] : [command])].join("\n"),
  );
}

const inNamespace = (namespace: string): ProtectorOptions => ({ metadata: { namespace } });
const excluded = { namespaces: labelled({ shop: { "control-plane": "true" }, pay: { "control-plane": "true" } }) };

test("a namespace that is guarded is in order", () => {
  assert.deepEqual(found({}), ["ok deletions and evictions in 1 namespace with PodProtectors are sent"]);
});

test("namespaces that one line leaves out are one failure, with the command that mends it", () => {
  const protectors = [["api"], ["web"], ["till", inNamespace("pay")]] as const;
  assert.deepEqual(found({ ...excluded, entries: read(entries(url, byAks)) }, protectors), [
    [
      "fail not guarded: pay, shop, where DELETE pods is not sent: entry podseidon.kubewharf.io of webhook " +
        "configuration podseidon leaves it out by namespaceSelector: control-plane NotIn has true",
      "take the label off, or that expression out of all entries; AKS adds it, unless the configuration has the " +
        "label admissions.enforcer/disabled=true",
      "kubectl label namespace pay shop control-plane-",
    ].join("\n"),
  ]);
});

test("a namespace in the list of those that are left out is a failure, with the configuration to edit", () => {
  const left = { matchExpressions: [{ key: name, operator: "NotIn", values: ["kube-system", "shop"] }] };
  const [finding = ""] = found({ entries: read(entries(url, { fields: { namespaceSelector: left } })) });
  assert.match(finding, /^fail not guarded: shop, .* namespaceSelector: kubernetes.io\/metadata.name NotIn has shop\n/);
  assert.match(finding, /\nkubectl edit validatingwebhookconfiguration podseidon$/);
});

test("namespaces without a floor, of other clusters, or with released PodProtectors are not looked at", () => {
  const given = { ...excluded, entries: read(entries(url, byAks)) };
  assert.deepEqual(found(given, []), []);
  assert.deepEqual(found(given, [["api", inNamespace("elsewhere")]]), []);
  assert.deepEqual(found(given, [["api", { metadata: { annotations: { [annotations.released]: "true" } } }]]), []);
  assert.deepEqual(found(given, [["api", { minAvailable: 0 }]]), []);
});

test("where cells are namespaces, pods of others are nobody's by choice", () => {
  const flags = new Map([["worker-kube-target-namespace", "pay"]]);
  const deployments = read([deployment("aggregator", { flags })]);
  assert.deepEqual(found({ ...excluded, entries: read(entries(url, byAks)), deployments }), []);
  const both = read([deployment("aggregator", { flags }), deployment("aggregator")]);
  assert.equal(found({ ...excluded, entries: read(entries(url, byAks)), deployments: both }).length, 1);
});

test("what cannot be judged, and preemption that is not sent, are warnings", () => {
  const matchConditions = [{ name: "mine", expression: "true" }];
  assert.match(
    found({ entries: read(entries(url, { fields: { matchConditions } })) })[0] ?? "",
    /^warn not known to be guarded: shop: .* has the matchCondition mine, which this release does not know\n/,
  );
  const missing = found({ entries: read(entries(url).filter((_, index) => index !== 1)) });
  assert.match(missing[0] ?? "", /^warn guarded in part: shop, .*scheduler.podseidon.kubewharf.io .* is not there\n/);
  assert.equal(missing.length, 1);
});

test("an entry that calls another address than the one that has answered is a failure", () => {
  const other = "https://other.example.com/worker-1";
  // The dummy pod's namespace is asked about by the further entry alone.
  const [first, ...rest] = entries(url);
  const selector = { matchLabels: { [name]: "podseidon-update-trigger" } };
  const dummy = { ...first!, fields: { ...first!.fields, namespaceSelector: selector } };
  const namespaces = labelled({ shop: {}, "podseidon-update-trigger": {} });
  const elsewhere = entries(other, {
    fields: { namespaceSelector: { matchLabels: { [name]: "shop" } }, clientConfig: { url: other } },
  });
  const [finding = ""] = found({ namespaces, entries: read([dummy, elsewhere[0]!, ...rest]) });
  assert.match(finding, /^fail not guarded: shop, .* calls https:\/\/other.example.com\/worker-1, which is not known/);
});

test("what cannot be read is not checked, and a configuration that is not there is a finding of its own", () => {
  assert.deepEqual(found({ namespaces: unread }), [
    "unchecked which namespaces are guarded: not checked, you may not look",
  ]);
  assert.deepEqual(guardedFindings(worker("worker-1"), [core({ protectors: unread })], []).length, 1);
  assert.deepEqual(found({ entries: read([]) }), []);
  assert.deepEqual(found({ entries: unread }), []);
});
