/** Checks the systemd unit with systemd's own tool, for `make e2e`. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

export type UnitVerdict =
  | { readonly kind: "passed" }
  | { readonly kind: "failed"; readonly output: string }
  /** The host has no systemd-analyze. */
  | { readonly kind: "tool-missing" };

const unitFile = path.join(import.meta.dirname, "../../manifests/systemd/podseidon@.service");

/** The unit's ExecStart for a role, in words. Throws when the unit has not exactly one. */
export function unitCommandLine(role: string): readonly string[] {
  const [line, ...more] = [...readFileSync(unitFile, "utf8").matchAll(/^ExecStart=(.*)$/gm)].map((match) => match[1]);
  if (line === undefined || more.length > 0) throw new Error(`${unitFile}: expected one ExecStart`);
  return line.replaceAll("%i", role).split(" ");
}

/**
 * Runs `systemd-analyze verify` on a copy of the template unit, as instance `role`, whose ExecStart is `executable`
 * (which must exist: the tool checks that). Any output counts as a failure: the tool exits 0 on settings that it does
 * not know.
 */
export function verifySystemdUnit(executable: string, role: string): UnitVerdict {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-unit-"));
  try {
    const text = readFileSync(unitFile, "utf8").replace("/usr/local/bin/podseidon", path.resolve(executable));
    writeFileSync(path.join(folder, "podseidon@.service"), text);
    const run = spawnSync("systemd-analyze", ["verify", "--man=no", path.join(folder, `podseidon@${role}.service`)], {
      encoding: "utf8",
      timeout: 60_000,
    });
    if (run.error !== undefined && "code" in run.error && run.error.code === "ENOENT") return { kind: "tool-missing" };
    if (run.error !== undefined) return { kind: "failed", output: run.error.message };
    const output = `${run.stdout}${run.stderr}`.trim();
    return run.status === 0 && output === ""
      ? { kind: "passed" }
      : { kind: "failed", output: `exit ${run.status}: ${output}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * The exposure that `systemd-analyze security` computes for the unit, from 0 to 10. Undefined where the host has no
 * such tool, or one before systemd 250, which cannot read a unit that is not loaded. Throws when its answer has no
 * score.
 */
export function unitExposure(): number | undefined {
  const run = spawnSync("systemd-analyze", ["security", "--offline=true", "--no-pager", unitFile], {
    encoding: "utf8",
    timeout: 60_000,
  });
  if (run.error !== undefined || /unrecognized option/.test(run.stderr)) return undefined;
  const [, score] = /Overall exposure level for \S+: ([\d.]+)/.exec(run.stdout) ?? [];
  if (score === undefined) throw new Error(`systemd-analyze: no score in ${run.stdout.slice(-200)}${run.stderr}`);
  return Number(score);
}
