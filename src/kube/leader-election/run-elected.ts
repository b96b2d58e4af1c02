/** Runs a piece of work while this process leads, and tries to acquire the Lease again when leadership was lost. */
import { later, sleep } from "../../util/clock.ts";
import { linkedAbort } from "../../util/linked-abort.ts";
import { Outage } from "../../util/outage.ts";
import { uniform } from "../../util/rng.ts";
import { retryJitterFactor } from "../../config/election.ts";
import { type Elector } from "./elector.ts";

/**
 * Waits for leadership, then runs `work` with a signal. `work` finishes what it has begun and resolves when that signal
 * aborts, which means one of two things:
 * - Leadership is lost. Waits for `work`, then tries to acquire the Lease again.
 * - `signal` aborted. Renews the Lease until `work` has finished, then releases it and resolves.
 *
 * When `work` ends by itself, the Lease is released too. Rejects only with what `work` rejects with; the Lease is then
 * left to expire, since parts of `work` may still run. With election disabled `work` runs at once.
 */
export async function runElected(
  elector: Elector,
  signal: AbortSignal,
  work: (leadershipSignal: AbortSignal) => Promise<void>,
): Promise<void> {
  if (!elector.config.enable) return work(signal);
  while (!signal.aborted) {
    if (!(await acquire(elector, signal))) return;
    elector.announceAcquired();
    if ((await lead(elector, signal, work)) === "finished") return elector.release();
  }
}

/** Tries until the Lease is acquired. False when `signal` aborted before. */
async function acquire(elector: Elector, signal: AbortSignal): Promise<boolean> {
  const { config, clock, rng, logger } = elector;
  logger.info("Acquiring leader lease", { identity: elector.identity });
  let holder = "";
  const outage = new Outage(clock);
  for (;;) {
    const startedAtMs = clock.monotonicMs();
    const attempt = await elector.tryAcquireOrRenew(config.renewDeadlineMs, signal);
    const over = attempt.type === "failed" ? undefined : outage.ended();
    if (over !== undefined) logger.info("Reaching the leader lease again", over);
    if (attempt.type === "held") {
      if (!signal.aborted) return true;
      await elector.release();
    }
    if (signal.aborted) return false;
    if (attempt.type === "failed") {
      const { reason, way } = attempt;
      if (outage.failed(way)) logger.warn("Failed to acquire leader lease, retrying", { reason });
    } else if (attempt.type === "other" && attempt.holder !== holder) {
      holder = attempt.holder;
      logger.info("Another process is the leader", { holder });
    }
    // Between 1 and 2.2 periods, as client-go; but from the start of the attempt, so that late answers add nothing.
    const periodMs = config.retryPeriodMs * (1 + uniform(rng, 0, retryJitterFactor));
    await sleep(clock, later(startedAtMs, periodMs) - clock.monotonicMs(), signal);
    if (signal.aborted) return false;
  }
}

/** Works and renews side by side. "lost": another may lead now. "finished": the work ended while we still led. */
async function lead(
  elector: Elector,
  signal: AbortSignal,
  work: (leadershipSignal: AbortSignal) => Promise<void>,
): Promise<"lost" | "finished"> {
  using leadership = linkedAbort(signal);
  const worked = new AbortController();
  const renewing = renew(elector, worked.signal).then((lostBecause) => {
    if (lostBecause === undefined) return "finished" as const;
    elector.giveUp(lostBecause);
    leadership.abort();
    return "lost" as const;
  });
  try {
    await work(leadership.signal);
  } finally {
    worked.abort();
  }
  return await renewing;
}

/** Renews until `done` aborts; then undefined. Otherwise the reason why leadership is lost. */
async function renew(elector: Elector, done: AbortSignal): Promise<string | undefined> {
  const { config, clock, logger } = elector;
  // Periods are counted from the last request, so that a late answer is followed by the next renewal at once.
  const outage = new Outage(clock);
  let nextAtMs = later(clock.monotonicMs(), config.retryPeriodMs - config.renewDeadlineMs + elector.leadershipLeftMs());
  for (;;) {
    // Never beyond the deadline, also when the last attempt ended shortly before it.
    await sleep(clock, Math.min(nextAtMs - clock.monotonicMs(), elector.leadershipLeftMs()), done);
    if (done.aborted) return undefined;
    const leftMs = elector.leadershipLeftMs();
    if (leftMs <= 0) return `it was not renewed within ${config.renewDeadlineMs} ms`;
    nextAtMs = later(clock.monotonicMs(), config.retryPeriodMs);
    const attempt = await elector.tryAcquireOrRenew(leftMs);
    if (attempt.type === "other") return `it is held by "${attempt.holder}"`;
    if (attempt.type === "failed") {
      const { reason, way } = attempt;
      if (!done.aborted && outage.failed(way)) logger.warn("Failed to renew leader lease, retrying", { reason });
      continue;
    }
    const over = outage.ended();
    if (over !== undefined) logger.info("Renewing leader lease again", over);
  }
}
