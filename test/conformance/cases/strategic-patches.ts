/** Strategic merge patches of built-in types: what kubectl patch, apply, cordon and rollout restart send. */
import assert from "node:assert/strict";
import { bodies } from "../bodies.ts";
import { theme } from "../case.ts";
import { ok, refused } from "../expect.ts";
import { type Collection, type Scope } from "../scope.ts";
import { meta, statusOf, type Thing, versionOf } from "../thing.ts";

interface Container {
  readonly name: string;
  readonly image?: string;
  readonly ports?: readonly unknown[];
  readonly env?: readonly unknown[];
  readonly args?: readonly string[];
  readonly command?: readonly string[];
  readonly volumeMounts?: readonly unknown[];
}

/** The fields of a pod template that these cases look at, without what the server fills in. */
interface Template {
  readonly containers?: readonly Container[];
  readonly volumes?: readonly { readonly name: string }[];
  readonly tolerations?: readonly unknown[];
  readonly nodeSelector?: object;
}

const main = { name: "main", image: "web:1" };
const side = { name: "side", image: "log:1" };

const labels = { app: "web" };

async function deploymentWith(t: Scope, podSpec: object, more: object = {}): Promise<Collection> {
  const deployments = (await t.space()).of("deployments");
  const template = { metadata: { labels }, spec: { containers: [main, side], ...podSpec } };
  await deployments.create(bodies.deployment("a", { template, ...more }));
  return deployments;
}

function templateOf(thing: Thing): Template {
  const { template } = thing.spec as { readonly template: { readonly spec: Template } };
  return template.spec;
}

function containersOf(thing: Thing): readonly Container[] {
  return templateOf(thing).containers ?? [];
}

/** `name image` of each container. */
function images(thing: Thing): readonly string[] {
  return containersOf(thing).map(({ name, image }) => `${name} ${image}`);
}

function podTemplate(spec: object): object {
  return { spec: { template: { spec } } };
}

const maps = theme("strategic patch", {
  "sets what it names, removes what it sets to null and keeps the rest": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", { k: "1", l: "2" }));
    assert.deepEqual(ok(await configMaps.strategic("a", { data: { k: "3", l: null, m: null } }), 200).data, { k: "3" });
  },
  "that changes nothing keeps the version": async (t) => {
    const deployments = await deploymentWith(t, {});
    const before = await deployments.read("a");
    for (const patch of [{}, podTemplate({ containers: [main] }), { metadata: { labels: { absent: null } } }]) {
      assert.equal(versionOf(ok(await deployments.strategic("a", patch))), versionOf(before), JSON.stringify(patch));
    }
  },
  "with an old resourceVersion is a conflict": async (t) => {
    const { configMaps } = await t.space();
    const created = await configMaps.create(bodies.configMap("a"));
    await configMaps.merge("a", { data: { k: "1" } });
    const patch = { metadata: { resourceVersion: versionOf(created) }, data: { k: "2" } };
    refused(await configMaps.strategic("a", patch), 409, "Conflict", /the object has been modified/);
  },
  "replaces a map with $patch: replace and empties it with $patch: delete": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", { k: "1", l: "2" }));
    const replaced = await configMaps.strategic("a", { data: { $patch: "replace", m: "3" } });
    assert.deepEqual(ok(replaced).data, { m: "3" });
    assert.equal(ok(await configMaps.strategic("a", { data: { $patch: "delete" } })).data, undefined);
  },
  "with a $patch that does not exist is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", { k: "1" }));
    const answer = await configMaps.strategic("a", { data: { $patch: "frob", m: "3" } });
    refused(answer, 500, "", "unknown patch type: frob in map: map[$patch:frob m:3]");
  },
  "with $retainKeys keeps no other field": async (t) => {
    const deployments = await deploymentWith(t, {});
    const strategy = { $retainKeys: ["type"], type: "Recreate" };
    assert.deepEqual(ok(await deployments.strategic("a", { spec: { strategy } })).spec?.strategy, { type: "Recreate" });
  },
  "with a field that its $retainKeys does not name is refused": async (t) => {
    const deployments = await deploymentWith(t, {});
    const strategy = { $retainKeys: ["type"], type: "RollingUpdate", rollingUpdate: { maxSurge: 1 } };
    const answer = await deployments.strategic("a", { spec: { strategy } });
    refused(answer, 400, "BadRequest", "invalid patch format of retainKeys");
  },
  "replaces a map of a template with $patch: replace": async (t) => {
    const deployments = await deploymentWith(t, { nodeSelector: { a: "1", b: "2" } });
    const patched = ok(await deployments.strategic("a", podTemplate({ nodeSelector: { $patch: "replace", c: "3" } })));
    assert.deepEqual(templateOf(patched).nodeSelector, { c: "3" });
  },
  "with directives that are no lists is refused": async (t) => {
    const deployments = await deploymentWith(t, {});
    const strategy = { $retainKeys: "type", type: "Recreate" };
    const keys = await deployments.strategic("a", { spec: { strategy } });
    refused(keys, 400, "BadRequest", "invalid patch format of retainKeys");
    const order = await deployments.strategic("a", podTemplate({ "$setElementOrder/containers": "x" }));
    refused(order, 500, "", /^expected a \[\]interface \{\}, but received a string/);
    const deletion = await deployments.strategic("a", { metadata: { "$deleteFromPrimitiveList/finalizers": "x" } });
    assert.deepEqual([deletion.code, meta(ok(deletion)).finalizers], [200, undefined]);
  },
  "that is a list is refused": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a"));
    assert.equal((await configMaps.strategic("a", [])).code, 400);
  },
  "replaces the selector of a disruption budget": async (t) => {
    const budgets = (await t.space()).of("poddisruptionbudgets");
    await budgets.create(bodies.budget("a", { selector: { matchLabels: { app: "web", tier: "1" } } }));
    const patched = await budgets.strategic("a", { spec: { selector: { matchLabels: { app: "api" } } } });
    assert.deepEqual(ok(patched).spec?.selector, { matchLabels: { app: "api" } });
  },
});

const lists = theme("strategic patch of a list", {
  "merges containers by name": async (t) => {
    const deployments = await deploymentWith(t, {});
    const patch = podTemplate({ containers: [{ name: "side", image: "log:2" }] });
    assert.deepEqual(images(ok(await deployments.strategic("a", patch))), ["main web:1", "side log:2"]);
  },
  "puts a new container before those that it does not name": async (t) => {
    const deployments = await deploymentWith(t, {});
    const patch = podTemplate({ containers: [{ name: "new", image: "new:1" }] });
    const patched = ok(await deployments.strategic("a", patch));
    assert.deepEqual(images(patched), ["new new:1", "main web:1", "side log:1"]);
  },
  "deletes the container of an item with $patch: delete": async (t) => {
    const deployments = await deploymentWith(t, {});
    const patch = podTemplate({ containers: [{ name: "side", $patch: "delete" }] });
    assert.deepEqual(images(ok(await deployments.strategic("a", patch))), ["main web:1"]);
  },
  "replaces all containers when an item says $patch: replace": async (t) => {
    const deployments = await deploymentWith(t, {});
    const patch = podTemplate({ containers: [{ $patch: "replace" }, { name: "new", image: "new:1" }] });
    assert.deepEqual(images(ok(await deployments.strategic("a", patch))), ["new new:1"]);
  },
  "without the key of its items is refused": async (t) => {
    const deployments = await deploymentWith(t, {});
    const answer = await deployments.strategic("a", podTemplate({ containers: [{ image: "x" }] }));
    refused(answer, 500, "", "map: map[image:x] does not contain declared merge key: name");
  },
  "is ordered by $setElementOrder": async (t) => {
    const deployments = await deploymentWith(t, {});
    const order = [{ name: "side" }, { name: "main" }];
    const reordered = await deployments.strategic("a", podTemplate({ "$setElementOrder/containers": order }));
    assert.deepEqual(images(ok(reordered)), ["side log:1", "main web:1"]);
    const patch = {
      "$setElementOrder/containers": [{ name: "side" }, { name: "new" }, { name: "main" }],
      containers: [{ name: "new", image: "new:1" }],
    };
    const patched = ok(await deployments.strategic("a", podTemplate(patch)));
    assert.deepEqual(images(patched), ["side log:1", "new new:1", "main web:1"]);
  },
  "keeps the place of what $setElementOrder does not name": async (t) => {
    const third = { name: "third", image: "c:1" };
    const deployments = await deploymentWith(t, { containers: [main, side, third] });
    const order = [{ name: "third" }, { name: "main" }];
    const patch = podTemplate({ "$setElementOrder/containers": order });
    assert.deepEqual(images(ok(await deployments.strategic("a", patch))), ["side log:1", "third c:1", "main web:1"]);
  },
  "in another order than its $setElementOrder is refused": async (t) => {
    const deployments = await deploymentWith(t, {});
    const patch = {
      "$setElementOrder/containers": [{ name: "main" }, { name: "side" }],
      containers: [
        { name: "side", image: "x" },
        { name: "main", image: "y" },
      ],
    };
    refused(await deployments.strategic("a", podTemplate(patch)), 500, "", /^The order in patch list:/);
  },
  "with a $setElementOrder as kubectl apply sends it deletes and changes in one": async (t) => {
    const deployments = await deploymentWith(t, {});
    const patch = {
      "$setElementOrder/containers": [{ name: "main" }],
      containers: [
        { name: "main", image: "web:2" },
        { name: "side", $patch: "delete" },
      ],
    };
    assert.deepEqual(images(ok(await deployments.strategic("a", podTemplate(patch)))), ["main web:2"]);
  },
  "without the key of an item to delete is refused": async (t) => {
    const deployments = await deploymentWith(t, {});
    const answer = await deployments.strategic("a", podTemplate({ containers: [{ $patch: "delete" }] }));
    refused(answer, 500, "", "map: map[$patch:delete] does not contain declared merge key: name");
  },
  "adds a new item or list without nulls and directives": async (t) => {
    const deployments = await deploymentWith(t, {});
    const env = [
      { name: "A", value: "1" },
      { name: "B", $patch: "delete" },
    ];
    const added = { name: "new", image: "new:1", args: null, env };
    const patched = ok(await deployments.strategic("a", podTemplate({ containers: [added] })));
    const [container] = containersOf(patched);
    assert.deepEqual([container?.name, container?.args], ["new", undefined]);
    // Deletions inside a new item lose their directive only; in a list that is new to an old item they go.
    assert.deepEqual(container?.env, [{ name: "A", value: "1" }, { name: "B" }]);
    const second = ok(await deployments.strategic("a", podTemplate({ containers: [{ name: "main", env }] })));
    assert.deepEqual(containersOf(second).find(({ name }) => name === "main")?.env, [{ name: "A", value: "1" }]);
  },
  "merges ports by their container port": async (t) => {
    const ports = [
      { containerPort: 80, name: "http" },
      { containerPort: 90, name: "admin" },
    ];
    const deployments = await deploymentWith(t, { containers: [{ ...main, ports }] });
    const change = { name: "main", ports: [{ containerPort: 90, name: "ops" }] };
    const [container] = containersOf(ok(await deployments.strategic("a", podTemplate({ containers: [change] }))));
    const named = (container?.ports ?? []) as readonly { containerPort: number; name: string }[];
    assert.deepEqual(
      named.map(({ containerPort, name }) => `${containerPort} ${name}`),
      ["80 http", "90 ops"],
    );
  },
  "merges variables by name, mounts by path, and replaces arguments": async (t) => {
    const before = {
      ...main,
      args: ["a", "b"],
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "2" },
      ],
      volumeMounts: [{ name: "data", mountPath: "/data" }],
    };
    const volumes = [{ name: "data", emptyDir: {} }];
    const deployments = await deploymentWith(t, { containers: [before], volumes });
    const change = {
      name: "main",
      args: ["c"],
      env: [
        { name: "A", value: "9" },
        { name: "B", $patch: "delete" },
      ],
      volumeMounts: [{ mountPath: "/data", readOnly: true }],
    };
    const [container] = containersOf(ok(await deployments.strategic("a", podTemplate({ containers: [change] }))));
    assert.deepEqual(container?.args, ["c"]);
    assert.deepEqual(container?.env, [{ name: "A", value: "9" }]);
    assert.deepEqual(container?.volumeMounts, [{ name: "data", mountPath: "/data", readOnly: true }]);
  },
  "adds a volume before the others": async (t) => {
    const deployments = await deploymentWith(t, { volumes: [{ name: "old", emptyDir: {} }] });
    const patched = ok(await deployments.strategic("a", podTemplate({ volumes: [{ name: "new", emptyDir: {} }] })));
    assert.deepEqual(
      (templateOf(patched).volumes ?? []).map(({ name }) => name),
      ["new", "old"],
    );
  },
  "replaces tolerations": async (t) => {
    const toleration = (key: string): object => ({ key, operator: "Exists" });
    const deployments = await deploymentWith(t, { tolerations: [toleration("a"), toleration("b")] });
    const patched = ok(await deployments.strategic("a", podTemplate({ tolerations: [toleration("c")] })));
    assert.deepEqual(templateOf(patched).tolerations, [toleration("c")]);
  },
  "merges conditions by type": async (t) => {
    const { pods } = await t.space();
    await pods.create(bodies.pod("a", { nodeName: "node-0" }));
    const conditions = [
      { type: "Ready", status: "False" },
      { type: "Initialized", status: "True" },
    ];
    ok(await pods.merge("a/status", { status: { conditions } }));
    const patched = ok(
      await pods.strategic("a/status", { status: { conditions: [{ type: "Ready", status: "True" }] } }),
    );
    assert.deepEqual(
      (statusOf(patched).conditions ?? []).map(({ type, status }) => `${type} ${status}`),
      ["Ready True", "Initialized True"],
    );
  },
  "adds finalizers, and deletes those of $deleteFromPrimitiveList": async (t) => {
    const { configMaps } = await t.space();
    await configMaps.create(bodies.configMap("a", {}, { finalizers: ["a.b/c", "a.b/d"] }));
    const finalizersAfter = async (metadata: object): Promise<unknown> =>
      meta(ok(await configMaps.strategic("a", { metadata }))).finalizers;
    const added = await finalizersAfter({ finalizers: ["a.b/e", "a.b/d"] });
    assert.deepEqual(added, ["a.b/e", "a.b/c", "a.b/d"]);
    const left = await finalizersAfter({ "$deleteFromPrimitiveList/finalizers": ["a.b/c", "a.b/d"] });
    assert.deepEqual(left, ["a.b/e"]);
    assert.equal(await finalizersAfter({ finalizers: null }), undefined);
  },
  "merges owner references by UID": async (t) => {
    const { configMaps } = await t.space();
    const owner = (name: string, uid: string): object => ({ apiVersion: "v1", kind: "ConfigMap", name, uid });
    const ownerReferences = [owner("x", "1"), owner("y", "2")];
    await configMaps.create(bodies.configMap("a", {}, { ownerReferences }));
    const patch = { metadata: { ownerReferences: [{ uid: "1", $patch: "delete" }, owner("z", "2")] } };
    const patched = ok(await configMaps.strategic("a", patch));
    assert.deepEqual(
      (meta(patched).ownerReferences ?? []).map(({ name, uid }) => `${name} ${uid}`),
      ["z 2"],
    );
  },
  "merges the taints of a node as a whole, and marks it unschedulable": async (t) => {
    const nodes = t.cluster("/api/v1", "nodes");
    const name = t.unique("node");
    const taint = (key: string): object => ({ key, effect: "NoSchedule" });
    await nodes.create({ apiVersion: "v1", kind: "Node", metadata: { name }, spec: { taints: [taint("a")] } });
    const patched = ok(await nodes.strategic(name, { spec: { unschedulable: true, taints: [taint("b")] } }));
    const { unschedulable, taints = [] } = patched.spec as { unschedulable?: boolean; taints?: readonly object[] };
    ok(await nodes.delete(name));
    assert.deepEqual([unschedulable, taints.filter((item) => JSON.stringify(item).includes('"a"'))], [true, []]);
  },
  "of an annotation that restarts a rollout moves the generation": async (t) => {
    const deployments = await deploymentWith(t, {});
    const annotations = { "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z" };
    const patched = ok(await deployments.strategic("a", { spec: { template: { metadata: { annotations } } } }));
    assert.equal(meta(patched).generation, 2);
    assert.deepEqual(images(patched), ["main web:1", "side log:1"]);
  },
});

export const strategicPatchCases = [...maps, ...lists];
