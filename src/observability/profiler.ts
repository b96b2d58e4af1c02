/**
 * Profiles of this process, by the inspector of Node from within: no debugger's port is opened. They name functions and
 * files of the program, never data.
 */
import type { Session } from "node:inspector/promises";
import { sleep, type Clock, longAgo } from "../util/clock.ts";

/** As long as Go's net/http/pprof profiles without `seconds`. */
export const cpuSecondsDefault = 30;
/** A profile of a minute has 60,000 samples, a few MB. */
export const cpuSecondsMax = 60;
/** Far beyond a profile of the longest duration. What is larger is not sent: it would be copied several times. */
const bytesMax = 64 * 1024 * 1024;
/** A thousandth of a second: little next to what is measured. */
const cpuSamplingMicros = 1_000;
/** Go's rate: one sample in half a megabyte that is allocated, on average. */
const heapSamplingBytes = 512 * 1024;
/** V8 collects all garbage for each profile of the heap, which stops everything else for up to a second. */
const heapPauseMs = 10_000;

export type Profile =
  | { readonly kind: "profile"; readonly text: string }
  /** Another one is under way, or the last one was too short a time ago. */
  | { readonly kind: "busy"; readonly retryAfterMs: number; readonly reason: string }
  | { readonly kind: "tooLarge"; readonly bytes: number };

/** What of node:inspector/promises is used; injected by tests. */
export type InspectorSession = Pick<Session, "connect" | "disconnect" | "post">;

export interface Profiler {
  /** From now on one allocation in many is remembered while its object lives. */
  start(): Promise<void>;
  /**
   * Samples the stack for `seconds` (1 to 60) or until `signal` aborts. The text is JSON in the format .cpuprofile. One
   * at a time.
   */
  cpu(seconds: number, signal: AbortSignal): Promise<Profile>;
  /**
   * Where the objects were allocated that are alive and younger than the start. The text is JSON in the format
   * .heapprofile. One in ten seconds.
   */
  heap(): Promise<Profile>;
  stop(): void;
}

export function createProfiler(deps: {
  readonly clock: Clock;
  readonly createSession: () => Promise<InspectorSession>;
}): Profiler {
  const { clock } = deps;
  let session: InspectorSession | undefined;
  let cpuEndsAtMs: number | undefined;
  let heapAtMs: number = longAgo;

  const opened = async (): Promise<InspectorSession> => {
    if (session !== undefined) return session;
    const created = await deps.createSession();
    created.connect();
    session = created;
    return created;
  };

  return {
    async start() {
      const own = await opened();
      await own.post("HeapProfiler.enable");
      await own.post("HeapProfiler.startSampling", { samplingInterval: heapSamplingBytes });
      await own.post("Profiler.enable");
      await own.post("Profiler.setSamplingInterval", { interval: cpuSamplingMicros });
    },
    async cpu(seconds, signal) {
      const nowMs = clock.monotonicMs();
      if (cpuEndsAtMs !== undefined)
        return { kind: "busy", retryAfterMs: Math.max(0, cpuEndsAtMs - nowMs), reason: "a profile is being taken" };
      cpuEndsAtMs = nowMs + seconds * 1000;
      try {
        const own = await opened();
        await own.post("Profiler.start");
        await sleep(clock, seconds * 1000, signal);
        const { profile } = (await own.post("Profiler.stop")) as { profile: unknown };
        return ofSize(JSON.stringify(profile));
      } finally {
        cpuEndsAtMs = undefined;
      }
    },
    async heap() {
      const sinceMs = clock.monotonicMs() - heapAtMs;
      if (sinceMs < heapPauseMs)
        return { kind: "busy", retryAfterMs: heapPauseMs - sinceMs, reason: "the last profile is too young" };
      heapAtMs = clock.monotonicMs();
      const own = await opened();
      const { profile } = (await own.post("HeapProfiler.getSamplingProfile")) as { profile: unknown };
      return ofSize(JSON.stringify(profile));
    },
    stop() {
      session?.disconnect();
      session = undefined;
    },
  };
}

function ofSize(text: string): Profile {
  const bytes = Buffer.byteLength(text);
  return bytes > bytesMax ? { kind: "tooLarge", bytes } : { kind: "profile", text };
}

/** An inspector of this thread. */
export async function createInspectorSession(): Promise<InspectorSession> {
  const inspector = await import("node:inspector/promises");
  return new inspector.Session();
}
