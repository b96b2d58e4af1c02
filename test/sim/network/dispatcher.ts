/**
 * undici's place in the simulation: carries the product's requests, as bytes, over the simulated network to a simulated
 * server.
 */
import { Dispatcher } from "undici";
import { assert } from "../../../src/util/assert.ts";
import { type SimNode } from "../kernel/node.ts";
import { type Network } from "./network.ts";

/** A request as it arrives at a server. */
export interface WireRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  /** Where it comes from. */
  readonly client: SimNode;
}

/** Where a server puts its answer: one head, then any number of chunks, then the end. */
export interface WireReply {
  head(status: number, headers: Readonly<Record<string, string>>): void;
  /** `onDelivered` is called when it has reached the client. */
  chunk(data: string | Buffer, onDelivered?: () => void): void;
  end(): void;
  /** Breaks the connection off. */
  reset(): void;
  /** Called when the client has gone; at most once. */
  onGone(listener: () => void): void;
}

export interface WireServer {
  /** Undefined while nobody listens there. */
  node(): SimNode | undefined;
  handle(request: WireRequest, reply: WireReply): void;
}

/** Servers by origin, such as "http://core". */
export type WireServers = ReadonlyMap<string, WireServer>;

/** As the systems' own errors look to undici's callers. */
function socketError(message: string, code: string): Error {
  return Object.assign(new Error(message), { code });
}

export class SimDispatcher extends Dispatcher {
  readonly #network: Network;
  readonly #client: SimNode;
  readonly #servers: WireServers;

  constructor(network: Network, client: SimNode, servers: WireServers) {
    super();
    this.#network = network;
    this.#client = client;
    this.#servers = servers;
  }

  override dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): boolean {
    if (!this.#client.isAlive) return true;
    const server = this.#servers.get(String(options.origin));
    assert(server !== undefined, `no server is called ${String(options.origin)}`);
    const exchange = new Exchange(handler);
    handler.onRequestStart?.(exchange, {});
    if (exchange.aborted) return true;
    const node = server.node();
    if (node === undefined) {
      const refused = (): void => exchange.fail(socketError("connect ECONNREFUSED", "ECONNREFUSED"));
      this.#network.kernel.schedule(1, () => this.#client.execute(refused));
      return true;
    }
    const connection = this.#network.connect(this.#client, node, (why) =>
      exchange.fail(socketError(why, "ECONNRESET")),
    );
    exchange.onAbort = () => connection.close();
    const request: WireRequest = {
      method: options.method,
      path: options.path,
      headers: options.headers as Readonly<Record<string, string>>,
      body: options.body === null || options.body === undefined ? undefined : (options.body as string),
      client: this.#client,
    };
    const reply: WireReply = {
      head: (status, headers) => connection.toClient(() => exchange.head(status, headers)),
      chunk: (data, onDelivered) =>
        connection.toClient(() => {
          exchange.data(typeof data === "string" ? Buffer.from(data) : data);
          onDelivered?.();
        }),
      end: () =>
        connection.toClient(() => {
          connection.finish();
          exchange.end();
        }),
      reset: () => connection.reset("socket hang up"),
      onGone: (listener) => void (connection.onClientGone = listener),
    };
    connection.toServer(() => server.handle(request, reply));
    return true;
  }

  override close(): Promise<void> {
    return Promise.resolve();
  }

  override destroy(): Promise<void> {
    return Promise.resolve();
  }
}

/** The client's end of one exchange. */
class Exchange implements Dispatcher.DispatchController {
  readonly #handler: Dispatcher.DispatchHandler;
  onAbort: () => void = () => {};
  aborted = false;
  reason: Error | null = null;
  readonly paused = false;
  readonly rawHeaders = null;
  readonly rawTrailers = null;
  #isOver = false;

  constructor(handler: Dispatcher.DispatchHandler) {
    this.#handler = handler;
  }

  /** Readers of watches keep up: no flow control is needed. */
  pause(): void {}
  resume(): void {}

  abort(reason: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.aborted = true;
    this.reason = reason;
    this.onAbort();
    this.#handler.onResponseError?.(this, reason);
  }

  fail(error: Error): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onResponseError?.(this, error);
  }

  head(status: number, headers: Readonly<Record<string, string>>): void {
    if (!this.#isOver) this.#handler.onResponseStart?.(this, status, headers, "");
  }

  data(chunk: Buffer): void {
    if (!this.#isOver) this.#handler.onResponseData?.(this, chunk);
  }

  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#handler.onResponseEnd?.(this, {});
  }
}
