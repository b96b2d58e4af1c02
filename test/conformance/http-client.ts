/** The client side of a target: requests and watches over HTTP, as any client sends them. The same for both targets. */
import { Agent, request } from "undici";
import { AnswerError } from "./expect.ts";
import {
  type Answer,
  type Query,
  type RequestOptions,
  type UserName,
  type WatchEvent,
  type WatchStream,
} from "./target.ts";
import { type Thing } from "./thing.ts";

/** More than the cases that run at once keep open, their watches included. */
const connectionsMax = 64;
const requestTimeoutMs = 30_000;
/** What is expected comes in milliseconds; this is for a machine that is busy. */
const eventLimitMs = 60_000;

export interface HttpClientOptions {
  readonly url: string;
  readonly caPem?: string;
  readonly tokens: Readonly<Record<UserName, string>>;
}

function decode(text: string): Thing {
  return text.startsWith("{") ? (JSON.parse(text) as Thing) : {};
}

export class HttpClient {
  readonly #options: HttpClientOptions;
  readonly #agent: Agent;

  constructor(options: HttpClientOptions) {
    this.#options = options;
    this.#agent = new Agent({
      allowH2: false,
      connections: connectionsMax,
      connect: options.caPem === undefined ? {} : { ca: options.caPem },
    });
  }

  #authorization(user: RequestOptions["user"]): Readonly<Record<string, string>> {
    if (user === null) return {};
    const token = typeof user === "object" ? user.token : this.#options.tokens[user ?? "admin"];
    return { authorization: `Bearer ${token}` };
  }

  async request(method: string, path: string, options: RequestOptions = {}): Promise<Answer> {
    const { query, body, contentType = "application/json", user, accept = "application/json" } = options;
    const response = await request(this.#options.url + path, {
      dispatcher: this.#agent,
      method,
      ...(query === undefined ? {} : { query }),
      headers: { ...this.#authorization(user), "content-type": contentType, accept, "user-agent": "conformance/1" },
      body: body === undefined || typeof body === "string" ? (body ?? null) : JSON.stringify(body),
      headersTimeout: requestTimeoutMs,
      bodyTimeout: requestTimeoutMs,
      reset: false,
    });
    const text = await response.body.text();
    return { code: response.statusCode, body: decode(text), text, headers: response.headers };
  }

  async watch(path: string, query: Query, accept = "application/json"): Promise<WatchStream> {
    const abort = new AbortController();
    const response = await request(this.#options.url + path, {
      dispatcher: this.#agent,
      method: "GET",
      query: { watch: true, ...query },
      headers: { ...this.#authorization("admin"), accept },
      headersTimeout: requestTimeoutMs,
      bodyTimeout: requestTimeoutMs,
      signal: abort.signal,
    });
    if (response.statusCode !== 200) {
      const text = await response.body.text();
      throw new AnswerError({ code: response.statusCode, body: decode(text), text, headers: response.headers });
    }
    response.body.setEncoding("utf8");
    return new LineStream(response.statusCode, response.body as AsyncIterable<string>, abort);
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }
}

async function* eventsOf(chunks: AsyncIterable<string>): AsyncGenerator<WatchEvent> {
  let rest = "";
  for await (const chunk of chunks) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield JSON.parse(line) as WatchEvent;
  }
}

class LineStream implements WatchStream {
  readonly code: number;
  readonly #events: AsyncGenerator<WatchEvent>;
  readonly #abort: AbortController;

  constructor(code: number, chunks: AsyncIterable<string>, abort: AbortController) {
    this.code = code;
    this.#events = eventsOf(chunks);
    this.#abort = abort;
  }

  async next(): Promise<WatchEvent> {
    const { done, value } = await this.#pull();
    if (done === true) throw new Error("the watch ended before the event that was expected");
    return value;
  }

  async until(isLast: (event: WatchEvent) => boolean): Promise<readonly WatchEvent[]> {
    const events: WatchEvent[] = [];
    for (;;) {
      const event = await this.next();
      events.push(event);
      if (isLast(event)) return events;
    }
  }

  async rest(): Promise<readonly WatchEvent[]> {
    const events: WatchEvent[] = [];
    for (;;) {
      const { done, value } = await this.#pull();
      if (done === true) return events;
      events.push(value);
    }
  }

  async #pull(): Promise<IteratorResult<WatchEvent, unknown>> {
    const timer = setTimeout(() => this.#abort.abort(new Error(`no event within ${eventLimitMs} ms`)), eventLimitMs);
    try {
      return await this.#events.next();
    } finally {
      clearTimeout(timer);
    }
  }

  close(): void {
    this.#abort.abort();
  }
}
