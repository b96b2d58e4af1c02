/**
 * A small REST client for test code, with one keep-alive pool per cluster. It has no rate limit and no retries: what
 * the API server answers is what the test sees. The product's own client is in src/kube; tests do not use it to judge
 * the product.
 */
import { Agent, request } from "undici";

export interface AdminRequest {
  readonly body?: unknown;
  /** Default application/json. A string body is sent as it is. */
  readonly contentType?: string;
  readonly query?: Readonly<Record<string, string | number | boolean>>;
  /** Default 70 s: above the API server's own 60 s. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export interface AdminResponse<T> {
  readonly code: number;
  readonly body: T;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
}

export interface KubeObject {
  readonly metadata: ObjectMeta;
}

export interface ObjectList<T> {
  readonly metadata: { readonly resourceVersion: string };
  readonly items: readonly T[];
}

export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** An answer outside 2xx where the caller needed success. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly code: number;
  readonly body: unknown;

  constructor(method: string, path: string, code: number, body: unknown) {
    super(`${method} ${path}: ${code} ${JSON.stringify(body).slice(0, 500)}`);
    this.code = code;
    this.body = body;
  }
}

/**
 * Above the largest number of requests that a case keeps in flight (96), with room for watches and the fake kubelet.
 */
const connectionsMax = 192;
const requestTimeoutMs = 70_000;
/** A watch of something that changes sends at least a bookmark a minute. */
const watchIdleMs = 120_000;

export class AdminClient {
  readonly #url: string;
  readonly #authorization: string;
  readonly #agent: Agent;

  constructor(options: { readonly url: string; readonly caPem: string; readonly token: string }) {
    this.#url = options.url;
    this.#authorization = `Bearer ${options.token}`;
    this.#agent = new Agent({
      allowH2: false,
      connections: connectionsMax,
      keepAliveTimeout: 30_000,
      connect: { ca: options.caPem, timeout: 10_000 },
    });
  }

  /**
   * Resolves to whatever the server answers; rejects only when there is no answer. A body that is not JSON comes as a
   * string.
   */
  async request<T = unknown>(method: string, path: string, options: AdminRequest = {}): Promise<AdminResponse<T>> {
    const timeoutMs = options.timeoutMs ?? requestTimeoutMs;
    const response = await request(this.#url + path, {
      dispatcher: this.#agent,
      method,
      ...(options.query === undefined ? {} : { query: options.query }),
      headers: { authorization: this.#authorization, "content-type": options.contentType ?? "application/json" },
      body:
        options.body === undefined || typeof options.body === "string"
          ? (options.body ?? null)
          : JSON.stringify(options.body),
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
      // Otherwise undici closes the connection after each DELETE with a body, and the next request pays for a TLS
      // handshake.
      reset: false,
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    const text = await response.body.text();
    const isJson = String(response.headers["content-type"]).startsWith("application/json");
    return { code: response.statusCode, body: (isJson ? JSON.parse(text) : text) as T };
  }

  /** Like `request`, but throws ApiError for an answer outside 2xx. */
  async ask<T = KubeObject>(method: string, path: string, options: AdminRequest = {}): Promise<T> {
    const { code, body } = await this.request<T>(method, path, options);
    if (code < 200 || code > 299) throw new ApiError(method, path, code, body);
    return body;
  }

  get<T = KubeObject>(path: string, query?: NonNullable<AdminRequest["query"]>): Promise<T> {
    return this.ask<T>("GET", path, query === undefined ? {} : { query });
  }

  create<T = KubeObject>(path: string, body: unknown): Promise<T> {
    return this.ask<T>("POST", path, { body });
  }

  /** A JSON merge patch. */
  mergePatch<T = KubeObject>(path: string, body: unknown): Promise<T> {
    return this.ask<T>("PATCH", path, { body, contentType: "application/merge-patch+json" });
  }

  /** Server-side apply of one object, given as YAML or as a value; overrides other field managers. */
  apply<T = KubeObject>(path: string, manifest: unknown): Promise<T> {
    return this.ask<T>("PATCH", path, {
      body: manifest,
      contentType: "application/apply-patch+yaml",
      query: { fieldManager: "podseidon-e2e", force: true },
    });
  }

  /** Deletes, with DeleteOptions where given; an object that is already gone is fine. */
  async remove(path: string, deleteOptions?: unknown): Promise<void> {
    const response = await this.request("DELETE", path, deleteOptions === undefined ? {} : { body: deleteOptions });
    if (response.code > 299 && response.code !== 404) throw new ApiError("DELETE", path, response.code, response.body);
  }

  /**
   * Opens `count` connections, so that what is timed next pays for no TLS handshake, as with a controller that runs for
   * long.
   */
  async warm(count: number): Promise<void> {
    await Promise.all(Array.from({ length: count }, () => this.request("GET", "/livez")));
  }

  /**
   * Events after `resourceVersion`, until the signal aborts or the connection ends. Throws when the server refuses or
   * the connection breaks.
   */
  async *watch<T>(
    path: string,
    options: {
      readonly resourceVersion: string;
      readonly labelSelector?: string;
      readonly signal: AbortSignal;
      /** Without a byte for so long the connection counts as broken. */
      readonly idleMs?: number;
    },
  ): AsyncGenerator<WatchEvent<T>> {
    const { resourceVersion, labelSelector, signal, idleMs = watchIdleMs } = options;
    const response = await request(this.#url + path, {
      dispatcher: this.#agent,
      method: "GET",
      query: {
        watch: true,
        allowWatchBookmarks: true,
        resourceVersion,
        ...(labelSelector === undefined ? {} : { labelSelector }),
      },
      headers: { authorization: this.#authorization },
      headersTimeout: requestTimeoutMs,
      bodyTimeout: idleMs,
      signal,
    });
    if (response.statusCode !== 200) throw new ApiError("WATCH", path, response.statusCode, await response.body.text());
    response.body.setEncoding("utf8");
    let rest = "";
    for await (const chunk of response.body as AsyncIterable<string>) {
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) yield JSON.parse(line) as WatchEvent<T>;
    }
  }

  /** Breaks all connections, watches too. */
  close(): Promise<void> {
    return this.#agent.destroy();
  }
}
