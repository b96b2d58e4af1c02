import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { createFleet } from "./support/fleet.ts";

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
