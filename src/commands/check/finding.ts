/** What a check has found out, one line each, and how a person mends it. */
import { type EpochMicros } from "../../util/clock.ts";
import { ageText } from "../text/format.ts";

/**
 * - ok: looked at, and in order;
 * - fail: pods are not guarded as they should be, or can no longer be deleted, or soon will be so;
 * - warn: works now, and will hurt;
 * - note: as somebody wanted it, and good to know;
 * - unchecked: nothing was found out, so nothing is claimed.
 */
export type Level = "ok" | "fail" | "warn" | "note" | "unchecked";

/** Stable names of what is checked, for scripts that read `--output=json`. */
export type CheckID =
  | "aggregator"
  | "annotation-ignored"
  | "ca-bundle"
  | "cell-behind"
  | "cell-keep"
  | "cell-retiring"
  | "cell-shared"
  | "cell-silent"
  | "certificate"
  | "change-held"
  | "client-certificate"
  | "cluster"
  | "clock"
  | "core-writes"
  | "counts-pending"
  | "crd"
  | "crd-prunes"
  | "dangling"
  | "failure-policy"
  | "gate"
  | "generator"
  | "generator-awaited"
  | "ghost-cell"
  | "implausible"
  | "guarded"
  | "mode"
  | "policy"
  | "protectors"
  | "refused"
  | "release"
  | "right"
  | "token"
  | "tombstone"
  | "undrainable"
  | "webhook-cell"
  | "webhook-configuration"
  | "webhook-replicas"
  | "worker";

export interface Finding {
  readonly check: CheckID;
  readonly level: Level;
  /** One sentence without a full stop. May quote text of others: whoever shows it takes care of that. */
  readonly text: string;
  /** What to do. */
  readonly cure?: string;
  /** For the terminal: does it, or begins with it. */
  readonly command?: string;
  /** A page of docs/ with its heading. */
  readonly page?: string;
}

export interface Remedy {
  readonly cure: string;
  readonly command?: string;
  readonly page: string;
}

/** The findings about one cluster, or about one matter of the whole fleet. */
export interface Group {
  readonly title: string;
  readonly findings: readonly Finding[];
}

export function ok(check: CheckID, text: string): Finding {
  return { check, level: "ok", text };
}

export function fail(check: CheckID, text: string, remedy: Remedy): Finding {
  return { check, level: "fail", text, ...remedy };
}

export function warn(check: CheckID, text: string, remedy: Remedy): Finding {
  return { check, level: "warn", text, ...remedy };
}

export function note(check: CheckID, text: string, page: string): Finding {
  return { check, level: "note", text, page };
}

/** `what` was not looked at, and why. */
export function unchecked(check: CheckID, what: string, why: string): Finding {
  return { check, level: "unchecked", text: `${what}: not checked, ${why}` };
}

/** Names in a sentence: a line for a terminal fits this many. */
const namedMax = 5;

/** The first few of `names`, and how many more there are. */
export function namesText(names: readonly string[]): string {
  const shown = names.slice(0, namedMax).join(", ");
  return names.length > namedMax ? `${shown} and ${names.length - namedMax} more` : shown;
}

/** How long ago a moment was. */
export function agoText(now: EpochMicros, then: EpochMicros | undefined): string {
  return then === undefined ? "an unknown time" : ageText((now - then) / 1_000);
}

/** "1 workload", "2 workloads". */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
