import assert from "node:assert/strict";
import { test } from "node:test";
import { openClusters } from "../../../../src/commands/clusters/open.ts";
import { type ClusterConfig } from "../../../../src/config/clusters.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { type KubeClient } from "../../../../src/kube/kube-client.ts";
import { StartError } from "../../../../src/lifecycle/component.ts";

function questions(connected: Map<string, ClusterConfig>, closed: string[]) {
  return {
    environment: { KUBECONFIG: "/config" },
    readFile: () =>
      JSON.stringify({
        "current-context": "ctx",
        contexts: ["ctx", "w", "broken"].map((name) => ({ name, context: { namespace: `of-${name}` } })),
      }),
    async connect(config: ClusterConfig, name: string): Promise<KubeClient> {
      if (config.context === "broken") throw new StartError("the user is missing");
      connected.set(name, config);
      return { cluster: name, close: async () => void closed.push(name) } as unknown as KubeClient;
    },
  };
}

test("each core and worker is connected by its context, and all are closed", async () => {
  const [connected, closed] = [new Map<string, ClusterConfig>(), [] as string[]];
  const options = new Map([
    ["core", ["east=ctx"]],
    ["worker", ["w1=w"]],
  ]);
  const open = await openClusters(options, questions(connected, closed));
  assert(!(open instanceof Problem));
  assert.deepEqual([[...open.cores.keys()], [...open.workers.keys()]], [["east"], ["w1"]]);
  const { kubeConfigPath, context, master } = connected.get("worker w1")!;
  assert.deepEqual([kubeConfigPath, context, master], ["/config", "w", ""]);
  assert.equal(open.objectNamespace, "of-ctx");
  await open.close();
  assert.deepEqual(closed, ["east", "worker w1"]);
});

test("a context that cannot be used is a problem, and what was open is closed", async () => {
  const closed: string[] = [];
  const options = new Map([["worker", ["w1=broken"]]]);
  const open = await openClusters(options, questions(new Map(), closed));
  assert(open instanceof Problem);
  assert.deepEqual([open.message, closed], ["the user is missing", ["core"]]);
});

test("a namespace that is given is that of single objects, too", async () => {
  const open = await openClusters(new Map([["namespace", ["shop"]]]), questions(new Map(), []));
  assert(!(open instanceof Problem));
  assert.deepEqual([open.choice.namespace, open.objectNamespace], ["shop", "shop"]);
});
