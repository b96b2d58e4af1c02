import assert from "node:assert/strict";
import { test } from "node:test";
import { readDeployments } from "../../../../../src/commands/check/readers/deployments.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";

const signal = new AbortController().signal;

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
