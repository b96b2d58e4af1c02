import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { createFleet } from "./support/fleet.ts";

/** Runs a command; `stdout` is all that it printed. */
async function run(t: TestContext, ...argv: readonly string[]) {
  const fleet = await createFleet();
  // cac prints the help itself.
  t.mock.method(console, "info", (text: string) => void fleet.printed.push(`${text}\n`));
  const { exitCode, problem, stdout } = await fleet.run(...argv);
  return { exitCode, stdout, ...(problem !== undefined && { problem }) };
}

test("version prints what the program gave", async (t) => {
  assert.deepEqual(await run(t, "version"), { exitCode: 0, stdout: "podseidon 1.2.3\n" });
});

test("help lists the commands and the flags", async (t) => {
  const { exitCode, stdout } = await run(t, "help");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Usage: podseidon --role=/);
  assert.match(stdout, /\nCommands:\n(.*\n)* {2}version {2}/);
  assert.match(stdout, /\n {2}--webhook-port=PORT\n/);
});

test("help fits 80 columns, has no colour, and ends each line cleanly", async (t) => {
  for (const argv of [["help"], ["help", "version"]]) {
    for (const line of (await run(t, ...argv)).stdout.split("\n")) {
      assert(line.length <= 80, line);
      assert.match(line, /^[\x20-\x7e]*$/);
      if (argv.length === 1) assert.equal(line, line.trimEnd());
    }
  }
});

test("the help of one command says how to use it", async (t) => {
  for (const argv of [
    ["help", "help"],
    ["help", "--help"],
    ["help", "-h"],
  ]) {
    const { exitCode, stdout } = await run(t, ...argv);
    assert.equal(exitCode, 0);
    assert.match(stdout, /podseidon help \[command\]/);
    assert.doesNotMatch(stdout, /--role/);
  }
});

test("an unknown command is one line that names what is allowed and the nearest command", async (t) => {
  const { exitCode, problem = "", stdout } = await run(t, "versoin");
  assert.deepEqual([exitCode, stdout], [2, ""]);
  assert.match(problem, /^unknown command "versoin"; allowed: status, .*version, or --role=ROLE to run a role; did/);
  assert.match(problem, /; did you mean version\?$/);
  assert.equal((await run(t, "help", "me")).exitCode, 2);
  assert.match((await run(t, "a\nb")).problem ?? "", /^unknown command "a\\nb"/);
  assert.match((await run(t, "")).problem ?? "", /^unknown command ""/);
});

test("arguments that a command does not take are refused", async (t) => {
  assert.deepEqual(await run(t, "version", "x"), { exitCode: 2, problem: "version: unused args: `x`", stdout: "" });
  assert.deepEqual(await run(t, "version", "--role=webhook"), {
    exitCode: 2,
    problem: "version: unknown option --role (--help lists all)",
    stdout: "",
  });
});
