import assert from "node:assert/strict";
import { test } from "node:test";
import { configMap, createLivePod, createTestCluster, mergePatch, podBody, refusal } from "./cluster.ts";
import { asArray, asObject } from "./engine/object.ts";
import { builtInResources as types } from "./engine/resources.ts";

const cm = types.configMaps;

test("every write of the cluster moves one revision counter", async () => {
  const { engine } = await createTestCluster();
  const a = await engine.create(cm, "default", configMap("a"));
  const pod = await engine.create(types.pods, "default", podBody("p"));
  assert.equal(Number(pod.metadata.resourceVersion), Number(a.metadata.resourceVersion) + 1);
  assert.equal(engine.revision, Number(pod.metadata.resourceVersion));
});

test("a PUT at an old version conflicts in the server's words", async () => {
  const { engine } = await createTestCluster();
  const old = await engine.create(cm, "default", configMap("a"));
  await engine.update(cm, "default", "a", { ...old, data: { k: "1" } });
  const message =
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your ' +
    "changes to the latest version and try again";
  await assert.rejects(engine.update(cm, "default", "a", { ...old, data: { k: "2" } }), refusal(409, message));
});

test("a patch that names a version conflicts when the object has moved", async () => {
  const { engine } = await createTestCluster();
  const old = await engine.create(cm, "default", configMap("a"));
  await engine.patch(cm, "default", "a", mergePatch({ data: { k: "1" } }));
  const { resourceVersion } = old.metadata;
  const patch = mergePatch({ metadata: { resourceVersion }, data: { k: "2" } });
  await assert.rejects(engine.patch(cm, "default", "a", patch), refusal(409, "has been modified"));
});

test("a patch with the UID of a replaced object is invalid, a PUT with it conflicts", async () => {
  const { engine } = await createTestCluster();
  const object = await engine.create(cm, "default", configMap("a"));
  const metadata = { ...object.metadata, uid: "other" };
  await assert.rejects(
    engine.patch(cm, "default", "a", mergePatch({ metadata: { uid: "other" } })),
    refusal(422, "metadata.uid"),
  );
  await assert.rejects(
    engine.update(cm, "default", "a", { ...object, metadata }),
    refusal(409, "Precondition failed: UID"),
  );
  await assert.rejects(
    engine.patch(cm, "default", "gone", mergePatch({})),
    refusal(404, 'configmaps "gone" not found'),
  );
});

test("an update that changes nothing keeps the version and tells no watcher", async () => {
  const { engine } = await createTestCluster();
  const object = await engine.create(cm, "default", configMap("a", { k: "1" }));
  const { revision } = engine;
  const same = await engine.patch(cm, "default", "a", mergePatch({ data: { k: "1" } }));
  assert.equal(same, object);
  await engine.update(cm, "default", "a", { ...object });
  assert.equal(engine.revision, revision);
});

test("a lease must be updated at a version, a config map need not be", async () => {
  const { engine } = await createTestCluster();
  const lease = { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name: "l" }, spec: {} };
  await engine.create(types.leases, "default", lease);
  await assert.rejects(
    engine.update(types.leases, "default", "l", lease),
    refusal(422, "must be specified for an update"),
  );
  await engine.create(cm, "default", configMap("a"));
  await engine.update(cm, "default", "a", configMap("a", { k: "1" }));
});

test("a write of the main resource ignores status, and a write of status ignores the rest", async () => {
  const { engine } = await createTestCluster();
  const pod = await createLivePod(engine, "a");
  const both = {
    metadata: { labels: { x: "1" } },
    spec: { activeDeadlineSeconds: 5 },
    status: { phase: "Running" },
  };
  const status = await engine.patch(types.pods, "default", "a", mergePatch(both), { subresource: "status" });
  assert.equal(status.status?.["phase"], "Running");
  assert.equal(status.spec?.["activeDeadlineSeconds"], undefined);
  assert.equal(status.metadata.generation, pod.metadata.generation);
  const main = await engine.patch(types.pods, "default", "a", mergePatch({ ...both, status: { phase: "Failed" } }));
  assert.equal(main.spec?.["activeDeadlineSeconds"], 5);
  assert.equal(main.status?.["phase"], "Running");
  assert.equal(main.metadata.generation, 2);
});

test("annotations of a pod can be set through pods/status: fencing relies on it", async () => {
  const { engine } = await createTestCluster();
  const pod = await createLivePod(engine, "a");
  const fence = mergePatch({
    metadata: { uid: pod.metadata.uid, annotations: { "podseidon.kubewharf.io/fence": "1" } },
  });
  const fenced = await engine.patch(types.pods, "default", "a", fence, { subresource: "status" });
  assert.equal(fenced.metadata.annotations?.["podseidon.kubewharf.io/fence"], "1");
  assert.ok(Number(fenced.metadata.resourceVersion) > Number(pod.metadata.resourceVersion));
});

test("managedFields times move with a change of status as well", async () => {
  const { engine, clock } = await createTestCluster();
  await createLivePod(engine, "a");
  await clock.advance(7000);
  const patch = mergePatch({ status: { phase: "Running" } });
  const pod = await engine.patch(types.pods, "default", "a", patch, { subresource: "status", fieldManager: "kubelet" });
  const times = asArray(pod.metadata.managedFields).map((entry) => asObject(entry)["time"]);
  assert.deepEqual(times, ["2026-01-01T00:00:00Z", "2026-01-01T00:00:07Z"]);
});

test("a JSON patch is applied, and refused as a whole when a test in it fails", async () => {
  const { engine } = await createTestCluster();
  await engine.create(cm, "default", configMap("a", { k: "1" }));
  const contentType = "application/json-patch+json";
  const good = [
    { op: "test", path: "/data/k", value: "1" },
    { op: "replace", path: "/data/k", value: "2" },
  ];
  const patched = await engine.patch(cm, "default", "a", { contentType, body: good });
  assert.deepEqual(patched["data"], { k: "2" });
  await assert.rejects(
    engine.patch(cm, "default", "a", { contentType, body: good }),
    refusal(422, "rejected our request"),
  );
});

test("a server-side apply is refused with 501", async () => {
  const { engine } = await createTestCluster();
  await engine.create(cm, "default", configMap("a"));
  const patch = { contentType: "application/apply-patch+yaml", body: {} };
  await assert.rejects(engine.patch(cm, "default", "a", patch), refusal(501, "server-side apply"));
});

test("a second object of a name, a missing namespace and a malformed name are refused", async () => {
  const { engine } = await createTestCluster();
  await engine.create(cm, "default", configMap("a"));
  await assert.rejects(engine.create(cm, "default", configMap("a")), refusal(409, 'configmaps "a" already exists'));
  await assert.rejects(engine.create(cm, "nowhere", configMap("a")), refusal(404, 'namespaces "nowhere" not found'));
  await assert.rejects(engine.create(cm, "default", configMap("A_b")), refusal(422, "RFC 1123"));
});

test("generateName gives names that differ", async () => {
  const { engine } = await createTestCluster();
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "a-" } };
  const one = await engine.create(cm, "default", body);
  const two = await engine.create(cm, "default", body);
  assert.match(one.metadata.name, /^a-[a-z0-9]{5}$/);
  assert.notEqual(one.metadata.name, two.metadata.name);
});

test("a dry-run create answers the object and stores none", async () => {
  const { engine } = await createTestCluster();
  const { revision } = engine;
  const object = await engine.create(cm, "default", configMap("a"), { dryRun: true });
  assert.equal(object.metadata.name, "a");
  assert.equal(engine.find(cm, "default", "a"), undefined);
  assert.equal(engine.revision, revision);
});

test("a pod's image may change but not the rest of its containers", async () => {
  const { engine } = await createTestCluster();
  await createLivePod(engine, "a");
  const image = mergePatch({ spec: { containers: [{ name: "main", image: "web:2" }] } });
  await engine.patch(types.pods, "default", "a", image);
  const name = mergePatch({ spec: { containers: [{ name: "other", image: "web:2" }] } });
  await assert.rejects(
    engine.patch(types.pods, "default", "a", name),
    refusal(422, "pod updates may not change fields"),
  );
});

test("a pod is bound to a node once", async () => {
  const { engine } = await createTestCluster();
  await engine.create(types.pods, "default", podBody("a"));
  engine.bind("default", "a", "node-1");
  assert.equal(engine.get(types.pods, "default", "a").spec?.["nodeName"], "node-1");
  assert.throws(() => engine.bind("default", "a", "node-2"), refusal(409, "already assigned to node"));
});

test("scale shows and changes the replicas of a workload", async () => {
  const { engine } = await createTestCluster();
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "m" }] } };
  const spec = { replicas: 3, selector: { matchLabels: { app: "web" } }, template };
  await engine.create(types.deployments, "default", {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web" },
    spec,
  });
  const scale = await engine.patchScale(types.deployments, "default", "web", mergePatch({ spec: { replicas: 5 } }));
  assert.deepEqual(scale["spec"], { replicas: 5 });
  assert.deepEqual(asObject(scale["status"])["selector"], "app=web");
  const deployment = engine.get(types.deployments, "default", "web");
  assert.equal(deployment.spec?.["replicas"], 5);
  assert.equal(deployment.metadata.generation, 2);
});
