/** The server as such: methods, discovery. */
import assert from "node:assert/strict";
import { bodies, podProtectorApi } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";

const method = "the server does not allow this method on the requested resource";

const paths = theme("path", {
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

export const serverCases = [...paths, ...discovery];
