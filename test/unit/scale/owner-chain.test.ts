import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { isBuiltIn, outermostScalable } from "../../../src/scale/owner-chain.ts";
import { controllerOf } from "../../../src/scale/owner-objects.ts";
import { builtInResources, type JsonObject } from "../../double/index.ts";
import { controlledBy, createOwners } from "./owners.ts";
import { expectedReplicas, type Owned } from "../../../src/scale/expected-replicas.ts";

type Owners = Awaited<ReturnType<typeof createOwners>>;

async function climb({ options, answer }: Owners, ownerReferences: readonly object[]): Promise<string> {
  const found = await answer(outermostScalable(controllerOf(ownerReferences)!, "default", options));
  if (found.kind === "ended") return "ended";
  return found.kind === "found" ? found.owner.object.name : `${found.kind}: ${found.text}`;
}

test("the outermost scalable owner is found, through owners that cannot be scaled", async (t) => {
  const owners = await createOwners(t);
  const top = await owners.createDatabase("top", 9);
  const middle = await owners.createPlain("middle", controlledBy(top));
  const low = await owners.createDatabase("low", 3, controlledBy(middle));
  const root = await owners.createPlain("root");
  const under = await owners.createDatabase("under", 3, controlledBy(root));
  assert.equal(await climb(owners, controlledBy(low)), "top");
  assert.equal(await climb(owners, controlledBy(under)), "under");
  assert.match(await climb(owners, controlledBy(root)), /^none: Database root has no subresource scale/);
});

test("a Deployment is found through its ReplicaSet, without discovery", async (t) => {
  const owners = await createOwners(t);
  const deployment = await owners.createDeployment("web");
  const { engine, client } = owners;
  const labels = { app: "web" };
  const replicaSet = await engine.create(builtInResources.replicaSets, "default", {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name: "web-1", namespace: "default", ownerReferences: controlledBy(deployment) },
    spec: { replicas: 10, selector: { matchLabels: labels }, template: { metadata: { labels } } },
  });
  assert.equal(await climb(owners, controlledBy(replicaSet)), "web");
  assert.equal(client.count(/^GET \/apis\/apps(\/v1)?$/), 0);
  const resource = { group: "apps", version: "v1", resource: "daemonsets" };
  assert.ok(!isBuiltIn({ resource, kind: "DaemonSet", isNamespaced: true, hasScale: false }));
});

test("an object of the name with another UID is no owner, and a missing one is none either", async (t) => {
  const owners = await createOwners(t);
  const [reference] = controlledBy(await owners.createDatabase("orders", 3));
  assert.match(await climb(owners, [{ ...reference, uid: "other" }]), /^missing: Database orders is gone, another one/);
  assert.match(await climb(owners, [{ ...reference, name: "gone" }]), /^missing: Database gone is gone$/);
  assert.match(await climb(owners, [{ ...reference, kind: "Unknown" }]), /^broken: Unknown orders is of example/);
});

test("an owner above that has been erased is no reason to take the one below", async (t) => {
  const owners = await createOwners(t);
  const top = await owners.createPlain("top");
  const low = await owners.createDatabase("low", 3, controlledBy(top));
  owners.engine.wipe(owners.plain);
  assert.match(await climb(owners, controlledBy(low)), /^missing: Database top is gone/);
});

test("a circle of owners and a chain without end lead nowhere, and end", async (t) => {
  const owners = await createOwners(t);
  const first = await owners.createDatabase("first", 3);
  const second = await owners.createDatabase("second", 3, controlledBy(first));
  const contentType = "application/merge-patch+json";
  const body = { metadata: { ownerReferences: controlledBy(second) } };
  await owners.engine.patch(owners.databases, "default", "first", { contentType, body });
  assert.match(await climb(owners, controlledBy(second)), /^broken: Database second is its own ancestor/);
  let below = await owners.createDatabase("chain", 1);
  for (let depth = 0; depth < 12; depth++)
    below = await owners.createDatabase(`chain-${depth}`, 1, controlledBy(below));
  await owners.clock.advance(1_000);
  assert.match(await climb(owners, controlledBy(below)), /^broken: there are more than 10 owners/);
});

test("an owner above that cannot be read is not passed over: another number of pods may be above it", async (t) => {
  const owners = await createOwners(t);
  const top = await owners.createPlain("top");
  const low = await owners.createDatabase("low", 3, controlledBy(top));
  owners.client.onRequest = (_, what) =>
    what.includes("plain.example.com/v1/databases") ? new KubeError("forbidden", "403") : undefined;
  assert.match(await climb(owners, controlledBy(low)), /^forbidden: Database top: .*403/);
  owners.client.onRequest = (_, what) =>
    what.includes("other.example.com") ? new KubeError("serverError", "503") : undefined;
  const [reference] = controlledBy(top);
  assert.match(await climb(owners, [{ ...reference, apiVersion: "other.example.com/v1" }]), /^notNow: 503/);
});

test("an owner that was deleted takes all below it along; one that vanished does not", async (t) => {
  const owners = await createOwners(t);
  const { engine, databases, clock } = owners;
  const keep = { metadata: { finalizers: ["example.com/keep"] } };
  const patch = (name: string, body: JsonObject) =>
    engine.patch(databases, "default", name, { contentType: "application/merge-patch+json", body });
  const top = await owners.createDatabase("top", 9);
  const low = await owners.createDatabase("low", 3, controlledBy(top));
  const other = await owners.createDatabase("other", 3);
  assert.equal(await climb(owners, controlledBy(low)), "top");
  await patch("top", keep);
  await engine.delete(databases, "default", "top");
  await clock.advance(1_000);
  assert.equal(await climb(owners, controlledBy(low)), "ended", "it has a deletionTimestamp");
  await patch("top", { metadata: { finalizers: null } });
  engine.erase(databases, "default", "low");
  await clock.advance(1_000);
  assert.equal(await climb(owners, controlledBy(low)), "ended", "both are gone by now");
  engine.erase(databases, "default", "other");
  await clock.advance(1_000);
  assert.equal(await climb(owners, controlledBy(other)), "missing: Database other is gone");
});

test("the outermost scalable owner that was deleted is at its end, whatever stands above it", async (t) => {
  const owners = await createOwners(t);
  const { engine, databases, clock } = owners;
  const root = await owners.createPlain("root");
  const under = await owners.createDatabase("under", 3, controlledBy(root));
  const low = await owners.createDatabase("low", 3, controlledBy(under));
  assert.equal(await climb(owners, controlledBy(low)), "under");
  const keep = {
    contentType: "application/merge-patch+json",
    body: { metadata: { finalizers: ["example.com/keep"] } },
  };
  await engine.patch(databases, "default", "under", keep);
  await engine.delete(databases, "default", "under");
  await clock.advance(1_000);
  assert.equal(await climb(owners, controlledBy(low)), "ended");
  await engine.patch(databases, "default", "under", { ...keep, body: { metadata: { finalizers: null } } });
  await clock.advance(1_000);
  assert.equal(await climb(owners, controlledBy(low)), "ended", "it is gone by now");
  engine.wipe(owners.plain);
  await clock.advance(60_000);
  assert.equal(await climb(owners, controlledBy(low)), "ended", "nothing above it has ever been scalable");
});

test("an owner that is deleted and leaves its pods behind is not at its end", async (t) => {
  const owners = await createOwners(t);
  const { engine, databases, clock } = owners;
  const left = await owners.createDatabase("left", 9);
  const body = { metadata: { finalizers: ["orphan"] } };
  await engine.patch(databases, "default", "left", { contentType: "application/merge-patch+json", body });
  await engine.delete(databases, "default", "left");
  await clock.advance(1_000);
  assert.equal(await climb(owners, controlledBy(left)), "left");
});

/** The replicas that pods belong to, and what asking for them costs: 10,000 pods of 500 custom owners. */
const scaleGet = /^GET .*\/scale$/;

test("10,000 pods of 500 custom owners cost 500 scale reads, and nothing when nothing has changed", async (t) => {
  const { client, createDatabase, options, signal, answer, engine, databases, clock } = await createOwners(t);
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
});

test("an outermost owner counts once, built-in ones need no scale, and bare pods count for nothing", async (t) => {
  const owners = await createOwners(t);
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
});

test("one unknown owner leaves the whole unknown, and says whether somebody has to do something", async (t) => {
  const owners = await createOwners(t);
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
});
