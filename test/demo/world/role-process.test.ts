import assert from "node:assert/strict";
import { test } from "node:test";
import { createSystemClock } from "../../../src/util/system-clock.ts";
import { startRole } from "../../../scripts/demo/world/role-process.ts";

test("a process that ends before it is ready is reported with its last log lines", async () => {
  const crashed = Promise.withResolvers<string>();
  const role = startRole({
    name: "webhook-1",
    args: ["--role=nonsense"],
    clock: createSystemClock(),
    onCrash: crashed.resolve,
  });
  await assert.rejects(role.ready(new AbortController().signal), /webhook-1 \(pid \d+\) ended[^]*nonsense/);
  assert.match(await crashed.promise, /exit code 2\. Its last log lines:\n {2}podseidon: .*nonsense/);
  assert.equal(role.state, "gone");
});

test("a process that is killed on purpose is gone and is not reported as crashed", async () => {
  const reports: string[] = [];
  const role = startRole({
    name: "update-trigger",
    args: ["--role=update-trigger", "--worker-kube-master=http://127.0.0.1:1"],
    clock: createSystemClock(),
    onCrash: (report) => void reports.push(report),
  });
  await role.kill();
  assert.equal(role.state, "gone");
  assert.throws(() => process.kill(role.pid, 0), /ESRCH/);
  assert.deepEqual(reports, []);
});
