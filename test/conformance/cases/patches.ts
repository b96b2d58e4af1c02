/** Merge patches and JSON patches. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { compareVersions, meta, versionOf } from "../thing.ts";

const merge = theme("merge patch", {
  "sets what it names and keeps the rest": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", { k: "1", l: "2" }));
    assert.deepEqual(ok(await configMaps.merge("a", { data: { k: "3" } }), 200).data, { k: "3", l: "2" });
  },
  "removes what it sets to null": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", { k: "1", l: "2" }));
    assert.deepEqual(ok(await configMaps.merge("a", { data: { k: null } })).data, { l: "2" });
  },
  "replaces lists": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", {}, { finalizers: ["a.b/c", "a.b/d"] }));
    const patched = ok(await configMaps.merge("a", { metadata: { finalizers: ["a.b/e"] } }));
    assert.deepEqual(meta(patched).finalizers, ["a.b/e"]);
  },
  "that changes nothing keeps the version": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", { k: "1" }));
    for (const patch of [{}, { data: { k: "1" } }, { data: { absent: null } }]) {
      assert.equal(versionOf(ok(await configMaps.merge("a", patch))), versionOf(created), JSON.stringify(patch));
    }
  },
  "with an old resourceVersion is a conflict": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    await configMaps.merge("a", { data: { k: "1" } });
    const patch = { metadata: { resourceVersion: versionOf(created) }, data: { k: "2" } };
    refused(
      await configMaps.merge("a", patch),
      409,
      "Conflict",
      /^Operation cannot be fulfilled on configmaps "a": the object has been modified/,
    );
  },
  "with the present resourceVersion is committed": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const patch = { metadata: { resourceVersion: versionOf(created) }, data: { k: "2" } };
    assert.deepEqual(ok(await configMaps.merge("a", patch)).data, { k: "2" });
  },
  "with another UID is refused: that is a field nobody may change": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const answer = await configMaps.merge("a", { metadata: { uid: "zzz" } });
    refused(answer, 422, "Invalid", 'ConfigMap "a" is invalid: metadata.uid: Invalid value: "zzz": field is immutable');
  },
  "with another name is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const message = "the name of the object (b) does not match the name on the URL (a)";
    refused(await configMaps.merge("a", { metadata: { name: "b" } }), 400, "BadRequest", message);
  },
  "with another namespace is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const answer = await configMaps.merge("a", { metadata: { namespace: "default" } });
    refused(
      answer,
      400,
      "BadRequest",
      "the namespace of the provided object does not match the namespace sent on the request",
    );
  },
  "of a name that is not there is refused": async (t) => {
    const { configMaps } = await t.space();
    refused(await configMaps.merge("a", {}), 404, "NotFound", 'configmaps "a" not found');
  },
  "that is a list is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    assert.equal((await configMaps.merge("a", [])).code, 400);
  },
  "that is no JSON is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    assert.equal((await configMaps.merge("a", "{")).code, 400);
  },
  "of eight writers at once loses none": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
    // The server itself repeats a patch without a version, five times at most.
    const send = async (key: string): Promise<void> => {
      for (let attempt = 0; attempt < 10; attempt++) {
        const answer = await configMaps.merge("a", { data: { [key]: "1" } });
        if (answer.code === 200) return;
        refused(answer, 409, "Conflict", /the object has been modified/);
      }
      throw new Error(`${key} never got through`);
    };
    await Promise.all(keys.map(send));
    assert.deepEqual(Object.keys((await configMaps.read("a")).data ?? {}), keys);
  },
  "cannot change the creation time": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    const metadata = { creationTimestamp: "2001-01-01T00:00:00Z" };
    const patched = ok(await configMaps.merge("a", { metadata, data: { k: "1" } }));
    assert.equal(meta(patched).creationTimestamp, meta(created).creationTimestamp);
  },
  "cannot set a deletion time or a grace period": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const time = "2001-01-01T00:00:00Z";
    const answer = await configMaps.merge("a", { metadata: { deletionTimestamp: time } });
    refused(
      answer,
      422,
      "Invalid",
      `ConfigMap "a" is invalid: metadata.deletionTimestamp: Invalid value: "${time}": field is immutable`,
    );
    const message =
      'ConfigMap "a" is invalid: metadata.deletionGracePeriodSeconds: Invalid value: 4: field is immutable';
    refused(await configMaps.merge("a", { metadata: { deletionGracePeriodSeconds: 4 } }), 422, "Invalid", message);
  },
});

const json = theme("JSON patch", {
  "adds, replaces and removes": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", { k: "1", l: "2" }));
    const patched = ok(
      await configMaps.jsonPatch("a", [
        { op: "replace", path: "/data/k", value: "3" },
        { op: "remove", path: "/data/l" },
        { op: "add", path: "/data/m", value: "4" },
      ]),
      200,
    );
    assert.deepEqual(patched.data, { k: "3", m: "4" });
  },
  "whose test holds is applied": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", { k: "1" }));
    const patch = [
      { op: "test", path: "/metadata/resourceVersion", value: versionOf(created) },
      { op: "replace", path: "/data/k", value: "2" },
    ];
    assert.deepEqual(ok(await configMaps.jsonPatch("a", patch)).data, { k: "2" });
  },
  "whose test fails changes nothing": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", { k: "1" }));
    const patch = [
      { op: "replace", path: "/data/k", value: "2" },
      { op: "test", path: "/data/k", value: "9" },
    ];
    refused(
      await configMaps.jsonPatch("a", patch),
      422,
      "Invalid",
      "the server rejected our request due to an error in our request",
    );
    assert.deepEqual((await configMaps.read("a")).data, { k: "1" });
  },
  "that removes what is not there is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", { k: "1" }));
    const answer = await configMaps.jsonPatch("a", [{ op: "remove", path: "/data/absent" }]);
    refused(answer, 422, "Invalid", "the server rejected our request due to an error in our request");
  },
  "writes annotations with slashes in their keys": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", {}, { annotations: { a: "1" } }));
    const patched = ok(
      await configMaps.jsonPatch("a", [{ op: "add", path: "/metadata/annotations/a.b~1c", value: "2" }]),
    );
    assert.deepEqual(meta(patched).annotations, { a: "1", "a.b/c": "2" });
  },
  "that is no list is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    assert.equal((await configMaps.jsonPatch("a", {})).code, 400);
  },
  "raises the version": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a", { k: "1" }));
    const patched = ok(await configMaps.jsonPatch("a", [{ op: "replace", path: "/data/k", value: "2" }]));
    assert.ok(compareVersions(versionOf(created), versionOf(patched)) < 0);
  },
});

const types = theme("patch type", {
  "that does not exist is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    const answer = await configMaps.request("PATCH", "a", { body: {}, contentType: "application/json" });
    refused(answer, 415, "UnsupportedMediaType", "415: Unsupported Media Type");
  },
  "that does not exist is refused for a custom resource with those that do": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const answer = await protectors.request("PATCH", "a", { body: "x", contentType: "text/plain" });
    refused(
      answer,
      415,
      "UnsupportedMediaType",
      new RegExp(
        String.raw`^the body of the request was in an unknown format - accepted media types include: ` +
          String.raw`application\/json-patch\+json, application\/merge-patch\+json`,
      ),
    );
  },
  "strategic is refused for a custom resource": async (t) => {
    const protectors = (await t.space()).of("podprotectors");
    await protectors.create(bodies.podProtector("a"));
    const answer = await protectors.request("PATCH", "a", {
      body: {},
      contentType: "application/strategic-merge-patch+json",
    });
    refused(
      answer,
      415,
      "UnsupportedMediaType",
      new RegExp(
        String.raw`^the body of the request was in an unknown format - accepted media types include: ` +
          String.raw`application\/json-patch\+json, application\/merge-patch\+json`,
      ),
    );
  },
});

export const patchCases = [...merge, ...json, ...types];
