/** The conformance suite against the API double. `make e2e` runs the same cases against a real kube-apiserver. */
import { type TestContext, test } from "node:test";
import { type ConformanceCase } from "./case.ts";
import { conformanceCases, skippedCases } from "./cases.ts";
import { startDoubleTarget } from "./double.ts";
import { casesAtOnce, selectCases } from "./runner.ts";
import { Scope } from "./scope.ts";

test("the API double behaves like a real kube-apiserver", { timeout: 600_000 }, async (t) => {
  const running = await startDoubleTarget();
  t.after(() => running.close());
  const { target, unique } = running;
  const cases = selectCases(conformanceCases, skippedCases, "double");
  const runAll = async (t: TestContext, isExclusive: boolean): Promise<void> => {
    const mine = cases.filter((one) => one.isExclusive === isExclusive);
    await Promise.all(mine.map((one: ConformanceCase) => t.test(one.name, () => one.run(new Scope(target, unique)))));
  };
  await t.test("beside each other", { concurrency: casesAtOnce }, (t) => runAll(t, false));
  await t.test("alone", { concurrency: 1 }, (t) => runAll(t, true));
});
