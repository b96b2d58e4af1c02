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
