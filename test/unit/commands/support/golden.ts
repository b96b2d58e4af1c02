/**
 * What commands print, compared as a whole with a text beside the test, EXPLAIN.txt beside EXPLAIN.test.ts: a part for
 * each test (`# its name`), in it each call, what it printed (indented), its lines on stderr, and how it ended.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { type TestContext } from "node:test";
import { type Fleet, type Ran } from "./fleet.ts";

/** Runs a command, and holds it to the next call in the part of this test. */
type Shown = (test: TestContext, fleet: Fleet, ...argv: readonly string[]) => Promise<Ran>;

/** @param testFile its own, which stands beside the text */
export function goldenOf(testFile: string): Shown {
  const parts = readFileSync(testFile.replace(/\.test\.ts$/, ".txt"), "utf8").split(/^(?=# )/m);
  return async (test, fleet, ...argv) => {
    const ran = await fleet.run(...argv);
    const expected = callsOf(parts, test.name);
    const index = (counts.get(test) ?? 0) + 1;
    if (index === 1) test.after(() => assert.equal(counts.get(test), expected.length, "calls that were made"));
    counts.set(test, index);
    assert.equal(textOf(fleet.program, argv, ran), expected[index - 1]);
    return ran;
  };
}

/** How many calls each test has made. */
const counts = new WeakMap<TestContext, number>();

function callsOf(parts: readonly string[], name: string): readonly string[] {
  const [, ...calls] = (parts.find((part) => part.startsWith(`# ${name}\n`)) ?? "").split(/^(?=\$ )/m);
  return calls.map((call) => call.trimEnd());
}

function textOf(program: string, argv: readonly string[], { exitCode, problem, stdout, stderr }: Ran): string {
  const words = argv.map((word) => (/[\s"]/.test(word) ? JSON.stringify(word) : word));
  const printed = stdout.replace(/\n$/, "").split("\n");
  return [
    `$ ${program} ${words.join(" ")}`,
    ...(stdout === "" ? [] : printed.map((line) => (line === "" ? "" : `  ${line}`))),
    ...stderr.map((line) => `stderr: ${line}`),
    `exit ${exitCode}${problem === undefined ? "" : `: ${problem}`}`,
  ].join("\n");
}
