/**
 * What a case may use of a Kubernetes API server, whichever it is: requests as a client sends them, watches, and
 * reviews as an admission webhook receives them. Nothing here knows whether the double or a real kube-apiserver
 * answers.
 */
import { type ReviewHandler } from "./reviews.ts";
import { type Thing } from "./thing.ts";

/**
 * Users that every target has: `admin` may do everything, `fencer` may read pods and patch their status, `stranger`
 * nothing.
 */
export type UserName = "admin" | "fencer" | "stranger";

export type Query = Readonly<Record<string, string | number | boolean>>;

export interface RequestOptions {
  readonly query?: Query;
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  /** Default application/json. */
  readonly contentType?: string;
  /** Default admin; null sends no credentials, another string that bearer token. */
  readonly user?: UserName | { readonly token: string } | null;
  readonly accept?: string;
}

export interface Answer {
  readonly code: number;
  /** Decoded JSON; an empty object when the body is none. */
  readonly body: Thing;
  readonly text: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

export interface WatchEvent {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: Thing;
}

export interface WatchStream {
  readonly code: number;
  /** The next event. Rejects when the stream ends before it, or when nothing comes within `eventLimitMs`. */
  next(): Promise<WatchEvent>;
  /** Events up to and with the first that `isLast` accepts. */
  until(isLast: (event: WatchEvent) => boolean): Promise<readonly WatchEvent[]>;
  /** Everything that still comes until the server ends the stream. */
  rest(): Promise<readonly WatchEvent[]>;
  close(): void;
}

export type TargetName = "double" | "real";

export interface Target {
  readonly name: TargetName;
  request(method: string, path: string, options?: RequestOptions): Promise<Answer>;
  /** A refused watch throws AnswerError. */
  watch(path: string, query: Query, accept?: string): Promise<WatchStream>;
  /** From now on the reviews of this namespace go to `handler`; without one they are allowed. */
  onReview(namespace: string, handler: ReviewHandler): void;
  /** The address and authority of the webhook server, for configurations of a case's own. */
  readonly webhook: { readonly url: string; readonly caBundle: string };
  /** Makes the present state the oldest that can still be read. */
  forgetHistory(): Promise<void>;
}

/** A name that nothing else on this server has. */
export type UniqueName = (prefix: string) => string;

/** A target with the suite's set-up in force. */
export interface RunningTarget {
  readonly target: Target;
  readonly unique: UniqueName;
  /** Stops all that was started for it. */
  close(): Promise<void>;
}
