/** A KubeClient whose answers a test scripts: a function for requests, streams that the test feeds by hand. */
import { KubeError, type KubeClient, type KubeErrorKind, type KubeRequest } from "../../../src/kube/kube-client.ts";

/** A watch as the server sees it. */
export class ScriptedStream {
  readonly request: KubeRequest;
  readonly idleTimeoutMs: number;
  /** The client has stopped reading. */
  closed = false;
  readonly #queue: (Uint8Array | KubeError | "end")[] = [];
  #wake: (() => void) | undefined;

  constructor(request: KubeRequest, idleTimeoutMs: number) {
    this.request = request;
    this.idleTimeoutMs = idleTimeoutMs;
    request.signal?.addEventListener("abort", () => this.#push(new KubeError("aborted", "aborted")));
  }

  /** Sends frames in one chunk. */
  send(...events: readonly unknown[]): void {
    this.sendText(events.map((event) => `${JSON.stringify(event)}\n`).join(""));
  }

  sendText(text: string): void {
    this.sendBytes(Buffer.from(text));
  }

  sendBytes(bytes: Uint8Array): void {
    this.#push(bytes);
  }

  end(): void {
    this.#push("end");
  }

  fail(kind: KubeErrorKind): void {
    this.#push(new KubeError(kind, `scripted ${kind}`));
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      for (;;) {
        const next = this.#queue.shift();
        if (next === "end") return;
        if (next instanceof KubeError) throw next;
        if (next !== undefined) yield next;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      this.closed = true;
    }
  }

  #push(item: Uint8Array | KubeError | "end"): void {
    this.#queue.push(item);
    this.#wake?.();
  }
}

export interface ScriptedKubeClient extends KubeClient {
  readonly requests: KubeRequest[];
  readonly streams: ScriptedStream[];
  /** The newest stream; fails the test when there is none. */
  stream0(): ScriptedStream;
  /** Answers requests; throws KubeErrors. */
  onRequest: (request: KubeRequest) => unknown;
  /** Throws to refuse a stream. */
  onStream: (request: KubeRequest) => void;
  /** Of the streams that are opened from now on; "json" at first. */
  encoding: "json" | "protobuf";
}

export function createScriptedKubeClient(): ScriptedKubeClient {
  const requests: KubeRequest[] = [];
  const streams: ScriptedStream[] = [];
  return {
    cluster: "test",
    requests,
    streams,
    stream0() {
      const stream = streams.at(-1);
      if (stream === undefined) throw new Error("no stream was opened");
      return stream;
    },
    onRequest: (request) => {
      throw new KubeError("notFound", `nothing scripted for ${request.method} ${request.path}`);
    },
    onStream: () => undefined,
    encoding: "json",
    async request(request) {
      requests.push(request);
      return this.onRequest(request);
    },
    async stream(request, idleTimeoutMs) {
      this.onStream(request);
      const stream = new ScriptedStream(request, idleTimeoutMs);
      streams.push(stream);
      const chunks = stream.chunks();
      return this.encoding === "json" ? chunks : Object.assign(chunks, { encoding: this.encoding });
    },
    close: async () => {},
  };
}
