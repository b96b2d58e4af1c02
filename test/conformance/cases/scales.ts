/** The scale subresource of custom resources: a view through the paths that their definition names. */
import assert from "node:assert/strict";
import { scaledCrd, type ScaledCrdOptions } from "../../double/scaled-crd.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { Collection, eventually, type Scope } from "../scope.ts";
import { meta } from "../thing.ts";

/** Databases of a definition of their own, in a namespace of their own. */
async function databases(t: Scope, options: ScaledCrdOptions = {}): Promise<Collection> {
  const group = `${t.unique("scale")}.example.com`;
  const space = await t.space();
  const definitions = t.cluster("/apis/apiextensions.k8s.io/v1", "customresourcedefinitions");
  await definitions.create(scaledCrd({ ...options, group }));
  const collection = new Collection(t.target, `/apis/${group}/v1/namespaces/${space.name}/databases`);
  await eventually("the definition is served", async () => (await collection.list()).code === 200);
  return collection;
}

const body = (collection: Collection, spec: object): object => ({
  apiVersion: collection.path.split("/").slice(2, 4).join("/"),
  kind: "Database",
  metadata: { name: "a" },
  spec,
});

export const scaleCases = theme("scale of a custom resource", {
  "shows the fields that the definition names, and the UID of the object": async (t) => {
    const collection = await databases(t);
    const created = await collection.create(body(collection, { members: 3 }));
    ok(await collection.merge("a/status", { status: { members: 2, selector: "app=web,tier in (a,b)" } }));
    const read = ok(await collection.get("a/scale"));
    assert.deepEqual([read.kind, read.apiVersion, meta(read).uid], ["Scale", "autoscaling/v1", meta(created).uid]);
    assert.deepEqual([read.spec, read.status], [{ replicas: 3 }, { replicas: 2, selector: "app=web,tier in (a,b)" }]);
  },
  "has no selector until its controller writes one, or without a path for it": async (t) => {
    for (const labelSelectorPath of [".status.selector", undefined]) {
      const collection = await databases(t, { labelSelectorPath });
      await collection.create(body(collection, { members: 3 }));
      assert.deepEqual(ok(await collection.get("a/scale")).status, { replicas: 0 });
    }
  },
  "leaves replicas of 0 out": async (t) => {
    const collection = await databases(t);
    await collection.create(body(collection, { members: 0 }));
    assert.deepEqual(ok(await collection.get("a/scale")).spec, {});
  },
  "is an internal error where the object has no replicas": async (t) => {
    const collection = await databases(t);
    await collection.create(body(collection, { other: 1 }));
    const message = /the spec replicas field "\.spec\.members" does not exist/;
    refused(await collection.get("a/scale"), 500, "InternalError", message);
  },
  "is not found for a missing object, nor for a definition that has none": async (t) => {
    const scaled = await databases(t);
    refused(await scaled.get("a/scale"), 404, "NotFound", /"a" not found/);
    const plain = await databases(t, { hasScale: false });
    await plain.create(body(plain, { members: 3 }));
    // A busy API server was seen to name the object instead.
    const message = /could not find the requested resource|"a" not found/;
    refused(await plain.get("a/scale"), 404, "NotFound", message);
  },
  "writes the replicas of the object, and moves its generation": async (t) => {
    const collection = await databases(t);
    await collection.create(body(collection, { members: 3 }));
    assert.deepEqual(ok(await collection.merge("a/scale", { spec: { replicas: 7 } })).spec, { replicas: 7 });
    const read = await collection.read("a");
    assert.deepEqual([read.spec, meta(read).generation], [{ members: 7 }, 2]);
  },
  "is in the discovery document": async (t) => {
    const collection = await databases(t);
    const root = collection.path.split("/").slice(0, 4).join("/");
    const { resources } = ok(await t.target.request("GET", root)) as unknown as {
      resources: readonly { name: string; kind: string; group?: string; version?: string }[];
    };
    const found = resources.find(({ name }) => name === "databases/scale");
    assert.deepEqual([found?.kind, found?.group, found?.version], ["Scale", "autoscaling", "v1"]);
  },
});
