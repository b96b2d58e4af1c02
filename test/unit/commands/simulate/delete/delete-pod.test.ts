import assert from "node:assert/strict";
import { test } from "node:test";
import { annotations } from "../../../../../src/api/v1alpha1/names.ts";
import { createFleet, createProtector, type Fleet } from "../../support/fleet.ts";
import { createPod } from "../pods-on-double.ts";

async function fleetOf(): Promise<Fleet> {
  const fleet = await createFleet("worker");
  const worker = fleet.clusters.get("worker")!;
  const metadata = { annotations: { [annotations.mode]: "shadow" } };
  await createProtector(fleet.core, "web", { minAvailable: 1, cells: [{ cellID: "w1", available: 2 }] });
  await createProtector(fleet.core, "tried", { minAvailable: 1, cells: [{ cellID: "w1", available: 1 }], metadata });
  for (const name of ["web-1", "web-2"]) await createPod(worker, name, "web");
  await createPod(worker, "web-3", "web", { isReady: false });
  await createPod(worker, "web-4", "web", { annotations: { [annotations.forceDelete]: "" } });
  await createPod(worker, "done", "web", { phase: "Succeeded" });
  await createPod(worker, "free", "free");
  await createPod(worker, "tried-1", "tried");
  return fleet;
}

const deletePod = ["simulate", "delete", "pod"];
const at = ["-n", "shop", "--worker=w1=worker"];

test("each pod is told with its answer, who is asked, and why", async () => {
  const fleet = await fleetOf();
  const names = ["web-1", "web-2", "web-3", "web-4", "done", "free", "tried-1"];
  const { exitCode, stdout, problem } = await fleet.run(...deletePod, ...names, ...at);
  assert.equal(problem, undefined);
  assert.equal(exitCode, 1);
  assert.equal(
    stdout,
    `POD           DELETION  PODPROTECTORS    WHY
shop/web-1    admitted  core/shop/web    takes 1 free
shop/web-2    refused   core/shop/web    see below
shop/web-3    admitted  core/shop/web    takes none free
shop/web-4    admitted  core/shop/web    forced
shop/done     admitted  core/shop/web    has ended
shop/free     admitted  -                not protected
shop/tried-1  admitted  core/shop/tried  only in shadow

PodProtector core/shop/web: what is free is promised to others
  keeps shop/web-2
  to do: wait until these have gone
`,
  );
});

test("JSON has the same, and exit code 0 says that all would go", async () => {
  const fleet = await fleetOf();
  const { exitCode, stdout } = await fleet.run(...deletePod, "web-1", "tried-1", ...at, "-o", "json");
  assert.equal(exitCode, 0);
  assert.deepEqual(JSON.parse(stdout), {
    cell: "w1",
    pods: [
      {
        namespace: "shop",
        name: "web-1",
        answer: "admitted",
        why: "free",
        shadowed: [],
        podProtectors: ["core/shop/web"],
      },
      {
        namespace: "shop",
        name: "tried-1",
        answer: "admitted",
        why: "free",
        shadowed: ["core/shop/tried"],
        podProtectors: ["core/shop/tried"],
      },
    ],
    obstacles: [],
  });
});

test("a pod that is not there is named, and so is a cell that nobody gave", async () => {
  const fleet = await fleetOf();
  const absent = await fleet.run(...deletePod, "web-9", ...at);
  assert.deepEqual([absent.exitCode, absent.problem], [1, "cell w1 has no pod shop/web-9"]);
  assert.equal((await fleet.run(...deletePod, "web-1")).exitCode, 2);
});
