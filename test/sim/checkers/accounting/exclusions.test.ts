import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { readPodRecord } from "../../../../src/api/pod.ts";
import { cell, counts, protector, version as resourceVersion } from "../../../unit/accounting/samples.ts";
import { Kernel } from "../../kernel/kernel.ts";
import { mutations } from "../../mutations/catalog/catalog.ts";
import { rules } from "../../scenarios/rules/rules.ts";
import { Exclusions, exclusions, silenceLimitMs } from "./exclusions.ts";
import { Ledger, type PodVersion, type TruePod } from "./ledger.ts";
import { Standing } from "./standing.ts";

const minuteMs = 60_000;

function version(revision: number, atMs: number, isReady: boolean): PodVersion {
  const record = readPodRecord({
    metadata: {
      name: "x",
      namespace: "default",
      uid: "uid-x",
      resourceVersion: String(revision),
      labels: { app: "web" },
    },
    status: { phase: "Running", conditions: [{ type: "Ready", status: isReady ? "True" : "False" }] },
  });
  assert.ok(record);
  return { revision, atMs, record, isFence: false, readyAtMs: isReady ? atMs : undefined };
}

test("a pod that failed by itself and is still counted is not missed for some minutes, and then it is", async () => {
  const kernel = new Kernel(1);
  const ledger = new Ledger(kernel);
  const standing = new Standing("web", ledger, "Available");
  const object = protector(1, [cell(counts(1, { resourceVersion: resourceVersion(1) }))]);
  standing.edited(object, undefined);
  const pod: TruePod = {
    cell: "a",
    uid: "uid-x",
    digest: "digest-x",
    name: "x",
    versions: [version(1, 0, true)],
    goneAt: undefined,
    end: undefined,
    endedAtMs: undefined,
    lastLive: undefined,
  };
  ledger.pods.set(pod.uid, pod);
  const count = (): number => standing.count(object, new Set());
  assert.deepEqual([count(), ledger.exclusions.uses.size], [1, 0]);

  await kernel.run(minuteMs);
  pod.versions.push(version(2, kernel.nowMs, false));
  await kernel.run(4 * minuteMs);
  assert.equal(count(), 1);
  assert.deepEqual(ledger.exclusions.uses.get("own unavailability"), { times: 1, longestMs: 3 * minuteMs });

  await kernel.run(10 * minuteMs);
  assert.equal(count(), 0);
});

test("a pod that failed in a lost cell is not missed until the cell must be known to be silent", async () => {
  const kernel = new Kernel(1);
  const ledger = new Ledger(kernel, minuteMs);
  const standing = new Standing("web", ledger, "Available");
  const object = protector(1, [cell(counts(1, { resourceVersion: resourceVersion(1) }))]);
  standing.edited(object, undefined);
  ledger.pods.set("uid-x", {
    cell: "a",
    uid: "uid-x",
    digest: "digest-x",
    name: "x",
    versions: [version(1, 0, true), version(2, 0, false)],
    goneAt: undefined,
    end: undefined,
    endedAtMs: undefined,
    lastLive: undefined,
  });
  await kernel.run(minuteMs);
  ledger.unheardSinceMs.set("a", kernel.nowMs);
  const count = (): number => standing.count(object, new Set());
  await kernel.run(minuteMs + silenceLimitMs(minuteMs));
  assert.equal(count(), 1);
  assert.deepEqual([...ledger.exclusions.uses.keys()], ["in a lost cell"]);
  await kernel.run(kernel.nowMs + 1_000);
  assert.equal(count(), 0);
});

test("what was excluded is counted, with the longest time, up to its limit", async () => {
  const kernel = new Kernel(1);
  const exclusions = new Exclusions(kernel, 3 * minuteMs);
  await kernel.run(minuteMs);
  assert.equal(exclusions.excuses("late commit", 30_000), true);
  assert.equal(exclusions.excuses("late commit", 0), true);
  assert.deepEqual(exclusions.uses.get("late commit"), { times: 2, longestMs: minuteMs });
  await kernel.run(11 * minuteMs);
  assert.equal(exclusions.isAllowed("late commit", 0), false);
  assert.equal(exclusions.excuses("late commit", 0), false);
  assert.equal(exclusions.uses.get("late commit")?.times, 2);
});

test("a limit is longer by what a machine has slept meanwhile, and no sum of several machines", async () => {
  const kernel = new Kernel(1);
  const exclusions = new Exclusions(kernel, 3 * minuteMs);
  await kernel.run(minuteMs);
  exclusions.sleeps("aggregator-a-1", 2 * minuteMs);
  exclusions.sleeps("webhook-1", 3 * minuteMs);
  await kernel.run(12.5 * minuteMs);
  assert.equal(exclusions.isAllowed("late commit", 0.5 * minuteMs), true);
  assert.equal(exclusions.isAllowed("late commit", 0.4 * minuteMs), false);
  assert.equal(exclusions.isAllowed("in a lost cell", 0.5 * minuteMs), false);
  await kernel.run(14 * minuteMs);
  assert.equal(exclusions.isAllowed("late commit", 2.5 * minuteMs), false, "of the sleep half a minute is left");
});

test("each exclusion is in docs/simulation.md, with a mutation that is caught although it is there", () => {
  const page = readFileSync(new URL("../../../../docs/simulation.md", import.meta.url), "utf8");
  const section = /^### What is excluded\n(.*?)^## /ms.exec(page)?.[1] ?? "";
  const rows = [...section.matchAll(/^\| (\w[^|]*?) \|.*\| `([\w-]+)` \|$/gm)];
  const known = new Set([...mutations, ...rules].map(({ name }) => name));
  for (const [, what, mutation = ""] of rows)
    assert.ok(known.has(mutation), `${what}: there is no mutation ${mutation}`);
  const described = rows.map(([, what = ""]) => what.split(":")[0]).slice(0, exclusions.length);
  assert.deepEqual(new Set(described), new Set(exclusions));
});
