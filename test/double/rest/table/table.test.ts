import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestCluster, podBody, refusal } from "../../cluster.ts";
import { type Engine } from "../../engine/engine.ts";
import { systemAdmin } from "../../engine/engine.ts";
import { type JsonObject } from "../../engine/object.ts";
import { builtInResources as types } from "../../engine/resources.ts";
import { permissivePodProtectorCrd } from "../../pod-protector-crd.ts";
import { handleRest } from "../rest.ts";
import { ageOf } from "./human-duration.ts";
import { compileJsonPath } from "./json-path.ts";

const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

async function tableOf(engine: Engine, path: string): Promise<{ rows: { cells: unknown[] }[] }> {
  const request = { method: "GET", path, query: new URLSearchParams(), contentType: "", body: undefined };
  const answer = await handleRest(engine, undefined, { ...request, caller: systemAdmin, userAgent: "test", accept });
  assert.ok(answer.kind === "json" && answer.code === 200, JSON.stringify(answer));
  return JSON.parse(answer.text) as { rows: { cells: unknown[] }[] };
}

test("ages are coarser the longer they are", () => {
  const second = 1;
  const minute = 60 * second;
  const hour = 60 * minute;
  const day = 24 * hour;
  const expected: readonly (readonly [number, string])[] = [
    [-5, "<invalid>"],
    [-1, "0s"],
    [0, "0s"],
    [119, "119s"],
    [2 * minute, "2m"],
    [3 * minute + 10, "3m10s"],
    [10 * minute + 59, "10m"],
    [179 * minute, "179m"],
    [3 * hour, "3h"],
    [7 * hour + 59 * minute, "7h59m"],
    [47 * hour, "47h"],
    [2 * day, "2d"],
    [3 * day + 5 * hour, "3d5h"],
    [400 * day, "400d"],
    [800 * day, "2y70d"],
    [3000 * day, "8y"],
  ];
  const nowMs = Date.UTC(2026, 0, 1);
  for (const [seconds, text] of expected) {
    assert.equal(ageOf(new Date(nowMs - seconds * 1000).toISOString(), nowMs), text);
  }
  assert.equal(ageOf(undefined, nowMs), "<unknown>");
});

test("a JSON path reads fields, items, dotted names and items by a field", () => {
  const value = {
    a: {
      b: [
        { type: "X", v: 1 },
        { type: "Y", v: 2 },
      ],
      "c.d/e": 3,
    },
  };
  assert.equal(compileJsonPath(".a.b[1].v")(value), 2);
  assert.equal(compileJsonPath(".a.c\\.d/e")(value), 3);
  assert.equal(compileJsonPath('.a.b[?(@.type=="Y")].v')(value), 2);
  assert.equal(compileJsonPath(".a.absent.v")(value), undefined);
  assert.throws(() => compileJsonPath(".a[*].b"), refusal(501, "the JSON path [*].b"));
});

test("the age in a table grows with the engine's clock", async () => {
  const { engine, clock } = await createTestCluster();
  await engine.create(types.pods, "default", podBody("a"));
  await clock.advance(90_000);
  const { rows } = await tableOf(engine, "/api/v1/namespaces/default/pods");
  assert.deepEqual(rows[0]?.cells.slice(0, 5), ["a", "0/1", "Pending", "0", "90s"]);
});

test("a custom resource without columns of its own has a name and an age", async () => {
  const { engine } = await createTestCluster();
  const type = await engine.installCrd(permissivePodProtectorCrd());
  const body: JsonObject = {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "a" },
  };
  await engine.create(type, "default", body);
  const { rows } = await tableOf(engine, "/apis/podseidon.kubewharf.io/v1alpha1/podprotectors");
  assert.deepEqual(rows[0]?.cells, ["a", "0s"]);
});
