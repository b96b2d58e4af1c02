import assert from "node:assert/strict";
import { test } from "node:test";
import { KubeError } from "../../../src/kube/kube-client.ts";
import { type Informer, type InformerHandler } from "../../../src/kube/informer.ts";
import { compileSelector } from "../../../src/label-index/index.ts";
import { type KindMapping } from "../../../src/scale/discovery.ts";
import { controllerOf, type OwnerObject, OwnerObjects } from "../../../src/scale/owner-objects.ts";
import { createOwners } from "./owners.ts";

const resource = { group: "example.com", version: "v1", resource: "databases" };
const mapping: KindMapping = { resource, kind: "Database", isNamespaced: true, hasScale: true };

test("the controller is the owner that says so, with all its parts", () => {
  const owner = { apiVersion: "v1", kind: "Pod", name: "a", uid: "u" };
  assert.deepEqual(controllerOf([owner, { ...owner, name: "b", controller: true }])?.name, "b");
  for (const odd of [undefined, "x", [owner], [{ ...owner, uid: "", controller: true }], [{ controller: true }]])
    assert.equal(controllerOf(odd), undefined);
});

test("objects of a kind are listed once, and followed from then on", async (t) => {
  const { client, options, answer, createDatabase, clock } = await createOwners(t);
  await createDatabase("one", 1);
  const read = (name: string) => answer(options.objects.read(mapping, "default", name));
  assert.equal((await read("one")).kind, "present");
  assert.equal((await read("two")).kind, "missing");
  await createDatabase("two", 1);
  await clock.advance(1_000);
  assert.equal((await read("two")).kind, "present");
  assert.equal(client.count(/databases\//), 0);
});

test("a kind that cannot be listed is told apart from one that has no such object", async (t) => {
  const { client, options, answer } = await createOwners(t);
  client.onRequest = () => new KubeError("forbidden", "403");
  const refused = await answer(options.objects.read(mapping, "default", "one"));
  assert.partialDeepStrictEqual(refused, { kind: "unlisted", isForbidden: true });
  client.onRequest = () => new KubeError("timeout", "slow");
  const other = { ...mapping, resource: { ...resource, resource: "others" } };
  const late = await answer(options.objects.read(other, "default", "one"));
  assert.partialDeepStrictEqual(late, { kind: "unlisted", isForbidden: false });
});

test("references to any number of kinds cost a limited number of watches", async (t) => {
  const { client, options, answer } = await createOwners(t);
  const read = (index: number) =>
    options.objects.read({ ...mapping, resource: { ...resource, resource: `kind${index}` } }, "default", "a");
  const answers = await answer(Promise.all(Array.from({ length: 150 }, (_, index) => read(index))));
  assert.equal(answers.filter((one) => one.kind === "unlisted" && /more than 100/.test(one.text)).length, 50);
  assert.equal(new Set(client.log.map((line) => line.split("/").at(-1))).size, 100);
});

test("a kind that cannot be listed gives its place to another one, one in ten seconds", async (t) => {
  const { client, options, answer, createDatabase, clock } = await createOwners(t);
  await createDatabase("one", 1);
  const read = (name: string) =>
    options.objects.read({ ...mapping, resource: { ...resource, resource: name } }, "default", "one");
  client.onRequest = () => new KubeError("forbidden", "403");
  await answer(Promise.all(Array.from({ length: 100 }, (_, index) => read(`kind${index}`))));
  client.onRequest = () => undefined;
  const [first, second] = await answer(Promise.all([read("databases"), read("others")]));
  assert.equal(first.kind, "present");
  assert.partialDeepStrictEqual(second, { text: "pods have owners of more than 100 kinds" });
  await clock.advance(10_000);
  assert.doesNotMatch(JSON.stringify(await answer(read("others"))), /more than 100/);
  assert.equal((await answer(read("databases"))).kind, "present", "one that is listed keeps its place");
});

test("each change is told, with the labels of the pod template and who wrote the replicas", async (t) => {
  const told: string[] = [];
  const { options, answer, createDeployment, patchDeployment, clock } = await createOwners(t, {
    onChange: (_, change) => {
      const { object, previous } = change ?? {};
      if (change === undefined) told.push("listed");
      else told.push(`${previous?.replicas}>${object?.replicas} ${JSON.stringify(object?.podLabels)}`);
    },
  });
  const deployments = { resource: { group: "apps", version: "v1", resource: "deployments" }, kind: "Deployment" };
  const kind = { ...deployments, isNamespaced: true, hasScale: true };
  assert.equal(await answer(options.objects.follow(kind)), undefined);
  const { metadata } = await createDeployment("web");
  await clock.advance(1_000);
  await patchDeployment("web", { spec: { replicas: 3 } });
  await clock.advance(1_000);
  const found = await answer(options.objects.read(kind, "default", "web"));
  assert.ok(found.kind === "present" && found.object.replicasWriter !== undefined && !found.object.isEnding);
  assert.equal(options.objects.former(metadata.uid), undefined);
  const labels = '{"app":"web"}';
  assert.deepEqual(told, ["listed", `undefined>10 ${labels}`, `10>3 ${labels}`]);
});

test("a selector looks only at what is in its namespace", async (t) => {
  let tell: InformerHandler<OwnerObject> | undefined;
  const store = new Map<string, OwnerObject>();
  const looked: string[] = [];
  const informer = {
    get(key: string) {
      looked.push(key);
      return store.get(key);
    },
    values: () => assert.fail("all objects of the core"),
    hasSynced: () => true,
    subscribe: (handler: InformerHandler<OwnerObject>) => void (tell = handler),
    run: async () => tell?.onListed?.(true, undefined),
  } as unknown as Informer<OwnerObject>;
  const { clock } = await createOwners(t);
  const objects = new OwnerObjects({ create: () => informer, clock, signal: new AbortController().signal });
  await objects.follow(mapping);
  const object = (namespace: string, name: string) =>
    ({ namespace, name, key: `${namespace}/${name}`, labels: { app: name }, uid: name }) as unknown as OwnerObject;
  const all = [object("shop", "a"), object("shop", "b"), object("bank", "a")];
  for (const one of all) {
    store.set(one.key, one);
    tell?.onEvent({ type: "added", object: one });
  }
  const compiled = compileSelector({ matchLabels: { app: "a" } });
  assert.ok(compiled.ok);
  const selected = async () => {
    looked.length = 0;
    const found = await objects.select(mapping, "shop", compiled.selector);
    assert.ok(!("kind" in found));
    return found.map(({ key }) => key);
  };
  assert.deepEqual([await selected(), looked], [["shop/a"], ["shop/a", "shop/b"]]);
  tell?.onEvent({ type: "deleted", object: all[0]! });
  assert.deepEqual(await selected(), ["shop/a"], "it was replaced, and the new one is there already");
  store.delete("shop/a");
  tell?.onEvent({ type: "deleted", object: all[0]! });
  assert.deepEqual([await selected(), looked], [[], ["shop/b"]]);
});
