/** What the REST face is asked and what it answers. */
import { type Caller } from "../engine/admission.ts";
import { type Watch, type WatchSink } from "../engine/requests/watch.ts";

export interface RestRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Media type of the body without parameters. */
  readonly contentType: string;
  /** The decoded JSON body; undefined when there was none. */
  readonly body: unknown;
  readonly caller: Caller;
  /** First word of the user agent, for managedFields. */
  readonly userAgent: string;
  /** The Accept header; default JSON. */
  readonly accept?: string | undefined;
}

export type RestResponse =
  | {
      readonly kind: "json";
      readonly code: number;
      readonly text: string;
      readonly retryAfterSeconds?: number;
      /** What the caller is to be told besides: Warning headers. */
      readonly warnings?: readonly string[];
    }
  | { readonly kind: "text"; readonly code: number; readonly text: string }
  /** Opens the watch when the response header has been sent. Throws ApiError when it cannot be opened. */
  | { readonly kind: "watch"; readonly open: (sink: WatchSink, lagMs: () => number) => Watch };
