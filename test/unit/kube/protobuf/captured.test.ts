import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { compareExchange, type Exchange } from "./exchange.ts";

const text = readFileSync(new URL("captured.json", import.meta.url), "utf8");
const { kubernetesVersion, exchanges } = JSON.parse(text) as {
  readonly kubernetesVersion: string;
  readonly exchanges: readonly Exchange[];
};

for (const exchange of exchanges) {
  test(`${exchange.name} from Kubernetes ${kubernetesVersion} is decoded field by field as its JSON`, async () => {
    assert.ok((await compareExchange(exchange)) >= 1 || exchange.name === "an empty list");
  });
}

const fields =
  "name namespace uid resourceVersion creationTimestamp deletionTimestamp deletionGracePeriodSeconds labels " +
  "managedFields continue phase conditions lastTransitionTime podseidon.kubewharf.io/update-trigger-time " +
  "k8s.io/initial-events-end message reason code causes retryAfterSeconds";

test("every field that is in use has a value in some capture", () => {
  const json = JSON.stringify(exchanges.map((exchange) => exchange.json));
  for (const field of fields.split(" ")) {
    assert.ok(json.includes(`"${field}":`), field);
  }
  for (const value of [
    '"BOOKMARK"',
    '"ERROR"',
    '"DELETED"',
    '"deletionGracePeriodSeconds":0',
    '"deletionGracePeriodSeconds":30',
  ]) {
    assert.ok(json.includes(value), value);
  }
});
