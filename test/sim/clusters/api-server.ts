/**
 * A simulated kube-apiserver with its etcd: the double's engine and REST face behind the simulated network. It may be
 * down, slow, lagging, wrong or restored from a backup, as its conditions say.
 */
import { formatMicroTime } from "../../../src/api/micro-time.ts";
import { mediaType } from "../../../src/kube/protobuf/index.ts";
import { type Rng } from "../../../src/util/rng.ts";
import { type CallWebhook, Engine, handleRest, permissivePodProtectorCrd } from "../../double/index.ts";
import { type KubeObject } from "../../double/engine/object.ts";
import { type Backup } from "../../double/engine/store.ts";
import { protobufAnswer, protobufEvent } from "../../double/rest/pod-protobuf.ts";
import { type RestRequest, type RestResponse } from "../../double/rest/rest.ts";
import { type Watch, type WatchEvent } from "../../double/engine/requests/watch.ts";
import { type Fault } from "../../double/http/faults.ts";
import { answerWith } from "../../double/http/faulty-answers.ts";
import { corrupted, corruptedFrame, truncated } from "../../double/http/faulty-stream.ts";
import { eventText, warningHeaders } from "../../double/http/front.ts";
import { type ResourceType, builtInResources } from "../../double/engine/resources.ts";
import { systemAdmin } from "../../double/engine/engine.ts";
import { type SimNode } from "../kernel/node.ts";
import { type WireReply, type WireRequest, type WireServer } from "../network/dispatcher.ts";
import { type Network } from "../network/network.ts";
import { type ServerConditions, type ServerFault } from "./conditions.ts";
import { Deliveries } from "./deliveries.ts";
import { oddAnswer, oddLine, refusal } from "./odd-answers.ts";

export interface ApiServerOptions {
  readonly node: SimNode;
  readonly network: Network;
  readonly conditions: ServerConditions;
  readonly callWebhook: CallWebhook;
  readonly webhookConfigurations: readonly Record<string, unknown>[];
  /** A patched API server: writes the time of each write into this annotation of the pod. */
  readonly stampAnnotation?: string | undefined;
  /** A namespace in which fences may get lost (odd-answers.ts). */
  readonly unfenced: string;
}

/** In which form a client reads its answer. */
interface Form {
  /** `text` is the answer in JSON. */
  answer(text: string): { readonly contentType: string; readonly body: Buffer };
  readonly streamType: string;
  event(event: WatchEvent): Buffer;
  /** So that anybody can tell. */
  corrupted(event: Buffer): Buffer;
}

interface Asked {
  readonly reply: WireReply;
  readonly form: Form;
}

const jsonType = "application/json";
const json: Form = {
  answer: (text) => ({ contentType: jsonType, body: Buffer.from(text) }),
  streamType: jsonType,
  event: madeOnce((event) => Buffer.from(eventText(event))),
  corrupted: (event) => Buffer.from(corrupted(event.toString())),
};
const protobuf: Form = {
  answer(text) {
    const body = protobufAnswer(text);
    // What something between them says that does not know what was asked for.
    return body === undefined ? json.answer(text) : { contentType: mediaType, body };
  },
  streamType: `${mediaType};stream=watch`,
  event: madeOnce(protobufEvent),
  corrupted: corruptedFrame,
};

/** All watchers of an object are sent the same bytes, which nobody changes. */
function madeOnce(make: Form["event"]): Form["event"] {
  const last = new WeakMap<object, { readonly type: WatchEvent["type"]; readonly bytes: Buffer }>();
  return (event) => {
    const known = last.get(event.object);
    if (known?.type === event.type) return known.bytes;
    const bytes = make(event);
    last.set(event.object, { type: event.type, bytes });
    return bytes;
  };
}

function inJson(reply: WireReply): Asked {
  return { reply, form: json };
}

function inProtobuf(reply: WireReply): Asked {
  return { reply, form: protobuf };
}

/** Changes kept for resuming watches: enough for a busy minute, so that long gaps end in 410. */
const historyChangesMax = 2_000;

export class SimApiServer implements WireServer {
  readonly engine: Engine;
  readonly conditions: ServerConditions;
  /** Of the webhooks that it asks; a scenario takes them away. */
  readonly webhookConfigurations: Record<string, unknown>[];
  /** How far the watches of PodProtectors have got. */
  readonly deliveries: Deliveries;
  /** Times that the etcd came back from a backup. */
  restores = 0;
  /** Times that it has stopped answering. */
  stops = 0;
  readonly #node: SimNode;
  readonly #network: Network;
  readonly #rng: Rng;
  readonly #unfenced: string;
  /** The open ones, and what frees them here. */
  readonly #watches = new Map<WireReply, () => void>();
  /** The states before the present ones, for reviews of old states. */
  readonly #previousPods = new Map<string, KubeObject>();
  /** The paths of their watches. */
  readonly #listedBy = new WeakMap<SimNode, Set<string>>();
  #isUp = true;

  constructor(options: ApiServerOptions) {
    const { node, network, conditions, callWebhook, webhookConfigurations, stampAnnotation, unfenced } = options;
    this.#node = node;
    this.#network = network;
    this.conditions = conditions;
    this.webhookConfigurations = [...webhookConfigurations];
    this.deliveries = new Deliveries(node.kernel);
    this.#rng = node.kernel.rng(`${node.name} faults`);
    this.#unfenced = unfenced;
    this.engine = new Engine({
      clock: node.clock,
      rng: node.kernel.rng(`${node.name} engine`),
      callWebhook,
      webhookConfigurations: this.webhookConfigurations,
      historyChangesMax,
      beforeCommit: (type, key) => this.#beforeCommit(type, key),
      cachedState: (type, key) => this.#cachedState(type, key),
      stampWrites:
        stampAnnotation === undefined ? undefined : (type, object) => this.#stamped(type, object, stampAnnotation),
    });
  }

  async bootstrap(): Promise<void> {
    await this.engine.bootstrap();
    await this.engine.installCrd(permissivePodProtectorCrd());
    this.engine.onChange(builtInResources.pods, (change) => {
      if (change.type === "DELETED" || change.previous === undefined) this.#previousPods.delete(change.key);
      else this.#previousPods.set(change.key, change.previous);
    });
  }

  node(): SimNode | undefined {
    return this.#isUp ? this.#node : undefined;
  }

  /** Stops answering and breaks all connections off; the state stays. */
  stop(): void {
    this.#isUp = false;
    this.stops += 1;
    this.#network.resetConnectionsOf(this.#node);
  }

  start(): void {
    this.#isUp = true;
  }

  /** Breaks all watches off, as a load balancer does that is reconfigured. */
  dropWatches(): void {
    for (const reply of this.#watches.keys()) reply.reset();
  }

  /**
   * `gracefully`: its API server ends the watches in good order before, so that nothing tells them from those whose
   * time was over.
   */
  restore(backup: Backup, gracefully = false): void {
    this.#previousPods.clear();
    this.engine.restore(backup);
    this.restores += 1;
    if (!gracefully) {
      this.#network.resetConnectionsOf(this.#node);
      return;
    }
    for (const [reply, close] of this.#watches) {
      reply.end();
      close();
    }
  }

  handle(request: WireRequest, reply: WireReply): void {
    const [path = "", query = ""] = request.path.split("?", 2);
    const rest: RestRequest = {
      method: request.method,
      path,
      query: this.#limited(new URLSearchParams(query)),
      contentType: request.headers["content-type"] ?? "",
      body: request.body === undefined ? undefined : (JSON.parse(request.body) as unknown),
      accept: "application/json",
      caller: systemAdmin,
      userAgent: request.client.name,
    };
    const fault = this.conditions.drawFault(this.#rng, rest, this.#hasListed(request.client, rest));
    if (fault?.type === "stall" && fault.afterEvents === undefined) return;
    if (fault?.type === "reset" && fault.afterEvents === undefined) {
      reply.reset();
      return;
    }
    void this.#answer(rest, fault, this.#hasProtobuf(request, path) ? inProtobuf(reply) : inJson(reply));
  }

  /** Whoever goes on from a version has listed before. A process that starts again is another client. */
  #hasListed(client: SimNode, { path, query }: RestRequest): boolean {
    const listed = this.#listedBy.get(client) ?? new Set();
    this.#listedBy.set(client, listed);
    if (query.get("watch") === "true" && query.has("resourceVersion")) listed.add(path);
    return listed.has(path);
  }

  /** As a real server, where nothing between it and its client stands in the way. */
  #hasProtobuf({ headers }: WireRequest, path: string): boolean {
    const isWanted = headers["accept"]?.split(",").some((type) => type.trim() === mediaType) === true;
    return isWanted && this.conditions.servesProtobuf && /\/pods(\/[^/]+)?$/.test(path);
  }

  #limited(query: URLSearchParams): URLSearchParams {
    const { pageSizeMax } = this.conditions;
    if (Number(query.get("limit")) > pageSizeMax) query.set("limit", String(pageSizeMax));
    return query;
  }

  async #answer(request: RestRequest, drawn: ServerFault | undefined, { reply, form }: Asked): Promise<void> {
    const { engine } = this;
    if (drawn?.type === "queued") await this.#node.kernel.pause(drawn.delayMs);
    const lateMs = drawn?.type === "slowAnswer" ? drawn.delayMs : 0;
    const fault = isOfTheDouble(drawn) ? drawn : undefined;
    const handle = (asked: RestRequest): Promise<RestResponse> => handleRest(engine, undefined, asked);
    const server = { clock: this.#node.clock, revision: engine.revision, handle };
    const isRefused = !this.conditions.offersWatchList && request.query.has("sendInitialEvents");
    const answer = isRefused
      ? withoutWatchList
      : drawn?.type === "refusal"
        ? refusal(this.#rng, request)
        : drawn?.type === "forbidden"
          ? await handleRest(engine, () => false, request)
          : await answerWith(fault, request, server);
    if (lateMs > 0) await this.#node.kernel.pause(lateMs);
    if (fault?.type === "loseResponse") {
      reply.reset();
      return;
    }
    if (answer.kind === "watch") {
      this.#stream(request, answer.open, drawn, { reply, form });
      return;
    }
    const isOdd = drawn?.type === "oddAnswer" && answer.kind === "json";
    const text = isOdd ? oddAnswer(this.#rng, request, answer.text, this.#unfenced) : answer.text;
    const retryAfter =
      answer.kind === "json" && answer.retryAfterSeconds !== undefined
        ? { "retry-after": String(answer.retryAfterSeconds) }
        : {};
    const { contentType, body } = form.answer(text);
    const warnings = answer.kind === "json" ? warningHeaders(answer.warnings) : [];
    const warning = warnings.length === 0 ? {} : { warning: warnings.join(", ") };
    reply.head(answer.code, { "content-type": contentType, ...retryAfter, ...warning });
    const onDelivered = answer.kind === "json" && !isOdd ? this.deliveries.ofList(request, text) : undefined;
    reply.chunk(fault?.type === "truncate" ? truncated(body) : body, onDelivered);
    reply.end();
  }

  #stream(
    request: RestRequest,
    open: Extract<RestResponse, { kind: "watch" }>["open"],
    fault: ServerFault | undefined,
    { reply, form }: Asked,
  ): void {
    reply.head(200, { "content-type": form.streamType });
    let lines = 0;
    let isBroken = false;
    /** Not open yet while the first events come. */
    const opened: { watch?: Watch } = {};
    const close = (): void => {
      isBroken = true;
      this.#watches.delete(reply);
      opened.watch?.close();
    };
    this.#watches.set(reply, close);
    const reader = this.deliveries.reader(request);
    const onDelivered = (event: WatchEvent) => (reader === undefined ? undefined : () => reader(event));
    const faultyLine = fault !== undefined && "afterEvents" in fault ? (fault.afterEvents ?? 0) : -1;
    const sink = {
      onEvent: (event: WatchEvent): void => {
        if (isBroken || (fault?.type === "noBookmarks" && event.type === "BOOKMARK")) return;
        const bytes = form.event(event);
        const faulty = lines++ === faultyLine ? fault?.type : undefined;
        if (faulty === "oddAnswer") reply.chunk(oddLine(this.#rng));
        if (faulty === "stall") isBroken = true;
        else if (faulty === "reset") reply.reset();
        else if (faulty === "truncate") {
          reply.chunk(truncated(bytes));
          reply.end();
          close();
        } else if (faulty === "corrupt") reply.chunk(form.corrupted(bytes));
        else reply.chunk(bytes, onDelivered(event));
      },
      onEnd: (): void => {
        this.#watches.delete(reply);
        if (!isBroken) reply.end();
      },
    };
    reply.onGone(close);
    opened.watch = open(sink, () => this.conditions.watchLagMs);
    // Cut short by one of its first events.
    if (isBroken && fault?.type === "truncate") opened.watch.close();
  }

  async #beforeCommit(type: ResourceType, key: string): Promise<boolean> {
    const held = this.conditions.holdCommit?.(type, key);
    if (held !== undefined) return held;
    const stall = this.conditions.drawStall(this.#rng, type, key);
    if (stall === undefined) return true;
    // What hangs for longer is answered when the request is over, and never written.
    await this.#node.kernel.pause(Math.min(stall.durationMs, stall.requestLifeMs));
    return stall.durationMs < stall.requestLifeMs;
  }

  #stamped(type: ResourceType, object: KubeObject, key: string): KubeObject {
    if (type !== builtInResources.pods) return object;
    const time = formatMicroTime(this.#node.clock.epochMicros());
    return {
      ...object,
      metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [key]: time } },
    };
  }

  #cachedState(type: ResourceType, key: string): KubeObject | undefined {
    if (type !== builtInResources.pods || !this.conditions.drawStaleRead(this.#rng)) return undefined;
    return this.#previousPods.get(key);
  }
}

function isOfTheDouble(fault: ServerFault | undefined): fault is Fault {
  return fault !== undefined && !["slowAnswer", "queued", "oddAnswer", "refusal", "forbidden"].includes(fault.type);
}

/** What a server without the feature says. */
const withoutWatchList: RestResponse = {
  kind: "json",
  code: 422,
  text: JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    status: "Failure",
    reason: "Invalid",
    code: 422,
    message:
      "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for watch unless the WatchList " +
      "feature gate is enabled",
  }),
};
