/** The replicas that pods belong to, and what asking for them costs: 10,000 pods of 500 custom owners. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { expectedReplicas, type Owned } from "../../../src/scale/expected-replicas.ts";
import { controlledBy, createOwners } from "./owners.ts";

const scaleGet = /^GET .*\/scale$/;

test("10,000 pods of 500 custom owners cost 500 scale reads, and nothing when nothing has changed", async () => {
  const { client, createDatabase, options, signal, answer, engine, databases, clock, stop } = await createOwners();
  const pods: Owned[] = [];
  for (let index = 0; index < 500; index++) {
    const ownerReferences = controlledBy(await createDatabase(`db-${index}`, 20));
    for (let pod = 0; pod < 20; pod++) pods.push({ ownerReferences });
  }
  const ask = () => answer(expectedReplicas("default", pods, options, signal));
  assert.partialDeepStrictEqual(await ask(), { kind: "known", replicas: 10_000 });
  assert.equal(client.count(scaleGet), 500);
  assert.ok(client.log.length - 500 <= 5, `discovery, one list and one watch: ${client.log.length - 500}`);
  const after = client.log.length;
  assert.partialDeepStrictEqual(await ask(), { kind: "known", replicas: 10_000 });
  assert.equal(client.log.length, after, "an unchanged reconcile costs none");
  const contentType = "application/merge-patch+json";
  await engine.patch(databases, "default", "db-7", { contentType, body: { spec: { members: 30 } } });
  await clock.advance(1_000);
  assert.partialDeepStrictEqual(await ask(), { kind: "known", replicas: 10_010 });
  assert.equal(client.count(scaleGet), 501);
  await stop();
});

test("an outermost owner counts once, built-in ones need no scale, and bare pods count for nothing", async () => {
  const owners = await createOwners();
  const top = await owners.createDatabase("top", 9);
  const [one, two] = [
    await owners.createDatabase("one", 3, controlledBy(top)),
    await owners.createDatabase("two", 3, controlledBy(top)),
  ];
  const deployment = await owners.createDeployment("web");
  const pods = [one, two, deployment].map((owner) => ({ ownerReferences: controlledBy(owner) }));
  const bare = { ownerReferences: undefined };
  const asked = expectedReplicas("default", [...pods, bare], owners.options, owners.signal);
  assert.partialDeepStrictEqual(await owners.answer(asked), { kind: "known", replicas: 19 });
  assert.equal(owners.client.count(scaleGet), 1);
  const alone = expectedReplicas("default", [bare], owners.options, owners.signal);
  assert.deepEqual(await alone, { kind: "unmanaged" }, "which is not the same as no replicas");
  await owners.stop();
});

test("one unknown owner leaves the whole unknown, and says whether somebody has to do something", async () => {
  const owners = await createOwners();
  const pods: Owned[] = [];
  for (const name of ["one", "two"]) pods.push({ ownerReferences: controlledBy(await owners.createDatabase(name, 3)) });
  const ask = async (error: KubeError) => {
    owners.client.onRequest = (_, what) => (what.endsWith("two/scale") ? error : undefined);
    const answer = await owners.answer(expectedReplicas("default", pods, owners.options, owners.signal));
    return answer.kind;
  };
  assert.equal(await ask(new KubeError("forbidden", "403")), "lasting");
  assert.equal(await ask(new KubeError("timeout", "slow")), "notNow");
  owners.client.onRequest = () => undefined;
  const plain = await owners.createPlain("plain");
  const asked = expectedReplicas(
    "default",
    [...pods, { ownerReferences: controlledBy(plain) }],
    owners.options,
    owners.signal,
  );
  assert.partialDeepStrictEqual(await owners.answer(asked), { kind: "lasting" });
  await owners.stop();
});
