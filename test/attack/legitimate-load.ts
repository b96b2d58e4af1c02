/**
 * Reviews as API servers send them, ten a second: on connections that are kept and on new ones, deletions that need
 * nothing, that are judged only, that are recorded, and evictions.
 */
import http from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { deleteReview, evictReview, type Json, pod } from "../unit/webhook/support/objects.ts";
import { cell } from "./bodies.ts";

const everyMs = 100;
/** What the configuration of a webhook gives a review. */
const timeoutMs = 10_000;

export interface Load {
  readonly latenciesMs: readonly number[];
  /** What went wrong, one line each. */
  readonly failures: readonly string[];
}

const large = "x".repeat(600_000);

/** The pod of the eviction is `evicted`, in the namespace ns. */
function reviewOf(turn: number, run: string): Json {
  const uid = `${run}-${turn}`;
  switch (turn % 5) {
    case 0:
      return deleteReview(pod("free", { labels: { app: "other" } }), { uid });
    case 1:
      return deleteReview(pod(`p-${uid}`), { uid, dryRun: true });
    case 2:
      return deleteReview(pod(`p-${uid}`, { uid: `u-${uid}` }), { uid });
    case 3:
      return evictReview("evicted", {}, { uid, dryRun: true });
    default:
      // Large pods are rare; one in twenty here.
      return deleteReview(pod("free", { labels: { app: "other" } }), {
        uid,
        ...(turn % 20 === 4 && { options: large }),
      });
  }
}

export async function legitimateLoad(port: number, seconds: number, run: string): Promise<Load> {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 25 });
  const latenciesMs: number[] = [];
  const failures: string[] = [];
  const send = async (turn: number): Promise<void> => {
    const body = JSON.stringify(reviewOf(turn, run));
    const startMs = performance.now();
    const problem = await ask(port, body, turn % 3 === 0 ? undefined : agent, `${run}-${turn}`);
    latenciesMs.push(performance.now() - startMs);
    if (problem !== undefined) failures.push(`review ${turn} (kind ${turn % 5}): ${problem}`);
  };
  const sent: Promise<void>[] = [];
  const endMs = performance.now() + seconds * 1000;
  for (let turn = 0; performance.now() < endMs; turn += 1) {
    sent.push(send(turn));
    await delay(everyMs);
  }
  await Promise.all(sent);
  agent.destroy();
  return { latenciesMs, failures };
}

/** Why the API server would fail the deletion; undefined = it was decided and allowed. */
function ask(port: number, body: string, agent: http.Agent | undefined, uid: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const options = { host: "127.0.0.1", port, path: `/${cell}?timeout=10s`, method: "POST", agent: agent ?? false };
    const request = http.request({ ...options, headers: { "Content-Length": Buffer.byteLength(body) } });
    const timer = setTimeout(() => request.destroy(new Error("timeout")), timeoutMs);
    const end = (problem: string | undefined): void => {
      clearTimeout(timer);
      resolve(problem);
    };
    request.on("error", (error) => end(error.message));
    request.on("response", (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("error", (error) => end(error.message));
      response.on("end", () => {
        const isDecided = response.statusCode === 200 && text.includes(`"uid":"${uid}","allowed":true`);
        end(isDecided ? undefined : `HTTP ${response.statusCode}: ${text.slice(0, 300)}`);
      });
    });
    request.end(body);
  });
}
