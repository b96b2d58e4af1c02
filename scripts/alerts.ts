/**
 * `make alerts`: checks and tests the rules of manifests/monitoring with promtool.
 *   node scripts/n.mjs scripts/alerts.ts            check and test
 *   node scripts/n.mjs scripts/alerts.ts --print    the rules as one file for a plain Prometheus, to stdout
 */
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { dump, load } from "js-yaml";
import { GoToolError, resolveGoTool } from "./go/go-tool.ts";
import { promtool as promtoolProgram } from "./go/promtool.ts";

interface Rule {
  readonly alert?: string;
  readonly annotations?: Readonly<Record<string, string>>;
}
interface Groups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[];
}

const root = path.join(import.meta.dirname, "..");
/** Folders of manifests/monitoring with rules, and the tests of the same name in test/monitoring/alerts. */
const parts = ["processes", "core", "worker"] as const;
/** Playing hours of samples takes a second. */
const timeoutMs = 120_000;

function groupsOf(part: (typeof parts)[number]): Groups {
  const file = path.join(root, "manifests/monitoring", part, "rules.yaml");
  return (load(readFileSync(file, "utf8")) as { readonly spec: Groups }).spec;
}

/** As one file for a plain Prometheus. */
const allRules = (): string => dump({ groups: parts.flatMap((part) => groupsOf(part).groups) });

/**
 * The tests repeat the annotations of each alert that they expect. They have the summary alone, in which all that is
 * filled in can be seen; promtool has checked the templates of the others.
 */
function withSummariesOnly({ groups }: Groups): Groups {
  const short = (rule: Rule): Rule =>
    rule.annotations === undefined ? rule : { ...rule, annotations: { summary: rule.annotations["summary"] ?? "" } };
  return { groups: groups.map((group) => ({ ...group, rules: group.rules.map(short) })) };
}

function run(promtool: string, folder: string, args: readonly string[]): boolean {
  const { status, error } = spawnSync(promtool, args, { cwd: folder, stdio: "inherit", timeout: timeoutMs });
  if (error !== undefined) console.error(`alerts: ${error.message}`);
  return status === 0;
}

async function check(): Promise<boolean> {
  const promtool = await resolveGoTool(promtoolProgram, (line) => console.error(line));
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-alerts-"));
  try {
    writeFileSync(path.join(folder, "podseidon.rules.yaml"), allRules());
    for (const part of parts) {
      writeFileSync(path.join(folder, `${part}.rules.yaml`), dump(withSummariesOnly(groupsOf(part))));
      copyFileSync(path.join(root, "test/monitoring/alerts", `${part}.yaml`), path.join(folder, `${part}.test.yaml`));
    }
    const isValid = run(promtool, folder, ["check", "rules", "--lint=all", "--lint-fatal", "podseidon.rules.yaml"]);
    return run(promtool, folder, ["test", "rules", ...parts.map((part) => `${part}.test.yaml`)]) && isValid;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv.includes("--print")) {
  process.stdout.write(allRules());
} else {
  try {
    if (!(await check())) process.exitCode = 1;
  } catch (error) {
    if (!(error instanceof GoToolError)) throw error;
    console.error(`alerts: ${error.message}`);
    process.exitCode = 1;
  }
}
