/** The oracle of modes, by the examples of docs/generator.md#modes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type KubeObject } from "../../../double/engine/object.ts";
import { Modes } from "./modes.ts";

const prefix = "podseidon.kubewharf.io/mode";
const metadata = { uid: "u", resourceVersion: "1", creationTimestamp: "" };
const namespace = (mode?: string): KubeObject => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { ...metadata, name: "shop", ...(mode !== undefined && { labels: { [prefix]: mode } }) },
});
const protector = (mode?: string): KubeObject => ({
  apiVersion: "podseidon.kubewharf.io/v1alpha1",
  kind: "PodProtector",
  metadata: { ...metadata, name: "web", ...(mode !== undefined && { annotations: { [prefix]: mode } }) },
});
const key = "shop/deployment-web";

test("a PodProtector may be in each mode that its namespace has been in lately, and in no other", () => {
  const modes = new Modes();
  assert.equal(modes.wrongWith(key, protector()), undefined);
  assert.equal(modes.wrongWith(key, protector("shadow")), "shadow, not enforced");
  assert.equal(modes.labelled(namespace("shadow"), 1_000), true);
  assert.equal(modes.labelled(namespace("shadow"), 2_000), false);
  assert.equal(modes.wrongWith(key, protector()), "enforced, not shadow");
  assert.equal(modes.wrongWith(key, protector(), 1_000), undefined);
  assert.equal(modes.wrongWith(key, protector(), 1_001), "enforced, not shadow");
  modes.labelled(namespace("off"), 3_000);
  assert.deepEqual([modes.isOff("shop"), modes.isOff("shop", 3_000), modes.isOff("shop", 3_001)], [true, false, true]);
  modes.labelled(namespace(), 4_000);
  assert.deepEqual(
    [modes.isOff("shop"), modes.wasOff("shop", 4_000), modes.wasOff("shop", 4_001)],
    [false, true, false],
  );
});

test("where the label cannot be read, what was before holds, or the default", () => {
  const modes = new Modes();
  modes.labelled(namespace("shadow"), 1_000);
  assert.equal(modes.labelled(namespace("Enforced"), 2_000), true);
  assert.equal(modes.wrongWith(key, protector("shadow")), undefined);
  assert.equal(modes.wrongWith(key, protector()), undefined);
  assert.equal(modes.isOff("shop"), false);
});
