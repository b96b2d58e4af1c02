/**
 * The HTTP front of an engine: decodes requests, authenticates, writes answers and streams watches. Knows no listener.
 */
import { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http";
import { type Clock } from "../../../src/util/clock.ts";
import { type Caller } from "../engine/admission.ts";
import { type Engine, systemAdmin } from "../engine/engine.ts";
import { objectText } from "../engine/object.ts";
import {
  ApiError,
  badRequest,
  internalError,
  isApiError,
  notImplemented,
  unauthorized,
  unsupportedMediaType,
} from "../engine/status.ts";
import { type Watch, type WatchEvent } from "../engine/requests/watch.ts";
import { type Authorizer, type RestRequest, type RestResponse, errorResponse, handleRest } from "../rest/rest.ts";
import { type Fault, type FaultScript, Faults, isWatch } from "./faults.ts";
import { answerWith } from "./faulty-answers.ts";
import { corrupted, createLineWriter, resetConnection, truncated } from "./faulty-stream.ts";

export interface FrontOptions {
  readonly engine: Engine;
  readonly clock: Clock;
  /** Callers by bearer token; undefined = everybody is system:admin. */
  readonly tokens: Readonly<Record<string, Caller>> | undefined;
  readonly authorizer: Authorizer | undefined;
}

// The real server's limit on a request body.
const bodyBytesMax = 3 * 1024 * 1024;
// A reader that falls this far behind is cut off, as the real server does when a watcher's buffer is full.
const unreadBytesMax = 64 * 1024 * 1024;

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) {
      throw new ApiError(413, "RequestEntityTooLarge", `Request entity too large: limit is ${bodyBytesMax}`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

const unreadBodyTypes = ["application/yaml", "application/vnd.kubernetes.protobuf"];

function decodeBody(method: string, text: string, contentType: string): unknown {
  if (text === "") return undefined;
  if (method === "PATCH") {
    // What is no JSON is refused by its type, which depends on the resource.
    if (!contentType.endsWith("json")) return undefined;
  } else if (contentType !== "" && contentType !== "application/json") {
    if (unreadBodyTypes.includes(contentType)) {
      throw notImplemented(`bodies of type ${contentType}: send JSON, as kubectl apply --validate=false does`);
    }
    throw unsupportedMediaType(
      "the body of the request was in an unknown format - accepted media types include: " +
        "application/json, application/yaml, application/vnd.kubernetes.protobuf",
    );
  }
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw badRequest(`couldn't get version/kind; json parse error: ${(error as Error).message}`);
  }
}

/** An event as a line of a watch. */
/** The values of the Warning header, as the real server writes them. */
export function warningHeaders(warnings: readonly string[] = []): string[] {
  return warnings.map((text) => `299 - ${JSON.stringify(text)}`);
}

export function eventText(event: WatchEvent): string {
  const object =
    event.type === "BOOKMARK" || event.type === "ERROR" ? JSON.stringify(event.object) : objectText(event.object);
  return `{"type":"${event.type}","object":${object}}\n`;
}

/** The headers of one name, as a list. */
function headerValues(headers: IncomingHttpHeaders, name: string): string[] {
  const value = headers[name];
  return value === undefined ? [] : Array.isArray(value) ? value : value.split(",").map((item) => item.trim());
}

/** True when the fault comes before the header, and the request is not executed. */
function isBeforeAnswer(fault: { readonly afterEvents?: number }, request: IncomingMessage): boolean {
  return fault.afterEvents === undefined || !isWatch(new URL(request.url ?? "/", "http://double").searchParams);
}

/** A caller without credentials, where an authorizer can judge it; without one, such a request is refused. */
const anonymous: Caller = { username: "system:anonymous", groups: ["system:unauthenticated"] };

export class Front {
  readonly #options: FrontOptions;
  #faults: Faults | undefined;
  readonly #watches = new Map<ServerResponse, Watch>();

  constructor(options: FrontOptions) {
    this.#options = options;
  }

  /** How many watches are open. */
  get openWatches(): number {
    return this.#watches.size;
  }

  /** Resets the connection of every watch. */
  dropWatches(): void {
    for (const response of this.#watches.keys()) response.destroy();
  }

  /** What goes wrong from now on; undefined = nothing. Its counts begin again. */
  setFaults(script: FaultScript | undefined): void {
    this.#faults = script === undefined ? undefined : new Faults(script);
  }

  /** Answers one request. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const fault = this.#faults?.next(request);
      if (fault?.type === "reset" && isBeforeAnswer(fault, request)) return resetConnection(request.socket);
      if (fault?.type === "stall" && isBeforeAnswer(fault, request)) return;
      const answer = await this.#answer(request, fault);
      if (fault?.type === "loseResponse") return resetConnection(request.socket);
      this.#send(response, answer, fault);
    } catch (error) {
      const known = isApiError(error) ? error : internalError(error instanceof Error ? error.message : String(error));
      // A peer that has gone cannot be told.
      if (!response.destroyed && !response.headersSent) this.#send(response, errorResponse(known));
      else response.destroy();
    }
  }

  async #answer(request: IncomingMessage, fault: Fault | undefined): Promise<RestResponse> {
    const url = new URL(request.url ?? "/", "http://double");
    const contentType = (request.headers["content-type"] ?? "").split(";")[0]!.trim();
    const text = await readBody(request);
    const rest: RestRequest = {
      method: request.method ?? "GET",
      path: url.pathname,
      query: url.searchParams,
      contentType,
      body: decodeBody(request.method ?? "GET", text, contentType),
      accept: request.headers.accept,
      caller: this.#caller(request.headers),
      userAgent: (request.headers["user-agent"] ?? "").split(/[/ ]/)[0]!,
    };
    const { engine, clock, authorizer } = this.#options;
    const handle = (asked: RestRequest): Promise<RestResponse> => handleRest(engine, authorizer, asked);
    return await answerWith(fault, rest, { clock, revision: engine.revision, handle });
  }

  #caller(headers: IncomingHttpHeaders): Caller {
    const caller = this.#authenticate(headers);
    const username = headerValues(headers, "impersonate-user")[0];
    if (username === undefined) return caller;
    return { username, groups: [...headerValues(headers, "impersonate-group"), "system:authenticated"] };
  }

  #authenticate(headers: IncomingHttpHeaders): Caller {
    const { tokens } = this.#options;
    if (tokens === undefined) return systemAdmin;
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? "")?.[1];
    if (token === undefined && this.#options.authorizer !== undefined) return anonymous;
    if (token === undefined || !Object.hasOwn(tokens, token)) throw unauthorized();
    return tokens[token]!;
  }

  #send(response: ServerResponse, answer: RestResponse, fault?: Fault): void {
    switch (answer.kind) {
      case "watch":
        this.#stream(response, answer.open, fault);
        return;
      case "text":
        response.writeHead(answer.code, { "content-type": "text/plain; charset=utf-8" }).end(answer.text);
        return;
      case "json": {
        const change =
          fault?.type === "corrupt" ? corrupted : fault?.type === "truncate" ? truncated : (text: string) => text;
        const retryAfter =
          answer.retryAfterSeconds === undefined ? {} : { "retry-after": String(answer.retryAfterSeconds) };
        const warning = warningHeaders(answer.warnings);
        if (warning.length > 0) response.setHeader("warning", warning);
        response.writeHead(answer.code, { "content-type": "application/json", ...retryAfter }).end(change(answer.text));
      }
    }
  }

  #stream(
    response: ServerResponse,
    open: Extract<RestResponse, { kind: "watch" }>["open"],
    fault: Fault | undefined,
  ): void {
    response.setHeader("content-type", "application/json");
    const lines = createLineWriter(response, fault);
    const sink = {
      onEvent: (event: WatchEvent): void => {
        if (fault?.type === "noBookmarks" && event.type === "BOOKMARK") return;
        lines.write(eventText(event));
        if (response.writableLength > unreadBytesMax) response.destroy();
      },
      onEnd: (): void => lines.end(),
    };
    const lagMs = fault?.type === "watchLag" ? fault.lagMs : 0;
    const watch = open(sink, () => lagMs);
    this.#watches.set(response, watch);
    response.on("close", () => {
      watch.close();
      this.#watches.delete(response);
    });
    response.flushHeaders();
    // The peer may have gone before there was anybody to tell.
    if (response.destroyed) {
      watch.close();
      this.#watches.delete(response);
    }
  }
}
