/**
 * How an API server asks the webhooks: a POST over the simulated network to one of the replicas, answered by the
 * product's own HTTP app. The API server's connection is reset at its timeout, and then nobody waits for the answer any
 * more.
 */
import { Readable } from "node:stream";
import { type Rng } from "../../../src/util/rng.ts";
import { type CallWebhook, type JsonObject } from "../../double/index.ts";
import { asObject } from "../../double/engine/object.ts";
import { isAskedAbout, othersName } from "../clusters/webhook-configurations.ts";
import { type SimNode } from "../kernel/node.ts";
import { type SimProcess } from "../processes/process.ts";
import { type Network } from "./network.ts";

/** A review at a replica. */
export interface Arrival {
  readonly node: SimNode;
  /** By the replica's clock. */
  readonly atMonotonicMs: number;
  /** As the API server names it to the webhook. */
  readonly timeoutMs: number;
  /** True time when the replica heard that nobody waits any more. */
  goneAtMs: number | undefined;
}

/** Which replica answers, since when it has the review, and how long the API server waits. */
export interface Answering {
  readonly replica: string;
  readonly arrivedMs: number;
  readonly timeoutMs: number;
}

/** Told of what passes; for checkers. */
export interface ReviewObserver {
  /** The review is sent. */
  asked(review: JsonObject, cell: string): void;
  /** The review has reached the replica. */
  arrived(arrival: Arrival): void;
  /** An answer of any kind leaves the replica; the text of a failure. */
  left(arrival: Arrival, replica: string, failure: string | undefined): void;
  /** The API server gives up, and no answer has left the replica that the review has reached. */
  unanswered(arrival: Arrival, replica: string): void;
  /** The webhook's answer leaves the replica. */
  answered(review: JsonObject, cell: string, answer: JsonObject, by: Answering): void;
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
    if (webhook["name"] === othersName) return await othersAnswer(route, review);
    if (!isAskedAbout(webhook, review)) return { ...review, response: { uid: uidOf(review), allowed: true } };
    const body = JSON.stringify(review);
    const path = `/${cellOf(webhook) ?? encodeURIComponent(route.cell)}?timeout=${Math.ceil(timeoutMs / 1000)}s`;
    // A connection that broke as it was used again: the same review once more, and the first answer is lost.
    if (rng.next() < weather.duplicateRate) {
      post(route, review, body, path, timeoutMs).catch(() => {});
    }
    return await post(route, review, body, path, timeoutMs);
  };
}

/** As its configuration names the cell, rightly or not. */
function cellOf(webhook: JsonObject): string | undefined {
  const { url } = asObject(webhook["clientConfig"]);
  return typeof url === "string" ? url.split("/").at(-1) : undefined;
}

function uidOf(review: JsonObject): unknown {
  return asObject(review["request"])["uid"];
}

/** Another policy is asked at the same time, and has reasons of its own. */
async function othersAnswer({ rng, weather, network }: ReviewRoute, review: JsonObject): Promise<unknown> {
  await network.kernel.pause(rng.next() * 20);
  const allowed = rng.next() >= weather.otherRefusalRate;
  return {
    ...review,
    response: { uid: uidOf(review), allowed, status: { code: 403, message: "another policy refuses" } },
  };
}

function post(
  route: ReviewRoute,
  review: JsonObject,
  body: string,
  path: string,
  timeoutMs: number,
): Promise<JsonObject> {
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
    let waiting: Arrival | undefined;
    const timer = network.kernel.schedule(timeoutMs, () => {
      if (waiting !== undefined) observer.unanswered(waiting, replica.name);
      connection.close();
      reject(new Error("context deadline exceeded"));
    });
    observer.asked(review, cell);
    connection.toServer(() => {
      const arrivedMs = network.kernel.nowMs;
      const arrival: Arrival = {
        node,
        atMonotonicMs: node.clock.monotonicMs(),
        timeoutMs: Math.ceil(timeoutMs / 1000) * 1000,
        goneAtMs: undefined,
      };
      waiting = arrival;
      observer.arrived(arrival);
      const gone = new AbortController();
      connection.onClientGone = () => {
        arrival.goneAtMs = network.kernel.nowMs;
        gone.abort();
      };
      void respond(fetch, new IncomingReview(path, body), gone.signal).then(({ status, text }) => {
        // Code of a dead process may still run to its next await; nobody hears of it.
        if (!node.isAlive) return;
        waiting = undefined;
        observer.left(arrival, replica.name, status === 200 ? undefined : text);
        const answer = status === 200 ? (JSON.parse(text) as JsonObject) : undefined;
        if (answer !== undefined)
          observer.answered(review, cell, asObject(answer["response"]), {
            replica: replica.name,
            arrivedMs,
            timeoutMs: arrival.timeoutMs,
          });
        const arrive = (): void => {
          connection.toClient(() => {
            timer.isCancelled = true;
            connection.finish();
            if (answer !== undefined) resolve(answer);
            else reject(new Error(`the server answered ${status}`));
          });
        };
        if (rng.next() < route.weather.slowRate) network.kernel.schedule(rng.next() * slowMsMax, arrive);
        else arrive();
      });
    });
  });
}

type Fetch = NonNullable<ReturnType<SimProcess["fetch"]>>;

/** A request as Node's HTTP server hands it over: its body is read from the socket. */
class IncomingReview extends Readable {
  readonly method = "POST";
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly #body: Buffer;

  constructor(url: string, body: string) {
    super();
    this.url = url;
    this.#body = Buffer.from(body);
    this.headers = { "content-type": "application/json", "content-length": String(this.#body.length) };
  }

  override _read(): void {
    this.push(this.#body);
    this.push(null);
  }
}

/** The app is given what it is given in production: the message, and a Request of which it needs the signal only. */
async function respond(
  fetch: Fetch,
  incoming: IncomingReview,
  signal: AbortSignal,
): Promise<{ status: number; text: string }> {
  const response = await fetch({ signal } as Request, { incoming } as unknown as Parameters<Fetch>[1]);
  return { status: response.status, text: await response.text() };
}
