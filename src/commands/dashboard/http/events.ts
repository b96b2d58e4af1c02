/**
 * Updates of one browser as server-sent events. What changes at once goes into one event, at most four a second, and
 * the next one is made only after the browser has taken the last: a slow one gets fewer, not more memory.
 */
import { type Context } from "hono";
import { streamSSE } from "hono/streaming";
import { type Clock, sleep } from "../../../util/clock.ts";
import { type DashboardState } from "../model/dashboard-state.ts";
import { type State, states } from "../../fleet/standing.ts";
import { entriesDefault, View, type ViewQuery } from "../model/view.ts";

/** Four a second look like at once. */
const updateSpacingMs = 250;
/** A browser that hears nothing for three of these says that the connection is lost. */
export const beatMs = 10_000;
/** After this the browser tries again when the connection is lost. */
const retryMs = 1_000;
/** Longer searches are mistakes. */
const wordsLengthMax = 200;
/** More pages than a fleet has. */
const pageMax = 100_000;

export interface EventsOptions {
  readonly state: DashboardState;
  readonly clock: Clock;
  /** Tells this run of the program from others: what was sent by another is worth nothing. */
  readonly run: string;
  /** Aborts when the program ends. */
  readonly signal: AbortSignal;
}

/** Answers with updates of what the query asks for, the first one whole, until the browser or the program ends. */
export function sendEvents(context: Context, options: EventsOptions, onEnd: () => void): Response {
  const { state, clock, run, signal } = options;
  const view = new View(state, readQuery(context, run));
  return streamSSE(context, async (stream) => {
    const gone = new AbortController();
    stream.onAbort(() => gone.abort());
    const ended = AbortSignal.any([gone.signal, signal]);
    try {
      while (!ended.aborted) {
        const { version } = state;
        const nowMs = clock.epochMicros() / 1000;
        const data = JSON.stringify(view.update(nowMs) ?? { isWhole: false, nowMs });
        await stream.writeSSE({ event: "update", data, id: `${run}.${view.sentChange}`, retry: retryMs });
        await sleep(clock, updateSpacingMs, ended);
        await state.whenChanged(version, beatMs, ended);
      }
    } finally {
      onEnd();
    }
  });
}

function readQuery({ req }: Context, run: string): ViewQuery {
  const [ofRun, change] = (req.header("Last-Event-ID") ?? "").split(".");
  return {
    words: (req.query("words") ?? "").slice(0, wordsLengthMax),
    state: states.find((name): name is State => name === req.query("state")),
    page: numberOf(req.query("page"), 1, pageMax) ?? 1,
    entries: numberOf(req.query("entries"), 1, 500) ?? entriesDefault,
    entriesSince: (ofRun === run ? numberOf(change, 0, Number.MAX_SAFE_INTEGER) : undefined) ?? 0,
  };
}

function numberOf(text: string | undefined, least: number, most: number): number | undefined {
  const value = /^\d{1,16}$/.test(text ?? "") ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : undefined;
}
