/**
 * Faults of the HTTP front: a script says for each request what goes wrong with it. This file knows what can go wrong
 * and counts requests; faulty-answers.ts falsifies what the API says, faulty-stream.ts what goes over the wire.
 */
import { type IncomingMessage } from "node:http";
import { type Socket } from "node:net";

/**
 * One fault. `afterEvents` is for watches: the fault meets the line that follows that many good ones (0 = the first
 * line; absent = no byte is sent at all). On other requests it means nothing.
 */
export type Fault =
  /** Handled that much later. */
  | { readonly type: "delay"; readonly delayMs: number }
  /** The connection is reset; without `afterEvents` the request is not executed. */
  | { readonly type: "reset"; readonly afterEvents?: number }
  /** The connection stays open, and nothing (more) is sent; without `afterEvents` the request is not executed. */
  | { readonly type: "stall"; readonly afterEvents?: number }
  /** Half of a line of a watch, or of another answer, then an end in good order. */
  | { readonly type: "truncate"; readonly afterEvents?: number }
  /** A line of a watch, or another answer, that is not JSON; the stream goes on. */
  | { readonly type: "corrupt"; readonly afterEvents?: number }
  /** 429 without being executed, with Retry-After where it is given. */
  | { readonly type: "tooManyRequests"; readonly retryAfterSeconds?: number }
  /** 500 without being executed. */
  | { readonly type: "serverError" }
  /** 409 for a write, which is not executed; reads pass. A burst is a script that says it several times. */
  | { readonly type: "conflict" }
  /** Executed, and the connection is reset instead of the answer. */
  | { readonly type: "loseResponse" }
  /** Every event and bookmark of this watch is late. */
  | { readonly type: "watchLag"; readonly lagMs: number }
  /** A proxy on the way lets no bookmark of this watch through, end marks included. */
  | { readonly type: "noBookmarks" }
  /** A list or WatchList by a replica that lags so many revisions behind. */
  | { readonly type: "staleReplica"; readonly revisions: number }
  /** A watch from a version sends the changes of so many revisions before it again. */
  | { readonly type: "duplicate"; readonly revisions: number }
  /** History loss: 410 for a watch from a version and for the next page of a list. */
  | { readonly type: "historyLoss" };

/** What a script may judge by. All numbers begin with 1 when the script is set. */
export interface FaultRequest {
  readonly number: number;
  /** Number of the connection, and of the request on it. */
  readonly connection: number;
  readonly numberOnConnection: number;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly isWatch: boolean;
}

/** Called once for each request, in the order of their arrival; undefined = nothing goes wrong. */
export type FaultScript = (request: FaultRequest) => Fault | undefined;

/** A script with its counters. */
export class Faults {
  readonly #script: FaultScript;
  readonly #connections = new WeakMap<Socket, { readonly number: number; requests: number }>();
  #connectionsSeen = 0;
  #requestsSeen = 0;

  constructor(script: FaultScript) {
    this.#script = script;
  }

  next(request: IncomingMessage): Fault | undefined {
    let connection = this.#connections.get(request.socket);
    if (connection === undefined) {
      connection = { number: ++this.#connectionsSeen, requests: 0 };
      this.#connections.set(request.socket, connection);
    }
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://double");
    return this.#script({
      number: ++this.#requestsSeen,
      connection: connection.number,
      numberOnConnection: ++connection.requests,
      method: request.method ?? "GET",
      path: pathname,
      query: searchParams,
      isWatch: isWatch(searchParams),
    });
  }
}

export function isWatch(query: URLSearchParams): boolean {
  return query.get("watch") === "true" || query.get("watch") === "1";
}
