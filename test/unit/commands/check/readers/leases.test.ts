import assert from "node:assert/strict";
import { test } from "node:test";
import { cellLeaseLabels, cellLeaseName, observerLeaseName } from "../../../../../src/api/cell-lease.ts";
import { parseTime } from "../../../../../src/api/micro-time.ts";
import { listHeartbeats, readDeployments, readLease } from "../../../../../src/commands/check/readers/leases.ts";
import { KubeError } from "../../../../../src/kube/kube-client.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";

const signal = new AbortController().signal;
const renewTime = "2026-01-01T00:05:00.000000Z";
const managed = (time: string, fields: object): object => ({ time, fieldsV1: { "f:spec": fields } });
const lease = (name: string, labels: object, managedFields: readonly object[] = []): object => ({
  metadata: { name, resourceVersion: "1", labels, managedFields },
  spec: { holderIdentity: "h", renewTime },
});

test("heartbeats are read with both clocks of the renewal, and the generator's apart from the cells'", async () => {
  const client = createScriptedKubeClient();
  const cell = (id: string, fields: readonly object[] = []): object =>
    lease(cellLeaseName(id), { [cellLeaseLabels.heartbeat]: "cell", [cellLeaseLabels.cell]: id }, fields);
  const fields = [
    managed("2026-01-01T00:00:00Z", { "f:renewTime": {} }),
    managed("2026-01-01T00:00:02Z", { "f:renewTime": {} }),
    managed("2026-01-01T00:09:00Z", { "f:holderIdentity": {} }),
  ];
  const items = [cell("b"), cell("a", fields), lease(observerLeaseName, { [cellLeaseLabels.heartbeat]: "observer" })];
  client.onRequest = () => ({ metadata: { resourceVersion: "1" }, items });
  const { cells, observer } = await listHeartbeats(client, "podseidon-system", signal);
  assert.deepEqual(
    cells.map(({ cellID }) => cellID),
    ["a", "b"],
  );
  assert.equal(cells[0]?.renewedAt, parseTime(renewTime));
  assert.equal(cells[0]?.writtenAt, parseTime("2026-01-01T00:00:02Z"));
  assert.equal(cells[1]?.writtenAt, undefined);
  assert.equal(observer?.holder, "h");
});

test("a Lease that is not there is none, and one that may not be read is a failure", async () => {
  const client = createScriptedKubeClient();
  const read = () => readLease(client, "n", "podseidon-generator", signal);
  assert.equal(await read(), undefined);
  client.onRequest = () => lease("x", {});
  assert.equal((await read())?.holder, "h");
  client.onRequest = () => {
    throw new KubeError("forbidden", "no");
  };
  await assert.rejects(read, { kind: "forbidden" });
});

test("a Deployment is read with its flags: arguments take precedence, and the last one of a flag counts", async () => {
  const client = createScriptedKubeClient();
  const container = {
    image: "x:1",
    args: ["--role=aggregator", "--aggregator-cell-id=a", "--aggregator-cell-id=b", "--klog-v", "4"],
    env: [
      { name: "PODSEIDON_FLAG_AGGREGATOR_CELL_ID", value: "env" },
      { name: "PODSEIDON_FLAG_UPDATE_TRIGGER_DUMMY_POD_NAME", value: "dummy" },
    ],
  };
  const metadata = { name: "podseidon-aggregator", labels: { "app.kubernetes.io/component": "aggregator" } };
  const spec = { replicas: 2, template: { spec: { serviceAccountName: "account", containers: [container] } } };
  client.onRequest = () => ({
    metadata: { resourceVersion: "1" },
    items: [{ metadata, spec, status: { readyReplicas: 1 } }, { metadata: { name: "other" } }],
  });
  const [found, ...more] = await readDeployments(client, "podseidon-system", signal);
  assert.deepEqual(more, []);
  assert.deepEqual(
    { ...found, flags: Object.fromEntries(found?.flags ?? []) },
    {
      name: "podseidon-aggregator",
      component: "aggregator",
      wanted: 2,
      ready: 1,
      image: "x:1",
      account: "account",
      flags: { role: "aggregator", "aggregator-cell-id": "b", "update-trigger-dummy-pod-name": "dummy" },
    },
  );
  assert.equal(client.requests[0]?.query?.["labelSelector"], "app.kubernetes.io/name=podseidon");
});
