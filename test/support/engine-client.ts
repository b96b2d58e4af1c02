/**
 * A KubeClient straight into an engine of the API double, without sockets: real merge patches, versions and finalizers
 * on the engine's clock. A test can
 * - fail requests before or after their effect, and hold them up;
 * - let watches lag, or break them;
 * - swap the engine (storage restored from a backup), or answer some requests from another one;
 * - kill the process that the client belongs to;
 * - see what was asked for and what was written.
 */
import { KubeError, type KubeClient, type KubeRequest } from "../../src/kube/kube-client.ts";
import { errorOfResponse } from "../../src/kube/kube-errors.ts";
import { type Engine, handleRest, systemAdmin, type WatchEvent } from "../double/index.ts";

/** "before": the request never arrives. "after": it is carried out and its answer is lost. */
export type Fault = "before" | "after" | KubeError | undefined;

export class EngineClient implements KubeClient {
  readonly cluster: string;
  engine: Engine;
  /** `METHOD path` of each request; watches are `WATCH path`. */
  log: string[] = [];
  /** `METHOD path` of each write that was carried out, Events and Leases left out. */
  readonly writes: string[] = [];
  /** Decides about each request and each watch; may wait. */
  onRequest: (request: KubeRequest, what: string) => Fault | Promise<Fault> = () => undefined;
  /** Decides about each write, Events and Leases left out; `index` counts them from 1. Asked after `onRequest`. */
  onWrite: (index: number, request: KubeRequest) => Fault | Promise<Fault> = () => undefined;
  /** Milliseconds by which watches lag, or a function of the path. */
  lagMs: number | ((path: string) => number) = 0;
  /** The process is dead: nothing leaves it. */
  isDead = false;
  /** A process that has not noticed that it must stop: its requests go on when their signals have aborted. */
  ignoresSignals = false;
  /** A UID of the engine that clients see as another: an object of a restored cluster keeps its UID. */
  alias: { readonly engine: string; readonly seen: string } | undefined;
  /** Answers some requests from another engine: an API server that lags. */
  replica: { readonly engine: Engine; readonly pattern: RegExp } | undefined;
  readonly #breakers = new Set<() => void>();
  #writeCount = 0;

  constructor(cluster: string, engine: Engine) {
    this.cluster = cluster;
    this.engine = engine;
  }

  async request(request: KubeRequest): Promise<unknown> {
    const what = `${request.method} ${request.path}`;
    const isOwnWrite = request.method !== "GET" && !/\/(events|leases)(\/|$)/.test(request.path);
    this.log.push(what);
    this.#check(request);
    let fault = await this.onRequest(request, what);
    if (fault === undefined && isOwnWrite) fault = await this.onWrite(++this.#writeCount, request);
    this.#check(request);
    if (fault instanceof KubeError) throw fault;
    if (fault === "before") throw new KubeError("network", `${what}: connection refused`);
    const answer = await this.#handle(request);
    if (answer.kind === "text" && answer.code >= 400) throw errorOfResponse(what, answer.code, answer.text, undefined);
    if (answer.kind !== "json") throw new KubeError("malformed", `${what}: no JSON`);
    if (fault !== "after") request.onWarnings?.(answer.warnings ?? []);
    if (answer.code >= 400) throw errorOfResponse(what, answer.code, answer.text, undefined);
    if (isOwnWrite) this.writes.push(what);
    if (fault === "after") throw new KubeError("network", `${what}: connection reset`);
    this.#check(request);
    return JSON.parse(this.#seen(answer.text));
  }

  async stream(request: KubeRequest): Promise<AsyncIterable<Uint8Array>> {
    const what = `WATCH ${request.path}`;
    this.log.push(what);
    const fault = await this.onRequest(request, what);
    this.#check(request);
    if (fault instanceof KubeError) throw fault;
    if (fault !== undefined) throw new KubeError("network", `${what}: connection refused`);
    const answer = await this.#handle(request);
    if (answer.kind !== "watch") {
      throw errorOfResponse(what, answer.code, answer.kind === "json" ? answer.text : "", undefined);
    }
    const queue: (WatchEvent | "end" | KubeError)[] = [];
    let wake: (() => void) | undefined;
    const push = (item: WatchEvent | "end" | KubeError): void => {
      queue.push(item);
      wake?.();
    };
    const watch = answer.open({ onEvent: push, onEnd: () => push("end") }, () => this.#lagMsOf(request.path));
    const breakOff = (): void => push(new KubeError("network", `${what}: connection reset`));
    this.#breakers.add(breakOff);
    request.signal?.addEventListener("abort", () => push("end"), { once: true });
    const forget = (): void => {
      this.#breakers.delete(breakOff);
      watch.close();
    };
    const seen = (text: string): string => this.#seen(text);
    async function* chunks(): AsyncGenerator<Uint8Array, void, undefined> {
      try {
        for (;;) {
          const next = queue.shift();
          if (next === "end") return;
          if (next instanceof KubeError) throw next;
          if (next === undefined) await new Promise<void>((resolve) => (wake = resolve));
          else yield Buffer.from(`${seen(JSON.stringify(next))}\n`);
        }
      } finally {
        forget();
      }
    }
    return chunks();
  }

  /** Resets the connections of all watches. */
  dropWatches(): void {
    for (const breakOff of this.#breakers) breakOff();
  }

  /** Requests so far whose log line matches. */
  count(pattern: RegExp): number {
    return this.log.filter((line) => pattern.test(line)).length;
  }

  async close(): Promise<void> {}

  #check({ signal, method, path }: KubeRequest): void {
    if (this.isDead || (signal?.aborted === true && !this.ignoresSignals))
      throw new KubeError("aborted", `${method} ${path}: aborted`);
  }

  #lagMsOf(path: string): number {
    return typeof this.lagMs === "number" ? this.lagMs : this.lagMs(path);
  }

  #seen(text: string): string {
    return this.alias === undefined ? text : text.replaceAll(this.alias.engine, this.alias.seen);
  }

  #handle(request: KubeRequest): ReturnType<typeof handleRest> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) query.set(name, String(value));
    }
    const { alias, replica } = this;
    const what = `${request.query?.["watch"] === true ? "WATCH" : request.method} ${request.path}`;
    const bodyText = JSON.stringify(request.body ?? null);
    const body: unknown = JSON.parse(alias === undefined ? bodyText : bodyText.replaceAll(alias.seen, alias.engine));
    const engine = replica?.pattern.test(what) === true ? replica.engine : this.engine;
    return handleRest(engine, undefined, {
      method: request.method,
      path: request.path,
      query,
      contentType: request.contentType ?? "application/json",
      body: body ?? undefined,
      caller: systemAdmin,
      userAgent: "podseidon",
    });
  }
}
