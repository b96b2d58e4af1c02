import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { ProcessSet } from "../../../scripts/child-processes.ts";
import { type KubeAssets } from "../../../scripts/kube-assets.ts";
import { ClusterPool } from "../clusters/cluster-pool.ts";
import { type CaseContext, type CaseResult, type E2eCase, type Figures, failures, runCases } from "./runner.ts";

let directory = "";
beforeEach(() => {
  directory = mkdtempSync(path.join(os.tmpdir(), "runner-"));
});
afterEach(() => rmSync(directory, { recursive: true }));

interface Outcome {
  readonly results: readonly CaseResult[];
  readonly lines: readonly string[];
}

/** Runs cases that need no cluster. */
function run(...cases: readonly E2eCase["run"][]): Promise<Outcome> {
  return runAll(cases.map((one, index) => ({ name: `case ${index + 1}`, timeLimitMs: 60_000, run: one })));
}

async function runAll(cases: readonly E2eCase[], onDiscard = () => {}, lanes = 1): Promise<Outcome> {
  const processes = new ProcessSet();
  const programs = { etcd: "", kubectl: "", "kube-apiserver": "", "kube-controller-manager": "", "kube-scheduler": "" };
  const assets = programs as unknown as KubeAssets;
  const lines: string[] = [];
  const results = await runCases({
    cases,
    pools: Array.from(
      { length: lanes },
      () =>
        new (class extends ClusterPool {
          override discard(): Promise<void> {
            onDiscard();
            return super.discard();
          }
        })([], { assets, processes, directory }),
    ),
    assets,
    processes,
    directory,
    resultFile: path.join(directory, "results.json"),
    print: (line) => lines.push(line),
    rejections,
  });
  return { results, lines };
}

const rejections = new EventEmitter();
/** What Node.js does about a promise that fails while nobody waits for it. */
function reject(message: string): void {
  assert.ok(rejections.emit("unhandledRejection", new Error(message)), "nobody listens: the run would end here");
}

const passes = async (): Promise<Figures> => ({ well: 1 });
const never = (): Promise<Figures> => new Promise(() => undefined);

test("a case that throws fails alone", async () => {
  const { results, lines } = await run(async () => assert.fail("it is broken"), passes);
  assert.deepEqual(
    results.map(({ passed }) => passed),
    [false, true],
  );
  assert.match(lines[1] ?? "", /it is broken/);
});

test("the end of the output names each case that failed and why, without its logs", async () => {
  const { results } = await run(passes, async () => assert.fail("it is broken"));
  const logged = results.map((one) => ({ ...one, error: `${one.error}\n--- worker (running), worker.log\n{}` }));
  const [name, reason = "", ...more] = failures(logged);
  assert.deepEqual([name, more], ["FAILED: case 2", []]);
  assert.match(reason, /it is broken/);
  assert.doesNotMatch(reason, /worker\.log/);
});

test("a promise that fails while nobody waits for it fails its case at once, with the reason, and alone", async () => {
  const { results } = await run(() => {
    queueMicrotask(() => reject("the aggregator does not start"));
    return never();
  }, passes);
  assert.deepEqual(
    results.map(({ passed }) => passed),
    [false, true],
  );
  assert.match(results[0]?.error ?? "", /nobody was waiting for[^]*the aggregator does not start/);
});

test("a promise that fails in the clean-up of a case fails that case", async () => {
  const { results } = await run(async (context: CaseContext) => {
    context.cleanup(() => reject("too late"));
    return {};
  }, passes);
  assert.deepEqual(
    results.map(({ passed }) => passed),
    [false, true],
  );
  assert.match(results[0]?.error ?? "", /too late/);
});

test("a case with clusters of its own begins with new ones and leaves them to nobody", async () => {
  const happened: string[] = [];
  const one = (name: string): E2eCase => ({
    name,
    timeLimitMs: 60_000,
    run: async () => {
      happened.push(name);
      return {};
    },
  });
  await runAll([one("first"), { ...one("own"), hasOwnClusters: true }, one("last")], () =>
    happened.push("new clusters"),
  );
  assert.deepEqual(happened, ["first", "new clusters", "own", "new clusters", "last", "new clusters"]);
});

test("cases run in two lanes at once, and the results are in the order of the cases", async () => {
  const second = Promise.withResolvers<Figures>();
  const { results } = await runAll(
    [
      { name: "first", timeLimitMs: 60_000, run: () => second.promise },
      { name: "second", timeLimitMs: 60_000, run: async () => (second.resolve({}), {}) },
      { name: "third", timeLimitMs: 60_000, run: passes },
    ],
    () => {},
    2,
  );
  assert.deepEqual(
    results.map(({ name, passed }) => [name, passed]),
    [
      ["first", true],
      ["second", true],
      ["third", true],
    ],
  );
});

test("a case that needs the machine for itself runs when all others have ended", async () => {
  const happened: string[] = [];
  const one = (name: string): E2eCase => ({
    name,
    timeLimitMs: 60_000,
    run: async () => {
      happened.push(name);
      return {};
    },
  });
  const { results } = await runAll([{ ...one("busy"), isAlone: true }, one("first"), one("second")], () => {}, 2);
  assert.equal(happened.at(-1), "busy");
  assert.deepEqual(
    results.map(({ name }) => name),
    ["busy", "first", "second"],
  );
});

test("what a case says names its subject", async () => {
  const say = async (context: CaseContext): Promise<Figures> => (context.say("2 of 3"), {});
  const { lines } = await runAll([{ name: "drain: it ends", timeLimitMs: 60_000, run: say }]);
  assert.equal(lines[0]?.trim(), "drain: 2 of 3");
});
