import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test, type TestContext } from "node:test";
import { cac } from "cac";
import { valueOf } from "../../../src/commands/command.ts";
import { parseOptions, partsOf } from "../../../src/commands/options.ts";
import { Problem } from "../../../src/config/reading/problem.ts";
import { encodeLatches, latchesKey } from "../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { builtInResources } from "../../double/index.ts";
import { readPages } from "../../pages/pages.ts";
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

const declared = [
  { usage: "--core <context>", description: "", isRepeatable: true },
  { usage: "-n, --namespace <name>", description: "" },
  { usage: "-w, --watch", description: "" },
];

test("an option is taken apart as it is declared", () => {
  assert.deepEqual(partsOf(declared[1]!), { long: "namespace", short: "n", placeholder: "name" });
  assert.deepEqual(partsOf(declared[2]!), { long: "watch", short: "w", placeholder: undefined });
});

test("values are taken as they were written, in any spelling, among arguments", () => {
  const parsed = parseOptions(declared, ["a", "-n", "007", "--core=x=1", "b", "--core", "1e3", "-w"]);
  assert(!(parsed instanceof Problem));
  assert.deepEqual(parsed.args, ["a", "b"]);
  assert.equal(valueOf(parsed.options, "namespace"), "007");
  assert.deepEqual(parsed.options.get("core"), ["x=1", "1e3"]);
  assert.deepEqual([parsed.options.has("watch"), parsed.options.has("all")], [true, false]);
  assert.equal(valueOf(parsed.options, "kubeconfig"), undefined);
});

test("--help is found wherever it stands", () => {
  for (const argv of [["--help"], ["x", "-h", "--core=a"]]) {
    const parsed = parseOptions(declared, argv);
    assert(!(parsed instanceof Problem) && parsed.asksForHelp);
  }
});

test("a mistake names the option and what would be right", () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [["--cor=x"], "unknown option --cor; did you mean --core? (--help lists all)"],
    [["-x"], "unknown option -x (--help lists all)"],
    [["--core"], "option --core needs a value: --core=context"],
    [["--core="], "option --core needs a value: --core=context"],
    [["-n", "--watch"], "option -n needs a value: --namespace=name"],
    [["--watch=yes"], "option --watch takes no value"],
    [["-n", "a", "--namespace=b"], 'option --namespace is given twice: "a" and "b"'],
  ];
  for (const [argv, message] of cases) {
    const parsed = parseOptions(declared, argv);
    assert(parsed instanceof Problem, argv.join(" "));
    assert.equal(parsed.message, message);
  }
});

test("a switch may be repeated, and a value that begins with a dash is given after =", () => {
  const parsed = parseOptions(declared, ["-w", "-w", "--namespace=-x"]);
  assert(!(parsed instanceof Problem));
  assert.equal(valueOf(parsed.options, "namespace"), "-x");
});

const bash = "/bin/bash";
/** Only ends a hang. */
const timeout = 60_000;

/** What bash offers for a line whose last word is being typed. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await (await createFleet()).run("completion", "bash");
  const quoted = words.map((word) => `'${word}'`).join(" ");
  const line = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _podseidon`;
  const script = `${stdout}\n${line}\nprintf '%s\\n' "\${COMPREPLY[@]}"`;
  const printed = execFileSync(bash, ["--norc", "-c", script], { encoding: "utf8", timeout, env: { PATH: "/bin" } });
  return printed.split("\n").filter((line) => line !== "");
}

test("bash completes commands, their words and their options", { skip: !existsSync(bash) && "no bash" }, async () => {
  assert.deepEqual(await offered("podseidon", "st"), ["status"]);
  assert.deepEqual(await offered("podseidon", "cells", "ke"), ["keep"]);
  assert.deepEqual(await offered("podseidon", "status", "--a"), ["--all"]);
  assert.deepEqual(await offered("podseidon", "status", "-o", "j"), ["json"]);
  assert.deepEqual(await offered("podseidon", "explain", "dep"), ["deployment"]);
  assert.deepEqual(await offered("podseidon", "nothing", "--"), []);
});

test("zsh uses the completion of bash, and fish gets a line for each command and option", async () => {
  const fleet = await createFleet();
  assert.match((await fleet.run("completion", "zsh")).stdout, /^#compdef podseidon\n.*bashcompinit\n/);
  const { stdout } = await fleet.run("completion", "fish");
  assert.match(stdout, /\ncomplete -c podseidon -n __fish_use_subcommand -a status -d 'Show the PodProtectors, .*'\n/);
  assert.match(stdout, /\ncomplete -c podseidon -n '__fish_seen_subcommand_from status' -s w -l watch -d '.*'\n/);
  assert.match(stdout, /from explain' -a 'pod protector deployment /);
  // A quote in a description does not end it.
  assert.match(stdout, /-l reason -r -d 'Why they may pass; for the generator\\'s log'\n/);
});

test("an unknown shell is a usage error", async () => {
  const { exitCode, problem } = await (await createFleet()).run("completion", "tcsh");
  assert.deepEqual([exitCode, problem], [2, 'completion: "tcsh" is no shell; allowed: bash, zsh, fish']);
});

/** Calls of a command in the pages: in a line of their own, or between backquotes. */
function callsIn(text: string): readonly (readonly string[])[] {
  return [...text.matchAll(/(?:^|`)(?:\$ )?(?:kubectl )?podseidon ([a-z][^`\n#>|]*)/gm)].map(([, call = ""]) =>
    (call.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) => word.replaceAll(/["']/g, "")),
  );
}

test("every call of a command in the pages is one that the program takes", async (t) => {
  const fleet = await createFleet();
  t.mock.method(console, "info", () => {});
  let found = 0;
  for (const { file, text } of readPages()) {
    for (const call of callsIn(text)) {
      const { exitCode, problem = "" } = await fleet.run(...call, "--help");
      // Such as a name of a process or a file.
      if (problem.startsWith("unknown command")) continue;
      assert.deepEqual([exitCode, problem], [0, ""], `${file}: podseidon ${call.join(" ")}`);
      found += 1;
    }
  }
  assert(found > 20, `only ${found} calls were found`);
});

test("a call that the program does not take would be found", async () => {
  const [call = []] = callsIn("$ podseidon status --al -n 'a b' # why\n");
  assert.deepEqual(call, ["status", "--al", "-n", "a b"]);
  assert.equal((await (await createFleet()).run(...call, "--help")).exitCode, 2);
});

test("cac does not give the values of options as they were written, so it does not parse them", () => {
  const parsed = (...argv: readonly string[]): unknown => {
    const cli = cac("podseidon");
    const command = cli.command("status", "").option("-n, --namespace <name>", "").option("--core <context>", "");
    command.option("--watch", "").action(() => {});
    const { args, options } = cli.parse(["node", "podseidon", "status", ...argv], { run: false });
    const { "--": _rest, ...named } = options;
    return [...args, named];
  };
  assert.deepEqual(parsed("-n", "007"), [{ n: 7, namespace: 7 }]);
  assert.deepEqual(parsed("--core=1e3"), [{ core: 1000 }]);
  assert.deepEqual(parsed("-nso"), [{ n: true, s: true, o: true, namespace: true }]);
  assert.deepEqual([parsed("--core="), parsed("--core=", "x")], [[{ core: true }], [{ core: "x" }]]);
  assert.deepEqual(parsed("-n", "a", "--namespace=b"), [{ n: "a", namespace: "a" }]);
  assert.deepEqual(parsed("--watch=yes"), ["yes", { watch: true }]);
  assert.deepEqual(parsed("--no-watch", "--core.a=b"), [{ watch: false, core: { a: "b" } }]);
});
