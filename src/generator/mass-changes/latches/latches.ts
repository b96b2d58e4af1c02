/**
 * What the generator's ConfigMap says of mass changes, in a key of its own: which causes are latched, and which
 * approvals were carried out. Reading never fails: what is not understood is no latch. Pure.
 */
import { asList, asObject } from "../../../api/json.ts";
import { formatMicroTime, parseTime } from "../../../api/micro-time.ts";
import { type EpochMicros } from "../../../util/clock.ts";

/** Key of the data. */
export const latchesKey = "latches";

/** An approval that was carried out: changes until then pass, also after a restart of the generator. */
export interface CarriedOut {
  readonly cause: string;
  readonly at: EpochMicros;
  readonly until: EpochMicros;
  /** The annotation, so that it is carried out once. */
  readonly text: string;
}

export interface Latches {
  /** Since when each cause is latched. */
  readonly latched: ReadonlyMap<string, EpochMicros>;
  readonly approvals: readonly CarriedOut[];
}

export function decodeLatches(text: string | undefined): Latches {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text ?? "");
  } catch {
    parsed = undefined;
  }
  const { latched, approvals } = asObject(parsed) ?? {};
  return {
    latched: new Map(
      asList(latched).flatMap((entry) => {
        const [cause, time] = asList(entry);
        const since = parseTime(time);
        return typeof cause === "string" && since !== undefined ? [[cause, since] as const] : [];
      }),
    ),
    approvals: asList(approvals).flatMap((entry) => {
      const [cause, time, end, annotation] = asList(entry);
      const [at, until] = [parseTime(time), parseTime(end)];
      if (typeof cause !== "string" || typeof annotation !== "string") return [];
      return at === undefined || until === undefined ? [] : [{ cause, at, until, text: annotation }];
    }),
  };
}

export function encodeLatches({ latched, approvals }: Latches): string {
  return JSON.stringify({
    latched: [...latched].map(([cause, since]) => [cause, formatMicroTime(since)]),
    approvals: approvals.map(({ cause, at, until, text }) => [
      cause,
      formatMicroTime(at),
      formatMicroTime(until),
      text,
    ]),
  });
}
