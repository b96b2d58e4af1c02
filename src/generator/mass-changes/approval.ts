/**
 * The annotation `approve` of the generator's ConfigMap, by which a person lets held changes pass
 * (docs/mass-changes.md#approve). Pure.
 */
import { asObject } from "../../api/json.ts";
import { parseTime } from "../../api/micro-time.ts";
import { type EpochMicros } from "../../util/clock.ts";

export interface Approval {
  /** As the Events name it; "*" = whatever is held. */
  readonly cause: string;
  readonly until: EpochMicros;
  /** For people, in the log. */
  readonly reason: string;
}

export type ReadApproval =
  | { readonly ok: true; readonly approval: Approval }
  /** What must stand there, for people. */
  | { readonly ok: false; readonly allowed: string };

/** An approval is for what a person has just looked at, not a standing permission. */
const longestMicros = 86_400_000_000;
const example = '{"cause": "namespace/shop", "until": "2027-01-31T18:00:00Z", "reason": "why"}';
/** More is a mistake, and would fill the log. */
const textLengthMax = 1_024;

/** Never throws. One that has expired is refused: nobody learns otherwise why nothing happens. */
export function readApproval(text: string, now: EpochMicros): ReadApproval {
  const refuse = (what: string): ReadApproval => ({ ok: false, allowed: `${what}, such as ${example}` });
  if (text.length > textLengthMax) return refuse(`a JSON object of at most ${textLengthMax} characters`);
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return refuse("a JSON object");
  }
  const fields = asObject(parsed);
  if (fields === undefined) return refuse("a JSON object");
  const { cause, until, reason } = fields;
  if (typeof cause !== "string" || cause === "") return refuse('a JSON object with a "cause"');
  if (typeof reason !== "string" || reason.trim() === "") return refuse('a JSON object with a "reason"');
  const end = parseTime(until);
  if (end === undefined) return refuse('a JSON object with "until", an RFC 3339 time');
  if (end <= now) return refuse('a JSON object with "until" in the future');
  if (end - now > longestMicros) return refuse('a JSON object with "until" within 24 hours');
  return { ok: true, approval: { cause, until: end, reason } };
}
