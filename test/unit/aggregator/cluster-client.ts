/**
 * A KubeClient straight into an engine of the API double, without sockets. A test can fail requests before or after
 * their effect, let watches lag, swap the engine (storage restored from a backup), and see what was asked for.
 */
import { KubeError, type KubeClient, type KubeRequest } from "../../../src/kube/kube-client.ts";
import { errorOfResponse } from "../../../src/kube/kube-errors.ts";
import { type Engine, handleRest, systemAdmin, type WatchEvent } from "../../double/index.ts";

/** "before": the request never arrives. "after": it is carried out and its answer is lost. */
export type Fault = "before" | "after" | KubeError | undefined;

export class ClusterClient implements KubeClient {
  readonly cluster: string;
  engine: Engine;
  /** `METHOD path` of each request; watches are `WATCH path`. */
  log: string[] = [];
  /** Decides about each request; may wait. */
  onRequest: (request: KubeRequest, what: string) => Fault | Promise<Fault> = () => undefined;
  /** Milliseconds by which watches lag. */
  lagMs = 0;
  /** A UID of the engine that clients see as another: an object of a restored cluster keeps its UID. */
  alias: { readonly engine: string; readonly seen: string } | undefined;
  /** Answers some requests from another engine: an API server that lags. */
  replica: { readonly engine: Engine; readonly pattern: RegExp } | undefined;
  readonly #breakers = new Set<() => void>();

  constructor(cluster: string, engine: Engine) {
    this.cluster = cluster;
    this.engine = engine;
  }

  async request(request: KubeRequest): Promise<unknown> {
    const what = `${request.method} ${request.path}`;
    this.log.push(what);
    checkSignal(request);
    const fault = await this.onRequest(request, what);
    checkSignal(request);
    if (fault instanceof KubeError) throw fault;
    if (fault === "before") throw new KubeError("network", `${what}: connection refused`);
    const answer = await this.#handle(request);
    if (answer.kind !== "json") throw new KubeError("malformed", `${what}: no JSON`);
    if (answer.code >= 400) throw errorOfResponse(what, answer.code, answer.text, undefined);
    if (fault === "after") throw new KubeError("network", `${what}: connection reset`);
    checkSignal(request);
    return JSON.parse(this.#seen(answer.text));
  }

  async stream(request: KubeRequest): Promise<AsyncIterable<Uint8Array>> {
    const what = `WATCH ${request.path}`;
    this.log.push(what);
    const fault = await this.onRequest(request, what);
    checkSignal(request);
    if (fault !== undefined) throw fault instanceof KubeError ? fault : new KubeError("network", `${what}: refused`);
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
    const watch = answer.open({ onEvent: push, onEnd: () => push("end") }, () => this.lagMs);
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

function checkSignal(request: KubeRequest): void {
  if (request.signal?.aborted === true) throw new KubeError("aborted", `${request.method} ${request.path}: aborted`);
}
