/**
 * One request and its whole answer, straight from undici's parser. undici's own `request` would put a stream in
 * between, which costs a third of the client's time for answers that fit into one packet
 * (test/bench/transport/transport.ts).
 */
import { type IncomingHttpHeaders } from "node:http";
import { type Dispatcher } from "undici";
import { KubeError } from "../kube-client.ts";
import { type Answer } from "./answer.ts";
import { type Deadline } from "./deadline.ts";

export interface ExchangeOptions {
  /** Names the request in errors. */
  readonly what: string;
  readonly deadline: Deadline;
  /** Called when the header has arrived. */
  readonly onHeader: (code: number) => void;
  /** Of the body of a 2xx answer; default 128 MiB. */
  readonly bytesMax?: number | undefined;
}

/** A page of 500 objects at 256 KiB each; an answer beyond that is a mistake. */
const bodyBytesMax = 128 * 1024 * 1024;
/** A Status with its causes. */
export const errorBodyBytesMax = 64 * 1024;

/**
 * Resolves with the answer, whatever its code. Rejects with the deadline's error as soon as that is over, also while
 * the request waits for a connection; with KubeError "malformed" when the body is larger than `bytesMax` (64 KiB
 * outside 2xx); else with undici's error.
 */
export function exchange(
  dispatcher: Dispatcher,
  request: Dispatcher.DispatchOptions,
  options: ExchangeOptions,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const handler = new Exchange(options, resolve, reject);
    options.deadline.emitter.once("abort", handler.abort);
    dispatcher.dispatch(request, handler);
  });
}

class Exchange implements Dispatcher.DispatchHandler {
  readonly #options: ExchangeOptions;
  readonly #resolve: (answer: Answer) => void;
  readonly #reject: (error: unknown) => void;
  #controller: Dispatcher.DispatchController | undefined;
  #code = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #bytes = 0;

  constructor(options: ExchangeOptions, resolve: (answer: Answer) => void, reject: (error: unknown) => void) {
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** The deadline is over. */
  readonly abort = (): void => {
    const error = this.#options.deadline.error() ?? new KubeError("aborted", `${this.#options.what}: aborted`);
    this.#reject(error);
    this.#controller?.abort(error);
  };

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    // It was over while the request waited for a connection.
    const ended = this.#options.deadline.error();
    if (ended !== undefined) controller.abort(ended);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, code: number, headers: IncomingHttpHeaders): void {
    if (code < 200) return; // the true answer follows
    this.#code = code;
    this.#headers = headers;
    this.#options.onHeader(code);
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.byteLength;
    this.#chunks.push(chunk);
    const bytesMax = this.#code < 300 ? (this.#options.bytesMax ?? bodyBytesMax) : errorBodyBytesMax;
    if (this.#bytes <= bytesMax) return;
    this.#chunks = [];
    controller.abort(new KubeError("malformed", `${this.#options.what}: the answer is larger than ${bytesMax} bytes`));
  }

  onResponseEnd(): void {
    this.#options.deadline.emitter.off("abort", this.abort);
    const [first] = this.#chunks;
    const body = first !== undefined && this.#chunks.length === 1 ? first : Buffer.concat(this.#chunks);
    this.#resolve({ code: this.#code, headers: this.#headers, body });
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#options.deadline.emitter.off("abort", this.abort);
    this.#reject(error);
  }
}
