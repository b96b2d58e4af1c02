/**
 * The registry of health checks, and the responses about them in the format of Kubernetes' own components. The list
 * of a failed probe withholds the reasons, as there; with ?verbose it gives them, as the single check does to anybody
 * (docs/security.md#health).
 */
import { type Health, type HealthCheck } from "../lifecycle/component.ts";
import { assert } from "../util/assert.ts";
import { type Logger } from "../util/logger.ts";
import { type Metrics } from "../util/metrics.ts";
import { printable } from "../util/printable.ts";

export interface HealthAnswer {
  readonly status: 200 | 404 | 500;
  readonly text: string;
}

export interface HealthRegistry extends Health {
  /** Runs all checks except the excluded ones. Lists them when `isVerbose` or when one fails. */
  answerAll(options: { readonly isVerbose: boolean; readonly excluded: readonly string[] }): HealthAnswer;
  /** Runs one check; 404 when there is no such check. */
  answerOne(name: string): HealthAnswer;
}

export function createHealth(options: { readonly logger: Logger; readonly metrics: Metrics }): HealthRegistry {
  const { logger } = options;
  const checks = new Map<string, HealthCheck>();
  /** The current failures, so that each is logged when it begins and when it ends, not with every probe. */
  const failures = new Map<string, string>();
  const failureCount = options.metrics.counter(
    "healthck_failure",
    "Failed health checks, counted when they are probed",
    ["check", "error"],
  );

  function evaluate(name: string, check: HealthCheck): string | undefined {
    const reason = check();
    // The phases only show the progress of the start-up; upstream does not count them either.
    if (reason !== undefined && !name.endsWith("/phase")) failureCount.inc({ check: name, error: "CheckFailed" });
    if (reason !== undefined && failures.get(name) !== reason)
      logger.warn("Health check failed", { check: name, reason });
    if (reason === undefined && failures.has(name)) logger.info("Health check passed again", { check: name });
    if (reason === undefined) failures.delete(name);
    else failures.set(name, reason);
    return reason;
  }

  return {
    register(name, check) {
      assert(!checks.has(name), `health check ${name} exists already`);
      checks.set(name, check);
    },
    answerAll: ({ isVerbose, excluded }) => {
      const lines: string[] = [];
      let hasFailed = false;
      for (const [name, check] of [...checks].sort(([one], [other]) => (one < other ? -1 : 1))) {
        const isExcluded = excluded.includes(name);
        const reason = isExcluded ? undefined : evaluate(name, check);
        hasFailed ||= reason !== undefined;
        if (isExcluded) lines.push(`[+]${name} excluded: ok`);
        else if (reason === undefined) lines.push(`[+]${name} ok`);
        else lines.push(`[-]${name} failed: ${isVerbose ? printable(reason) : "reason withheld"}`);
      }
      if (!hasFailed && !isVerbose) return { status: 200, text: "ok" };
      if (checks.size === 0) lines.push("[+]ping ok");
      const unknown = excluded.filter((name) => !checks.has(name)).map((name) => JSON.stringify(name));
      if (unknown.length > 0) {
        lines.push(`warn: some health checks cannot be excluded: no matches for ${unknown.join(", ")}`);
      }
      lines.push(hasFailed ? "healthz check failed" : "healthz check passed", "");
      return { status: hasFailed ? 500 : 200, text: lines.join("\n") };
    },
    answerOne: (name) => {
      const check = checks.get(name);
      if (check === undefined) return { status: 404, text: "404 page not found\n" };
      const reason = evaluate(name, check);
      return reason === undefined
        ? { status: 200, text: "ok" }
        : { status: 500, text: `internal server error: ${printable(reason)}\n` };
    },
  };
}
