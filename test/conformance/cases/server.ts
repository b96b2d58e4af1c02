/** The server as such: users, paths, methods, media types, discovery. */
import assert from "node:assert/strict";
import { bodies, podProtectorApi } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";

const users = theme("user", {
  "without rights is refused with the verb, the resource and the place": async (t) => {
    const { configMaps, name } = await t.space();
    const request = (method: string, path: string) => t.target.request(method, path, { user: "stranger" });
    const cannot = (verb: string, resource: string): string =>
      `User "stranger" cannot ${verb} resource "${resource}" in API group "" in the namespace "${name}"`;
    const path = configMaps.path;
    const list = await request("GET", path);
    const status = refused(list, 403, "Forbidden", `configmaps is forbidden: ${cannot("list", "configmaps")}`);
    assert.deepEqual(status.details, { kind: "configmaps" });
    refused(
      await request("GET", `${path}/a`),
      403,
      "Forbidden",
      `configmaps "a" is forbidden: ${cannot("get", "configmaps")}`,
    );
    const all = `configmaps is forbidden: ${cannot("deletecollection", "configmaps")}`;
    refused(await request("DELETE", path), 403, "Forbidden", all);
    const anywhere =
      'pods is forbidden: User "stranger" cannot list resource "pods" in API group "" at the cluster scope';
    refused(await request("GET", "/api/v1/pods"), 403, "Forbidden", anywhere);
    refused(await request("GET", "/api/v1/pods?watch=true"), 403, "Forbidden", /cannot watch resource "pods"/);
  },
  "of an unknown token is refused as unauthorized": async (t) => {
    const answer = await t.target.request("GET", "/api/v1/pods", { user: { token: "nonsense" } });
    refused(answer, 401, "Unauthorized", "Unauthorized");
  },
  "without credentials may ask for the version and the health": async (t) => {
    assert.equal(ok(await t.target.request("GET", "/version", { user: null })).major, "1");
    const ready = await t.target.request("GET", "/readyz", { user: null });
    assert.deepEqual([ready.code, ready.text], [200, "ok"]);
  },
});

const missing = "the server could not find the requested resource";
const method = "the server does not allow this method on the requested resource";

const paths = theme("path", {
  "of a group that nobody serves is not found, in plain text": async (t) => {
    const answer = await t.target.request("GET", "/apis/nowhere.example/v1/things");
    assert.deepEqual([answer.code, answer.text], [404, "404 page not found\n"]);
  },
  "of a version, resource or subresource that does not exist is not found": async (t) => {
    const space = await t.space();
    await space.livePod("a");
    await space.configMaps.create(bodies.configMap("a"));
    const nowhere = ["/apis/apps/v7/deployments", "/apis/apps/v1/things", "/api/v1/things", "/api/v1/configmaps/a"];
    const subresources = [`${space.pods.path}/a/frob`, `${space.configMaps.path}/a/status`];
    for (const path of [...nowhere, ...subresources]) {
      refused(await t.target.request("GET", path), 404, "NotFound", missing);
    }
  },
  "does not take every method": async (t) => {
    const space = await t.space();
    const { path } = space.configMaps;
    const body = bodies.configMap("a");
    const requests = [
      ["PUT", path],
      ["POST", `${path}/a`],
      ["POST", "/api/v1/configmaps"],
      ["DELETE", `${space.of("deployments").path}/a/scale`],
    ] as const;
    for (const [verb, at] of requests) {
      refused(await t.target.request(verb, at, { body }), 405, "MethodNotAllowed", method);
    }
  },
});

const media = theme("media type", {});

const discovery = theme("discovery", {
  "lists the groups with their preferred versions": async (t) => {
    const answer = ok(await t.target.request("GET", "/apis"));
    assert.equal(answer.kind, "APIGroupList");
    const preferred = new Map((answer.groups ?? []).map((group) => [group.name, group.preferredVersion.groupVersion]));
    const expected = [
      "apps/v1",
      "coordination.k8s.io/v1",
      "policy/v1",
      "admissionregistration.k8s.io/v1",
      podProtectorApi,
    ];
    for (const groupVersion of expected) assert.equal(preferred.get(groupVersion.split("/")[0]!), groupVersion);
  },
  "describes pods, deployments and PodProtectors the same": async (t) => {
    const find = async (root: string, name: string): Promise<unknown> => {
      const { resources = [] } = ok(await t.target.request("GET", root));
      const found = resources.find((one) => one.name === name);
      return [found?.kind, found?.singularName, found?.namespaced, found?.shortNames, found?.verbs.toSorted()];
    };
    const verbs = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];
    const protectors = `/apis/${podProtectorApi}`;
    assert.deepEqual(await find("/api/v1", "pods"), ["Pod", "pod", true, ["po"], verbs]);
    assert.deepEqual(await find("/api/v1", "pods/eviction"), ["Eviction", "", true, undefined, ["create"]]);
    assert.deepEqual(await find("/apis/apps/v1", "deployments"), ["Deployment", "deployment", true, ["deploy"], verbs]);
    assert.deepEqual(await find(protectors, "podprotectors"), ["PodProtector", "podprotector", true, ["ppr"], verbs]);
    const status = ["PodProtector", "", true, undefined, ["get", "patch", "update"]];
    assert.deepEqual(await find(protectors, "podprotectors/status"), status);
  },
});

export const serverCases = [...users, ...paths, ...media, ...discovery];
