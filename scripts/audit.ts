/**
 * Asks the registry for known vulnerabilities of the packages that the executable is made of. Exits with 1 when there
 * is one of the severity high or critical. A registry that answers no such questions (a mirror, or no network) fails
 * nothing: it is said, so that nobody takes silence for a good answer.
 *
 *   node scripts/n.mjs scripts/audit.ts
 */
import { spawnSync } from "node:child_process";
import path from "node:path";

/** npm waits for the registry, and tries again. */
const npmTimeoutMs = 120_000;
const failing = ["high", "critical"] as const;

export interface Verdict {
  readonly isFailure: boolean;
  readonly text: string;
}

/** Judges what `npm audit --json` has printed. */
export function judgeAudit(output: string): Verdict {
  const report = parsed(output);
  const counts = report?.metadata?.vulnerabilities;
  if (counts === undefined) return { isFailure: false, text: "NOT CHECKED: the registry answers no audits" };
  const found = failing
    .map((severity) => ({ severity, count: counts[severity] ?? 0 }))
    .filter(({ count }) => count > 0);
  const packages = Object.entries(report?.vulnerabilities ?? {}).flatMap(([name, { severity }]) =>
    failing.some((one) => one === severity) ? [name] : [],
  );
  if (found.length === 0) return { isFailure: false, text: `${counts["total"] ?? 0} known vulnerabilities, none high` };
  const sums = found.map(({ severity, count }) => `${count} ${severity}`).join(", ");
  return { isFailure: true, text: `${sums}: ${packages.join(", ")} (npm audit says more)` };
}

interface Report {
  readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, number>> };
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity?: string }>>;
}

function parsed(output: string): Report | undefined {
  try {
    return JSON.parse(output) as Report;
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const args = ["audit", "--json", "--omit=dev"];
  const options = { cwd: path.join(import.meta.dirname, ".."), encoding: "utf8", timeout: npmTimeoutMs } as const;
  const { isFailure, text } = judgeAudit(spawnSync("npm", args, options).stdout);
  console.log(`audit: ${text}`);
  process.exitCode = isFailure ? 1 : 0;
}
