/**
 * A KubeClient straight into an engine of the API double, without sockets: real merge patches, versions and finalizers
 * on a virtual clock. A test can fail any request before or after its effect, and can let a watch lag.
 */
import { errorOfResponse } from "../../../src/kube/kube-errors.ts";
import { KubeError, type KubeClient, type KubeRequest } from "../../../src/kube/kube-client.ts";
import { type Engine, handleRest, systemAdmin, type WatchEvent } from "../../double/index.ts";

/** "before": the request never arrives. "after": it is carried out and its answer is lost. */
export type Fault = "before" | "after" | KubeError | undefined;

export class EngineClient implements KubeClient {
  readonly cluster = "core";
  /** `METHOD path` of each write that was carried out, Events and Leases left out. */
  readonly writes: string[] = [];
  /** Asked for each write that is about the generator's own objects; `index` counts them from 1. */
  onWrite: (index: number, request: KubeRequest) => Fault | Promise<Fault> = () => undefined;
  /** Called before each request of any kind, at its start. */
  onRequest: (request: KubeRequest) => void | Promise<void> = () => undefined;
  /** Milliseconds by which the watches of a resource lag. */
  lagMs: (path: string) => number = () => 0;
  /** The process is dead: nothing leaves it. */
  dead = false;
  /** A process that has not noticed that it must stop: its requests go on when their signals have aborted. */
  ignoresSignals = false;
  readonly #engine: Engine;
  #writeCount = 0;

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  async request(request: KubeRequest): Promise<unknown> {
    const what = `${request.method} ${request.path}`;
    this.#check(request);
    await this.onRequest(request);
    const isOwnWrite = request.method !== "GET" && !/\/(events|leases)(\/|$)/.test(request.path);
    const fault = isOwnWrite ? await this.onWrite(++this.#writeCount, request) : undefined;
    this.#check(request);
    if (fault instanceof KubeError) throw fault;
    if (fault === "before") throw new KubeError("network", `${what}: connection refused`);
    const answer = await this.#handle(request);
    if (answer.kind !== "json") throw new KubeError("malformed", `${what}: no JSON`);
    if (answer.code >= 400) throw errorOfResponse(what, answer.code, answer.text, undefined);
    if (isOwnWrite) this.writes.push(what);
    if (fault === "after") throw new KubeError("network", `${what}: connection reset`);
    this.#check(request);
    return JSON.parse(answer.text);
  }

  async stream(request: KubeRequest): Promise<AsyncIterable<Uint8Array>> {
    this.#check(request);
    const answer = await this.#handle(request);
    if (answer.kind !== "watch")
      throw errorOfResponse(`WATCH ${request.path}`, answer.code, answer.kind === "json" ? answer.text : "", undefined);
    const queue: (WatchEvent | "end")[] = [];
    let wake: (() => void) | undefined;
    const push = (item: WatchEvent | "end"): void => {
      queue.push(item);
      wake?.();
    };
    const watch = answer.open({ onEvent: push, onEnd: () => push("end") }, () => this.lagMs(request.path));
    request.signal?.addEventListener("abort", () => push("end"), { once: true });
    async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        for (;;) {
          const next = queue.shift();
          if (next === "end") return;
          if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
          else yield Buffer.from(`${JSON.stringify(next)}\n`);
        }
      } finally {
        watch.close();
      }
    }
    return chunks();
  }

  async close(): Promise<void> {}

  #check(request: KubeRequest): void {
    if (this.dead || (request.signal?.aborted === true && !this.ignoresSignals))
      throw new KubeError("aborted", `${request.method} aborted`);
  }

  #handle(request: KubeRequest): ReturnType<typeof handleRest> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) query.set(name, String(value));
    }
    return handleRest(this.#engine, undefined, {
      method: request.method,
      path: request.path,
      query,
      contentType: request.contentType ?? "application/json",
      body: request.body === undefined ? undefined : JSON.parse(JSON.stringify(request.body)),
      caller: systemAdmin,
      userAgent: "podseidon",
    });
  }
}
