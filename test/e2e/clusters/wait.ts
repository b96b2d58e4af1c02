/**
 * Waiting for something outside of this process: polled, because there is nothing to subscribe to, and always with a
 * limit.
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

/** In milliseconds. */
export const second = 1_000;

/** 20 polls a second cost nothing on loopback and add at most 50 ms to a wait. */
const pollIntervalMs = 50;

/**
 * Calls `probe` until it resolves to something other than undefined or false. Failures of the probe count as "not yet".
 * Throws after `timeoutMs`, with `what` and the last failure.
 */
export async function waitFor<T>(
  what: string,
  timeoutMs: number,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
): Promise<T> {
  const endMs = performance.now() + timeoutMs;
  for (;;) {
    let failure: unknown;
    try {
      const result = await probe();
      if (result !== undefined && result !== false) return result;
    } catch (error) {
      if (error instanceof GiveUp) throw error;
      failure = error;
    }
    if (performance.now() >= endMs) throw new Error(`${what}: not within ${timeoutMs} ms`, { cause: failure });
    await delay(pollIntervalMs);
  }
}

/** Thrown by a probe when waiting longer is pointless. */
export class GiveUp extends Error {
  override readonly name = "GiveUp";
}

/** What must be there to go on. */
export function present<T>(value: T | undefined): T {
  assert.ok(value !== undefined);
  return value;
}
