/** Runs a piece of work while this process leads, and stands again when leadership was lost. */
import { sleep } from "../../util/clock.ts";
import { uniform } from "../../util/rng.ts";
import { retryJitterFactor } from "../../config/election-rule.ts";
import { type Elector } from "./elector.ts";

/**
 * Waits for leadership and runs `work` with a signal that aborts when leadership is lost or `signal` aborts; `work`
 * then finishes what it has taken on and resolves. Loss: waits for `work` and stands as a candidate again. `signal`:
 * goes on renewing until `work` has finished, then releases the Lease and resolves. Also resolves, after a release,
 * when `work` ends by itself. Rejects only with what `work` rejects with; the Lease is then left to run out, since
 * nobody knows what is still going on. With election disabled it runs `work` at once.
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

/** Stands as a candidate. False when `signal` aborted before. */
async function acquire(elector: Elector, signal: AbortSignal): Promise<boolean> {
  const { config, clock, rng, logger } = elector;
  logger.info("Stands as a candidate for the Lease", { identity: elector.identity });
  let holder = "";
  for (;;) {
    const attempt = await elector.tryAcquireOrRenew(config.renewDeadlineMs, signal);
    if (attempt.type === "held") {
      if (!signal.aborted) return true;
      await elector.release();
    }
    if (signal.aborted) return false;
    if (attempt.type === "failed") logger.warn("Cannot acquire the Lease", { reason: attempt.reason });
    else if (attempt.type === "other" && attempt.holder !== holder) {
      holder = attempt.holder;
      logger.info("Another process leads", { holder });
    }
    // As client-go waits: between 1 and 2.2 periods.
    await sleep(clock, config.retryPeriodMs * (1 + uniform(rng, 0, retryJitterFactor)), signal);
    if (signal.aborted) return false;
  }
}

/** Works and renews side by side. "lost": stand again. "finished": the work ended while we still led. */
async function lead(
  elector: Elector,
  signal: AbortSignal,
  work: (leadershipSignal: AbortSignal) => Promise<void>,
): Promise<"lost" | "finished"> {
  const leadership = new AbortController();
  const worked = new AbortController();
  const stop = (): void => leadership.abort();
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  try {
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
  } finally {
    signal.removeEventListener("abort", stop);
  }
}

/** Renews until `done` aborts; then undefined. Else the reason why leadership is over. */
async function renew(elector: Elector, done: AbortSignal): Promise<string | undefined> {
  const { config, clock, logger } = elector;
  // A slow acquisition has used up a part of the deadline: the first renewal must still have time.
  let pauseMs = Math.min(config.retryPeriodMs, elector.leadershipLeftMs() / 2);
  for (;;) {
    await sleep(clock, pauseMs, done);
    if (done.aborted) return undefined;
    const leftMs = elector.leadershipLeftMs();
    if (leftMs <= 0) return `it could not be renewed within ${config.renewDeadlineMs} ms`;
    const attempt = await elector.tryAcquireOrRenew(leftMs);
    if (attempt.type === "other") return `"${attempt.holder}" holds it`;
    if (attempt.type === "failed" && !done.aborted) logger.warn("Cannot renew the Lease", { reason: attempt.reason });
    // Never beyond the deadline, also when the last attempt ended shortly before it.
    pauseMs = Math.min(config.retryPeriodMs, elector.leadershipLeftMs());
  }
}
