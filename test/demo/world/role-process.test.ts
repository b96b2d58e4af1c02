import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { ProcessSet } from "../../../scripts/child-processes.ts";
import { DemoRole } from "../../../scripts/demo/world/role-process.ts";

function start(t: TestContext, name: string, args: readonly string[], onCrash: (report: string) => void): DemoRole {
  const directory = mkdtempSync(path.join(tmpdir(), "podseidon-role-"));
  t.after(() => rmSync(directory, { recursive: true }));
  return new DemoRole({ processes: new ProcessSet(), name, args, directory, onCrash });
}

test("a process that ends before it is ready is reported with its last log lines", async (t) => {
  const crashed = Promise.withResolvers<string>();
  const role = start(t, "webhook-1", ["--role=nonsense"], crashed.resolve);
  await assert.rejects(role.ready(new AbortController().signal), /webhook-1 \(pid \d+\) ended[^]*nonsense/);
  assert.match(await crashed.promise, /exit code 2\. Its last log lines:\n {2}podseidon: .*nonsense/);
  assert.equal(role.state, "gone");
});

test("a process that is killed on purpose is gone and is not reported as crashed", async (t) => {
  const reports: string[] = [];
  const args = ["--role=update-trigger", "--worker-kube-master=http://127.0.0.1:1"];
  const role = start(t, "update-trigger", args, (report) => void reports.push(report));
  await role.kill();
  assert.equal(role.state, "gone");
  assert.throws(() => process.kill(role.pid, 0), /ESRCH/);
  assert.deepEqual(reports, []);
});
