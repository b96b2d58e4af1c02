import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeNamespacePolicy,
  lastKnownAllowedBy,
  type NamespacePolicy,
} from "../../../../src/webhook/outage/namespace-policy.ts";

const label = "podseidon.kubewharf.io/core-unavailable-policy";
const namespace = (name: string, value?: string) => ({
  metadata: {
    name,
    uid: `uid-${name}`,
    resourceVersion: "7",
    labels: { ...(value !== undefined && { [label]: value }) },
  },
});

function labelled(...objects: readonly object[]) {
  const decoded = objects.map((object) => decodeNamespacePolicy(object) as NamespacePolicy);
  return { get: (name: string) => decoded.find(({ key }) => key === name), hasSynced: () => true };
}

test("the policy of a namespace is read from its label", () => {
  assert.deepEqual(decodeNamespacePolicy(namespace("a", "last-known")), {
    key: "a",
    uid: "uid-a",
    resourceVersion: "7",
    policy: "last-known",
  });
  for (const value of [undefined, "", "Last-Known", "constructor"]) {
    assert.equal(decodeNamespacePolicy(namespace("a", value))?.policy, undefined);
  }
});

test("the policy of a namespace is nothing for what is no namespace", () => {
  const odd = [
    undefined,
    null,
    7,
    {},
    { metadata: { name: 7 } },
    { metadata: { ...namespace("a").metadata, resourceVersion: "x" } },
  ];
  for (const raw of odd) assert.equal(decodeNamespacePolicy(raw), undefined);
});

const refuse = new Map([["core", "refuse"]] as const);
const lastKnown = new Map([["core", "last-known"]] as const);

test("the policy of a namespace takes precedence over the flag, which holds for all others", () => {
  const namespaces = new Map([
    ["core", labelled(namespace("a", "last-known"), namespace("b", "refuse"), namespace("c", "?"))],
  ]);
  const [strict, lenient] = [lastKnownAllowedBy(refuse, namespaces), lastKnownAllowedBy(lastKnown, namespaces)];
  assert.deepEqual(
    ["a", "b", "c", "d"].map((name) => strict("core", name)),
    [true, false, false, false],
  );
  assert.deepEqual(
    ["a", "b", "c", "d"].map((name) => lenient("core", name)),
    [true, false, true, true],
  );
});

test("the policy of a namespace is refuse while its labels cannot be read, as without the right to list them", () => {
  const namespaces = new Map([["core", { get: () => undefined, hasSynced: () => false }]]);
  assert.equal(lastKnownAllowedBy(lastKnown, namespaces)("core", "a"), false);
  assert.equal(lastKnownAllowedBy(lastKnown, new Map([["core", undefined]]))("core", "a"), true);
});

test("each core has the policy that the flags give it", () => {
  const isAllowed = lastKnownAllowedBy(
    new Map([
      ["east", "last-known"],
      ["west", "refuse"],
    ]),
    new Map(),
  );
  assert.deepEqual([isAllowed("east", "a"), isAllowed("west", "a")], [true, false]);
});

test("the policy of a namespace is that of the core which takes no writes", () => {
  const isAllowed = lastKnownAllowedBy(
    new Map([
      ["east", "refuse"],
      ["west", "refuse"],
    ]),
    new Map([
      ["east", labelled(namespace("a", "last-known"))],
      ["west", undefined],
    ]),
  );
  assert.deepEqual([isAllowed("east", "a"), isAllowed("west", "a"), isAllowed("north", "a")], [true, false, false]);
});
