import assert from "node:assert/strict";
import { test } from "node:test";
import { isKubeError } from "../../../../src/kube/kube-client.ts";
import { listAll, listBarrier } from "../../../../src/kube/watch/index.ts";
import { createScriptedKubeClient } from "../scripted-kube-client.ts";

const pods = { group: "", version: "v1", resource: "pods" };

test("a barrier is a list of one object with resourceVersion unset", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({ metadata: { resourceVersion: "77", continue: "x" }, items: [{}] });
  assert.equal(await listBarrier(client, pods), "77");
  assert.equal(await listBarrier(client, pods, "team-a"), "77");
  assert.deepEqual(
    client.requests.map(({ method, path, query }) => [method, path, query]),
    [
      ["GET", "/api/v1/pods", { limit: 1 }],
      ["GET", "/api/v1/namespaces/team-a/pods", { limit: 1 }],
    ],
  );
});

test("the version of a paged list is that of its first page", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = ({ query }) =>
    query?.["continue"] === undefined
      ? { metadata: { resourceVersion: "5", continue: "c" }, items: [1, 2] }
      : { metadata: { resourceVersion: "9" }, items: [3] };
  const items: unknown[] = [];
  assert.equal(await listAll(client, { resource: pods, fieldSelector: "a=b" }, (raw) => items.push(raw)), "5");
  assert.deepEqual(items, [1, 2, 3]);
  assert.ok(
    client.requests.every(
      ({ query }) => query?.["resourceVersion"] === undefined && query?.["fieldSelector"] === "a=b",
    ),
  );
});

test("an answer that is no list is malformed", async () => {
  const client = createScriptedKubeClient();
  for (const answer of [
    null,
    7,
    {},
    { metadata: { resourceVersion: "0" }, items: [] },
    { metadata: { resourceVersion: "1" }, items: {} },
  ]) {
    client.onRequest = () => answer;
    await assert.rejects(listBarrier(client, pods), (error) => isKubeError(error, "malformed"), JSON.stringify(answer));
  }
});

test("a server that always says continue does not hold us for ever", async () => {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({ metadata: { resourceVersion: "5", continue: "again" }, items: [] });
  await assert.rejects(
    listAll(client, { resource: pods }, () => undefined),
    (error) => isKubeError(error, "malformed"),
  );
  assert.equal(client.requests.length, 10_000);
});
