import assert from "node:assert/strict";
import { test } from "node:test";
import { podExplainer } from "../../../../src/commands/dashboard/explain-pod.ts";
import { builtInResources } from "../../../double/index.ts";
import { podBody } from "../../../double/cluster.ts";
import { createCellLease, createFleet, createProtector, systemNamespace } from "../support/fleet.ts";

async function explainer() {
  const { core, clusters, clock } = await createFleet("worker");
  const worker = clusters.get("worker")!;
  await createCellLease(core, clock, "w1");
  await createProtector(core, "web", { minAvailable: 2, cells: [{ cellID: "w1", available: 2 }] });
  await worker.create(builtInResources.pods, "shop", podBody("web-1"));
  const choice = {
    kubeconfig: undefined,
    cores: new Map([["core", undefined]]),
    workers: new Map([["w1", "worker"]]),
    namespace: undefined,
    leaseNamespace: systemNamespace,
  };
  const open = {
    cores: new Map([["core", core.client]]),
    workers: new Map([["w1", worker.client]]),
    choice,
    objectNamespace: "default",
    close: async () => {},
  };
  const explain = podExplainer(open, { clock, program: "podseidon" });
  const { signal } = new AbortController();
  return (cell: string, pod: string) => explain({ cell, namespace: "shop", pod, columns: 52 }, signal);
}

test("the answer has the words of the command, and fits the given width", async () => {
  const answer = await (await explainer())("w1", "web-1");
  assert("text" in answer);
  assert.match(answer.text, /shop\/web/);
  for (const line of answer.text.split("\n")) assert(line.length <= 52, line);
});

test("a pod that does not exist, a cell without a cluster, and no name at all are problems", async () => {
  const ask = await explainer();
  for (const [cell, pod, expected] of [
    ["w1", "absent", /absent/],
    ["w9", "web-1", /no --worker was given for cell w9/],
    ["a b", "web-1", /^The name of the cell /],
    ["w1", "we/b", /./],
  ] as const) {
    const answer = await ask(cell, pod);
    assert("problem" in answer, pod);
    assert.match(answer.problem, expected);
  }
});
