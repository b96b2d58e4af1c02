import assert from "node:assert/strict";
import { test } from "node:test";
import { finalizer, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { type Judged, judged, typicalPod } from "../../../../src/commands/explain/judged.ts";
import { explanationText, isRefused } from "../../../../src/commands/explain/text.ts";
import { listProtectors } from "../../../../src/commands/fleet/protectors.ts";
import { standingOf } from "../../../../src/commands/fleet/standing.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { createFleet, createProtector, createRefusal, plainTerminal } from "../support/fleet.ts";

test("nothing is refused where nothing is known", () => {
  const view = { asked: undefined, at: 0 as EpochMicros, program: "podseidon", terminal: plainTerminal };
  const nothing = { explained: [], unusable: [], gateFaults: [] };
  assert.equal(explanationText(nothing, view), "");
  assert.equal(isRefused(nothing), false);
});

test("an eviction is told apart from a deletion only where the answers differ", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w1", available: 1 }] });
  const { valid } = await listProtectors(fleet.core.client, "shop", fleet.stop.signal);
  const read = standingOf(valid[0]!, undefined);
  assert.ok(read.ok);
  const { standing } = read;
  const asked = typicalPod(standing.view, "w1")!;
  const { clock } = fleet;
  const deletion = judged("core/shop/web", standing.view, asked, "delete", { cells: undefined, clock });
  const admitted: Judged = {
    verdict: { kind: "admitted" } as Judged["verdict"],
    refusal: undefined,
    unheard: [],
    why: undefined,
  };
  const told = (eviction: Judged): string => {
    const answers = { relation: "protected", deletion, eviction } as const;
    const events = { refusals: undefined, forced: undefined };
    const none = { cells: undefined, promises: [], pods: undefined, ...events, inCells: [] };
    const view = { asked, at: clock.epochMicros(), program: "podseidon", terminal: plainTerminal };
    const explained = [{ core: "core", standing, answers, ...none }];
    return explanationText({ explained, unusable: [], gateFaults: [] }, view);
  };
  assert.match(told(deletion), /^pod .*\nWould its deletion or eviction be admitted now\? {2}NO\n\n/);
  assert.match(told(admitted), /\nWould its deletion be admitted now\? {2}NO\nWould its eviction be .*\? {2}YES\n\n/);
});

test("on a page as wide as a telephone, text stands below its label, and no word is longer than a line", async () => {
  const fleet = await createFleet();
  fleet.terminal = { ...plainTerminal, columns: 42 };
  const labels = { [sourceLabels.kind]: "Deployment", [sourceLabels.group]: "apps", [sourceLabels.name]: "web" };
  await createProtector(fleet.core, "web", {
    metadata: { labels, finalizers: [finalizer] },
    cells: [{ cellID: "w1", available: 1 }],
  });
  const { stdout } = await fleet.run("explain", "protector", "shop/web");
  for (const line of stdout.split("\n")) assert(line.length <= 42, line);
  assert.match(
    stdout,
    /\n {2}you can {3}wait until more pods are\n {6}available, or scale the workload up\n {4}let one go/,
  );
});

test("texts from the cluster cannot write escape codes, and lines fit 80 columns", async () => {
  const fleet = await createFleet();
  await createProtector(fleet.core, "web", { cells: [{ cellID: "w\u001b[31m1", available: 2 }] });
  await createRefusal(fleet, { name: "web", count: 2, agoMs: 0, message: `\u001b]0;title\u0007${"x ".repeat(300)}` });
  const { stdout } = await fleet.run("explain", "protector", "shop/web");
  assert.match(stdout, /^[\x20-\x7e…\n]*$/);
  for (const line of stdout.split("\n")) assert(line.length <= 80, line);
  assert.match(stdout, /\n {2}refused {3}2 times lately, last 0\.0 s ago\n {12}TooFewReplicas; \?\]0;title\?x x /);
});
