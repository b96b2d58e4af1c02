/**
 * Made-up reviews before the first real one. The first hundreds of a process cost three times the CPU of later ones,
 * until the compiler has seen them, and a disaster may well be what a fresh replica sees first. So a second webhook,
 * over a core in memory, answers reviews of all kinds before the real one is ready (docs/webhook.md#warm-up). Nothing
 * of it is logged, measured or sent.
 */
import { sleep } from "../../util/clock.ts";
import { silentLogger } from "../../util/logger.ts";
import { silentMetrics } from "../../util/metrics.ts";
import { createWebhook, type WebhookOptions } from "../webhook.ts";
import { MadeUpCore } from "./made-up-core.ts";
import { madeUpCell, madeUpProtectors, madeUpReviews } from "./made-up-objects.ts";

/** Readiness waits for it: a rollout of replicas does not notice a second. */
const warmUpMs = 1_000;
/** More teach the compiler nothing. */
const reviewsMax = 4_000;
/** Few enough that watches, which start at the same time, get their turns. */
const atOnce = 16;

/** How many reviews were answered, how many of them with "allowed", and for how long it took. */
export interface WarmedUp {
  readonly reviews: number;
  readonly admitted: number;
  readonly durationMs: number;
}

/**
 * Answers made-up reviews for a second at most, or until they were enough. How reviews are judged is taken from
 * `options`, those of the real webhook; nothing else of it is touched.
 */
export async function warmUp(options: WebhookOptions): Promise<WarmedUp> {
  const { clock } = options;
  const core = new MadeUpCore(madeUpProtectors());
  const webhook = createWebhook({ ...options, ...onlyInMemory, cores: [core.asWebhookCore()] });
  core.deliver();
  const bodies = madeUpReviews();
  const answer = async (index: number): Promise<boolean> => {
    const body = bodies(index);
    const request = new Request(`http://webhook/${madeUpCell}?timeout=10s`, { method: "POST", body });
    const response = await webhook.fetch(request);
    return ((await response.json()) as { response?: { allowed?: boolean } }).response?.allowed === true;
  };
  const startMs = clock.monotonicMs();
  let [reviews, admitted] = [0, 0];
  while (reviews < reviewsMax && clock.monotonicMs() - startMs < warmUpMs) {
    const first = reviews;
    const answers = await Promise.all(Array.from({ length: atOnce }, (_, index) => answer(first + index)));
    reviews += atOnce;
    admitted += answers.filter((isAllowed) => isAllowed).length;
    await sleep(clock, 0);
  }
  await webhook.drain();
  return { reviews, admitted, durationMs: clock.monotonicMs() - startMs };
}

/** What would be seen outside, what the made-up reviews do not fit, and what would make them wait. */
const onlyInMemory = {
  workers: { kind: "none" },
  pathPrefix: "",
  allowedCells: new Set(),
  clientCells: new Map(),
  cellLabel: undefined,
  dryRun: false,
  requiresPodName: () => false,
  refusalHoldMs: 0,
  coldStartDelayMs: 0,
  events: new Map(),
  developerEvents: new Map(),
  logger: silentLogger,
  metrics: silentMetrics,
} as const satisfies Partial<WebhookOptions>;
