/**
 * How an API server asks the webhooks: a POST over the simulated network to one of the replicas, answered by the product's own HTTP app. The API
 * server's connection is reset at its timeout, and then nobody waits for the answer any more.
 */
import { type Rng } from "../../../src/util/rng.ts";
import { type CallWebhook, type JsonObject } from "../../double/index.ts";
import { asObject } from "../../double/engine/object.ts";
import { type SimNode } from "../kernel/node.ts";
import { type SimProcess } from "../processes/process.ts";
import { type Network } from "./network.ts";

/** Told of what passes; for checkers. */
export interface ReviewObserver {
  /** The review is sent. */
  asked(review: JsonObject, cell: string): void;
  /** The webhook's answer leaves the replica. */
  answered(review: JsonObject, cell: string, answer: JsonObject, by: { replica: string; arrivedMs: number }): void;
}

export interface ReviewRoute {
  readonly cell: string;
  readonly network: Network;
  readonly apiServer: SimNode;
  readonly replicas: readonly SimProcess[];
  readonly rng: Rng;
  readonly observer: ReviewObserver;
  readonly weather: ReviewWeather;
}

/** What goes wrong between API servers and webhooks; probabilities by review. */
export interface ReviewWeather {
  /** The request is sent a second time because its connection broke; the answer to the first one is lost. */
  duplicateRate: number;
  /** The answer is under way for up to 20 s, often beyond the API server's patience. */
  slowRate: number;
  /** Somebody else's webhook refuses. */
  otherRefusalRate: number;
}

const slowMsMax = 20_000;

export function createReviewRoute(route: ReviewRoute): CallWebhook {
  const { weather, rng } = route;
  return async (webhook, review, timeoutMs) => {
    if (webhook["name"] !== webhookName) return await othersAnswer(route, review);
    const body = JSON.stringify(review);
    const path = `/${encodeURIComponent(route.cell)}?timeout=${Math.ceil(timeoutMs / 1000)}s`;
    // A connection that broke as it was used again: the same review once more, and the first answer is lost.
    if (rng.next() < weather.duplicateRate) {
      post(route, review, body, path, timeoutMs).catch(() => {});
    }
    const text = await post(route, review, body, path, timeoutMs);
    return JSON.parse(text) as JsonObject;
  };
}

/** Our webhook's name in the configuration of a cell. */
export const webhookName = "pods.podseidon.kubewharf.io";

/** Another policy is asked at the same time, and has reasons of its own. */
async function othersAnswer({ rng, weather, network }: ReviewRoute, review: JsonObject): Promise<unknown> {
  await network.kernel.pause(rng.next() * 20);
  const { uid } = asObject(review["request"]);
  const allowed = rng.next() >= weather.otherRefusalRate;
  return { ...review, response: { uid, allowed, status: { code: 403, message: "another policy refuses" } } };
}

function post(route: ReviewRoute, review: JsonObject, body: string, path: string, timeoutMs: number): Promise<string> {
  const { network, apiServer, replicas, rng, cell, observer } = route;
  const replica = replicas[Math.floor(rng.next() * replicas.length)];
  return new Promise((resolve, reject) => {
    const node = replica?.node();
    const fetch = replica?.fetch();
    if (replica === undefined || node === undefined || fetch === undefined) {
      reject(new Error("connect: connection refused"));
      return;
    }
    const connection = network.connect(apiServer, node, (why) => reject(new Error(why)));
    const timer = network.kernel.schedule(timeoutMs, () => {
      connection.close();
      reject(new Error("context deadline exceeded"));
    });
    observer.asked(review, cell);
    connection.toServer(() => {
      const arrivedMs = network.kernel.nowMs;
      const gone = new AbortController();
      connection.onClientGone = () => gone.abort();
      const headers = { "content-type": "application/json", "content-length": String(Buffer.byteLength(body)) };
      const request = new Request(`http://webhook${path}`, { method: "POST", headers, body, signal: gone.signal });
      void respond(fetch, request).then(({ status, text }) => {
        // Code of a dead process may still run to its next await; nobody hears of it.
        if (!node.isAlive) return;
        if (status === 200) {
          const answer = asObject((JSON.parse(text) as JsonObject)["response"]);
          observer.answered(review, cell, answer, { replica: replica.name, arrivedMs });
        }
        const arrive = (): void => {
          connection.toClient(() => {
            timer.isCancelled = true;
            connection.finish();
            if (status === 200) resolve(text);
            else reject(new Error(`the server answered ${status}`));
          });
        };
        if (rng.next() < route.weather.slowRate) network.kernel.schedule(rng.next() * slowMsMax, arrive);
        else arrive();
      });
    });
  });
}

async function respond(
  fetch: NonNullable<ReturnType<SimProcess["fetch"]>>,
  request: Request,
): Promise<{ status: number; text: string }> {
  const response = await fetch(request, {} as Parameters<typeof fetch>[1]);
  return { status: response.status, text: await response.text() };
}
