/**
 * Reviews at a steady rate, posted to the webhook as an API server does it: over kept connections, without a second
 * try.
 */
import { setTimeout as delay } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import { Agent } from "undici";
import { postReview } from "../../support/review-post.ts";
import { type Pod } from "./pods.ts";

export interface ReviewLoadOptions {
  /** Of the webhook, with the cell. */
  readonly url: string;
  readonly caPem: string;
  readonly perSecond: number;
  /** The n-th review is of a copy of this pod: another name and UID. */
  readonly podOf: (n: number) => Pod;
}

export interface ReviewLoadEnd {
  readonly answered: number;
  /** By status.details.causes[0].reason; "allowed" for what was not refused. */
  readonly answers: ReadonlyMap<string, number>;
  /** Everything but HTTP 200 with an answer, in words. */
  readonly failures: readonly string[];
}

/** An API server has about so many connections to a webhook that takes its time. */
const connections = 16;
const tickMs = 10;
const reviewTimeoutMs = 10_000;

interface Answer {
  readonly response: {
    readonly allowed: boolean;
    readonly status?: { readonly details?: { readonly causes?: readonly { readonly reason: string }[] } };
  };
}

/** Runs until `stop`, which resolves when the last answer is there. */
export function startReviewLoad(options: ReviewLoadOptions): { stop(): Promise<ReviewLoadEnd> } {
  const agent = new Agent({ allowH2: false, connections, keepAliveTimeout: 30_000, connect: { ca: options.caPem } });
  const { origin, pathname } = new URL(options.url);
  const path = `${pathname}?timeout=10s`;
  const answers = new Map<string, number>();
  const failures: string[] = [];
  const open = new Set<Promise<void>>();
  const end = new AbortController();
  let posted = 0;

  const post = async (n: number): Promise<void> => {
    const uid = randomUUID();
    try {
      const text = JSON.stringify(reviewOf(uid, options.podOf(n), n));
      const answered = await postReview(agent, { origin, path, text, timeoutMs: reviewTimeoutMs });
      const { response } = JSON.parse(answered) as Answer;
      const answer = response.allowed ? "allowed" : (response.status?.details?.causes?.[0]?.reason ?? "refused");
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    } catch (error) {
      failures.push(String(error));
    }
  };
  const running = (async () => {
    const startMs = performance.now();
    while (!end.signal.aborted) {
      const due = ((performance.now() - startMs) / 1_000) * options.perSecond;
      for (; posted < due; posted++) {
        const one = post(posted).finally(() => open.delete(one));
        open.add(one);
      }
      await delay(tickMs);
    }
  })();
  return {
    async stop() {
      end.abort();
      await running;
      await Promise.all(open);
      await agent.close();
      return { answered: posted - failures.length, answers, failures };
    },
  };
}

function reviewOf(uid: string, pod: Pod, n: number): object {
  const { namespace } = pod.metadata;
  const name = `review-${n}`;
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid,
      kind: { group: "", version: "v1", kind: "Pod" },
      resource: { group: "", version: "v1", resource: "pods" },
      namespace,
      name,
      operation: "DELETE",
      userInfo: { username: "e2e" },
      object: null,
      oldObject: { ...pod, metadata: { ...pod.metadata, name, uid: randomUUID() } },
      options: { apiVersion: "meta.k8s.io/v1", kind: "DeleteOptions" },
      dryRun: false,
    },
  };
}
