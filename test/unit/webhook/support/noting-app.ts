/** The HTTP app without the rest of a webhook: its handler notes what it is asked. */
import assert from "node:assert/strict";
import { type HttpBindings } from "@hono/node-server";
import { Readable } from "node:stream";
import { silentLogger } from "../../../../src/util/logger.ts";
import { type ReviewContext } from "../../../../src/webhook/decide/case.ts";
import { allowed } from "../../../../src/webhook/decide/decision.ts";
import { PodCells } from "../../../../src/webhook/decide/subject/pod-cell.ts";
import { type Review } from "../../../../src/webhook/decide/subject/subject.ts";
import { type AppOptions, createWebhookApp } from "../../../../src/webhook/http/app.ts";
import { KnownCells } from "../../../../src/webhook/known-cells.ts";
import { createWebhookMetrics } from "../../../../src/webhook/metrics.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { deleteReview, type Json, pod } from "./objects.ts";
import { RecordedMetrics } from "./replica.ts";

/** Of no interest to the app, but for `isForced`. */
export const review: Review = { cause: "DeletePod", user: "", isForced: false, read: () => assert.fail("read") };

/** An app whose handler notes the context of the review. */
export function appThatNotes(pathPrefix = "", allowedCells: readonly string[] = [], more: Partial<AppOptions> = {}) {
  const contexts: ReviewContext[] = [];
  let gate: Promise<void> | undefined;
  /** Decisions wait until the result is called. */
  const hold = (): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return resolve;
  };
  const recorded = new RecordedMetrics();
  const clock = createVirtualClock();
  const { fetch, overloadReason } = createWebhookApp({
    pathPrefix,
    allowedCells: new Set(allowedCells),
    clientCells: new Map(),
    cells: new PodCells(undefined, new Set()),
    productVersion: "1.0.0",
    dryRun: false,
    handler: {
      read: () => review,
      async decide(_review, context) {
        contexts.push(context);
        if (context.overload !== undefined) return context.overload;
        await gate;
        return allowed("Unmatched");
      },
    },
    clock,
    logger: silentLogger,
    metrics: createWebhookMetrics(recorded, new KnownCells(["c1"])),
    ...more,
  });
  const ask = async (path: string, init: RequestInit) => fetch(new Request(`http://webhook${path}`, init));
  const post = (path: string) => ask(path, { method: "POST", body: JSON.stringify(deleteReview(pod("p"))) });
  return { ask, fetch, contexts, recorded, post, hold, clock, overloadReason };
}

/** What a listener hands over. */
export function bindingsOf(method: string, url: string, review: Json = deleteReview(pod("p"))): HttpBindings {
  const incoming = Readable.from([Buffer.from(JSON.stringify(review))]);
  return { incoming: Object.assign(incoming, { method, url, headers: {} }) } as unknown as HttpBindings;
}

/** One whose handler has a bug. */
export function appThatThrows() {
  return appThatNotes("", [], { handler: { read: () => review, decide: () => Promise.reject(new Error("a bug")) } });
}
