import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { encodeLatches, latchesKey } from "../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { builtInResources } from "../../double/index.ts";
import { createFleet, systemNamespace } from "./support/fleet.ts";

/** Runs a command; `stdout` is all that it printed. */
async function run(t: TestContext, ...argv: readonly string[]) {
  const fleet = await createFleet();
  // cac prints the help itself.
  t.mock.method(console, "info", (text: string) => void fleet.printed.push(`${text}\n`));
  const { exitCode, problem, stdout } = await fleet.run(...argv);
  return { exitCode, stdout, ...(problem !== undefined && { problem }) };
}

test("version prints what the program gave", async (t) => {
  assert.deepEqual(await run(t, "version"), { exitCode: 0, stdout: "podseidon 0.1.0 (commit abc, Node v26.0.0)\n" });
});

test("help lists the commands and the roles", async (t) => {
  const { exitCode, stdout } = await run(t, "help");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Usage: podseidon --role=/);
  assert.match(stdout, /\nCommands:\n(.*\n)* {2}version {2}/);
  assert.match(stdout, /\nRoles, .*:\n(.*\n)* {2}webhook {2}/);
  assert(stdout.split("\n").length < 60);
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

test("a role has its help by its name, and a role that is typed as a command is led to its flag", async (t) => {
  const { exitCode, stdout } = await run(t, "help", "webhook");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^Usage: podseidon --role=webhook .*\n\nThe webhook [^]*\nExamples:\n/);
  assert.match((await run(t, "webhook")).problem ?? "", /; did you mean --role=webhook\?$/);
});

test("a command that is called without its part names the parts", async (t) => {
  assert.deepEqual(await run(t, "install").then(({ exitCode, problem }) => [exitCode, problem]), [
    2,
    "install: <part> is missing; allowed: core, worker, single, systemd",
  ]);
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

test("the help of every command fits 80 columns and says what the command is for", async (t) => {
  const { stdout } = await run(t, "help");
  const names = [...(/\nCommands:\n([^]*?)\n\n/.exec(stdout)?.[1] ?? "").matchAll(/^ {2}([a-z]+)/gm)].map(
    ([, name = ""]) => name,
  );
  assert(names.length >= 8);
  for (const name of names) {
    const help = await run(t, name, "--help");
    assert.equal(help.exitCode, 0);
    assert.match(help.stdout, /^[A-Z].{5,54}\.\n\nUsage:\n/, name);
    for (const line of help.stdout.split("\n")) assert(line.length <= 80 && line === line.trimEnd(), line);
  }
});

test("names from a cluster cannot control the terminal by a problem", async () => {
  const fleet = await createFleet();
  const latched = new Map([["namespace/\u001b[2Jshop\u202e", 0 as EpochMicros]]);
  await fleet.core.create(builtInResources.configMaps, systemNamespace, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: generatorStateName },
    data: { [latchesKey]: encodeLatches({ latched, approvals: [] }) },
  });
  const { problem } = await fleet.run("approve", "x", "--reason", "y");
  assert.match(problem ?? "", /these do: namespace\/\?\[2Jshop\?, /);
  const { stdout } = await fleet.run("approve", "-o", "json");
  assert.match(stdout, /^[\x20-\x7e\n]*$/);
});
