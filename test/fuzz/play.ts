/** Plays an episode through the HTTP entry of the webhook on a virtual clock, and checks every answer. */
import { type HttpBindings } from "@hono/node-server";
import { Readable } from "node:stream";
import { type EventRecorder } from "../../src/kube/event-recorder.ts";
import { KubeError, type KubeClient } from "../../src/kube/kube-client.ts";
import { type Logger, silentLogger } from "../../src/util/logger.ts";
import { type Metrics, silentMetrics } from "../../src/util/metrics.ts";
import { createWebhook, type Webhook } from "../../src/webhook/index.ts";
import { createSeededRng } from "../support/seeded-rng.ts";
import { createVirtualClock, drainMicrotasks, type VirtualClock } from "../support/virtual-clock.ts";
import { noLeases } from "../unit/webhook/support/fake-cells.ts";
import { deleteReview, type Json, pod } from "../unit/webhook/support/objects.ts";
import { settings as defaults } from "../unit/webhook/support/replica.ts";
import { checkAnswer, type RawAnswer, type ReviewResponse } from "./answer-form.ts";
import { type Episode, inputsOf, type ReviewStep, type Step } from "./episode.ts";
import { FuzzCore } from "./fuzz-core.ts";
import { calmNamespace, steadyName } from "./protector-grammar.ts";
import { type Asked, SteadyRules, surePodOf } from "./steady-rules.ts";

export interface Outcome {
  readonly inputs: number;
  /** Reviews that were judged by the quota of a PodProtector. */
  readonly reachedQuota: number;
  /** Statuses of webhook_request, and the errors of webhook_http_error after "HTTP ". */
  readonly byStatus: ReadonlyMap<string, number>;
  /** What is wrong, if anything is. */
  readonly failure: string | undefined;
}

/** The longest deadline of a review is 29 s. */
const answerMsMax = 29_000;
/** Fractions of milliseconds do not add up exactly. */
const roundingMs = 1e-6;
/** Turns of the event loop in which a body is read. */
const readingTurns = 4;
/** Without timers, nothing but streams can make progress; they need a few turns. */
const idleTurnsMax = 200;

/** Rejects never; what the product throws is the failure. */
export async function play(episode: Episode): Promise<Outcome> {
  const player = new Player(episode);
  const stray = (error: unknown): void => player.fail(`nobody handles ${textOf(error)}`);
  process.on("unhandledRejection", stray);
  process.on("uncaughtException", stray);
  try {
    await player.run();
  } catch (error) {
    player.fail(textOf(error));
  } finally {
    // Rejections are reported at the end of a turn.
    await drainMicrotasks();
    process.off("unhandledRejection", stray);
    process.off("uncaughtException", stray);
  }
  return player.outcome();
}

class Player {
  readonly #episode: Episode;
  readonly #clock: VirtualClock = createVirtualClock();
  readonly #rules: SteadyRules;
  readonly #core: FuzzCore;
  readonly #webhook: Webhook;
  readonly #byStatus = new Map<string, number>();
  readonly #problems: string[] = [];
  #reachedQuota = 0;
  /** The probe is no input, and is not counted. */
  #isProbing = false;
  #open = 0;

  constructor(episode: Episode) {
    this.#episode = episode;
    const { settings, protectors } = episode;
    const steady = protectors.filter(({ isSteady }) => isSteady).map(({ text }) => text);
    this.#rules = new SteadyRules(steady, settings.lends === true);
    this.#core = new FuzzCore({
      clock: this.#clock,
      latencyMs: settings.latencyMs ?? 5,
      steadyKeys: this.#rules.keys,
      onWrite: (write) => this.#rules.wrote(write),
    });
    this.#webhook = this.#createWebhook();
  }

  fail(problem: string): void {
    this.#problems.push(problem);
  }

  outcome(): Outcome {
    return {
      inputs: inputsOf(this.#episode),
      reachedQuota: this.#reachedQuota,
      byStatus: this.#byStatus,
      failure: [...this.#problems, ...this.#rules.problems][0],
    };
  }

  async run(): Promise<void> {
    const { settings, protectors, steps } = this.#episode;
    for (const { text } of protectors) this.#core.put(text);
    if (settings.isUnsynced !== true) this.#core.deliver();
    for (const step of steps) await this.#step(step);
    await this.#settle();
    await this.#probe();
    const state = { isDrained: false };
    const drain = async (): Promise<void> => {
      await this.#webhook.drain();
      state.isDrained = true;
    };
    void drain();
    await this.#advanceUntil(() => state.isDrained, "the drain does not end");
    if (this.#clock.pendingTimers > 0) this.fail(`${this.#clock.pendingTimers} timers are left after the drain`);
  }

  /** Whatever came before: once the core is well, a steady PodProtector judges by its quota again. */
  async #probe(): Promise<void> {
    const { pathPrefix = "" } = this.#episode.settings;
    if (!this.#rules.keys.has(`${calmNamespace}/${steadyName}`)) return;
    this.#isProbing = true;
    this.#core.faults.length = 0;
    this.#core.deliver();
    const body = JSON.stringify(deleteReview(pod("probe", { namespace: calmNamespace }), { uid: "probe" }));
    const url = `${pathPrefix}/c1?timeout=30s`;
    void this.#review({ type: "review", method: "POST", url, headers: {}, body, isSocket: true });
    await this.#settle();
  }

  async #step(step: Step): Promise<void> {
    switch (step.type) {
      case "review":
        void this.#review(step);
        return;
      case "object":
        return this.#core.put(step.text);
      case "remove":
        return this.#core.remove(step.key);
      case "deliver":
        return this.#core.deliver();
      case "fault":
        this.#core.faults.push(step.fault);
        return;
      case "wait":
        await this.#reading();
        return this.#clock.advance(step.ms);
      case "settle":
        return this.#settle();
      default:
        return step satisfies never;
    }
  }

  async #settle(): Promise<void> {
    await this.#reading();
    await this.#advanceUntil(() => this.#open === 0, "no answer");
  }

  /** Bodies are read in real turns of the event loop; the virtual clock must not run ahead meanwhile. */
  async #reading(): Promise<void> {
    for (let turn = 0; turn < readingTurns; turn += 1) await drainMicrotasks();
  }

  async #advanceUntil(isDone: () => boolean, problem: string): Promise<void> {
    const endMs = this.#clock.monotonicMs() + 2 * answerMsMax;
    for (let idleTurns = 0; !isDone();) {
      const { nextTimerInMs } = this.#clock;
      if (nextTimerInMs === undefined) {
        idleTurns += 1;
        await drainMicrotasks();
      } else {
        await this.#clock.advance(nextTimerInMs);
      }
      if (idleTurns > idleTurnsMax || this.#clock.monotonicMs() > endMs) throw new Error(problem);
    }
  }

  async #review(step: ReviewStep): Promise<void> {
    this.#open += 1;
    try {
      const asked = this.#asked(step);
      this.#rules.asked(asked);
      const startMs = this.#clock.monotonicMs();
      const answer = await this.#send(step);
      const elapsedMs = this.#clock.monotonicMs() - startMs;
      if (elapsedMs > deadlineMsOf(step.url) + roundingMs) this.fail(`answered after ${elapsedMs} ms: ${step.url}`);
      // Nobody reads the answer to what was never said.
      if (step.breaksOff !== true) this.#check(answer, asked);
    } catch (error) {
      this.fail(textOf(error));
    } finally {
      this.#open -= 1;
    }
  }

  #check(answer: RawAnswer, asked: Asked & { readonly requestUid: string | undefined }): void {
    const checked = checkAnswer(answer, asked.requestUid);
    if (checked.kind === "bad") this.fail(`${checked.problem}: HTTP ${answer.http} ${answer.text.slice(0, 500)}`);
    if (checked.kind !== "review") {
      if (this.#isProbing) this.fail(`the probe got HTTP ${answer.http}`);
      return;
    }
    const { allowed, auditAnnotations = {} } = checked.response;
    if (!this.#isProbing && reachesQuota(checked.response)) this.#reachedQuota += 1;
    if (this.#isProbing && !allowed && auditAnnotations["required"] === undefined)
      this.fail(`no quota decides: ${answer.text}`);
    this.#rules.answered(asked, checked.response);
  }

  #asked({ url, body, isBase64 }: ReviewStep): Asked & { readonly requestUid: string | undefined } {
    const cellID = cellOf(url);
    const request = requestOf(isBase64 === true ? Buffer.from(body, "base64").toString() : body);
    const requestUid = typeof request?.["uid"] === "string" ? request["uid"] : undefined;
    const resource = (request?.["resource"] ?? {}) as Json | null;
    const isEviction = request?.["operation"] === "CREATE";
    const name = request?.["name"];
    const named = typeof name === "string" ? podOf(this.#episode.pods, name) : undefined;
    const raw = isEviction && named !== undefined ? (JSON.parse(named) as unknown) : request?.["oldObject"];
    const uid = (raw as { metadata?: { uid?: unknown } } | null | undefined)?.metadata?.uid;
    const isDeletion =
      request?.["operation"] === "DELETE" && (request["subResource"] ?? "") === "" && resource?.["resource"] === "pods";
    const isEvaluateOnly = request?.["dryRun"] === true;
    const isForced = this.#episode.settings.dryRun === true;
    return {
      requestUid,
      cellID,
      pod: isDeletion && !isEvaluateOnly && !isForced ? surePodOf(raw) : undefined,
      uid: typeof uid === "string" ? uid : undefined,
      isEvaluateOnly: isEvaluateOnly || (isEviction && asksForDryRun(request["object"])),
    };
  }

  async #send({
    method,
    url,
    headers,
    body,
    isBase64,
    isSocket,
    breaksOff,
    leavesAfterMs,
  }: ReviewStep): Promise<RawAnswer> {
    const bytes = Buffer.from(body, isBase64 === true ? "base64" : "utf8");
    const controller = new AbortController();
    const leaving =
      leavesAfterMs === undefined ? undefined : this.#clock.setTimer(leavesAfterMs, () => controller.abort());
    const hasBody = method !== "GET" && method !== "HEAD";
    const isPlain = !isSocket && hasBody;
    const request = new Request(`http://webhook${url}`, {
      method,
      headers,
      ...(leavesAfterMs !== undefined && { signal: controller.signal }),
      ...(isPlain && { body: bytes }),
    });
    const response = await this.#webhook.fetch(
      request,
      isPlain ? undefined : bindingsOf(method, url, headers, hasBody ? bytes : Buffer.of(), breaksOff === true),
    );
    leaving?.cancel();
    return {
      method,
      http: response.status,
      contentType: response.headers.get("content-type") ?? "",
      allow: response.headers.get("allow"),
      text: await response.text(),
    };
  }

  #createWebhook(): Webhook {
    const { settings, pods } = this.#episode;
    return createWebhook({
      ...defaults,
      cores: [{ name: "core", client: this.#core.client(), informer: this.#core.informer, cells: noLeases }],
      workers: settings.hasWorker === true ? { kind: "single", client: workerClient(pods) } : { kind: "none" },
      pathPrefix: settings.pathPrefix ?? "",
      allowedCells: new Set(settings.allowedCells ?? []),
      dryRun: settings.dryRun === true,
      requiresPodName: () => settings.requiresPodName === true,
      history: { ...defaults.history, compactThreshold: settings.compactThreshold ?? 100 },
      coreUnavailable: {
        isLastKnownAllowed: () => settings.lends === true,
        isUnreadyWhenSilent: () => true,
        replicas: 1,
      },
      events: new Map([["core", quietRecorder]]),
      clock: this.#clock,
      rng: createSeededRng(1),
      logger: this.#logger(),
      metrics: this.#metrics(),
    });
  }

  #logger(): Logger {
    return {
      ...silentLogger,
      error: (message, fields) => {
        if (message === "A review failed unexpectedly") this.fail(`${message}: ${textOf(fields?.["err"])}`);
      },
    };
  }

  #metrics(): Metrics {
    const count = (status: string): void => {
      if (!this.#isProbing) this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
      // Of an error that is none of a core's.
      if (status.endsWith("/Unknown")) this.fail(`an execution threw: ${status}`);
    };
    return {
      ...silentMetrics,
      histogram: (name) => ({ observe: (labels) => name === "webhook_request" && count(labels["status"] ?? "") }),
      counter: (name) => ({
        inc: (labels) => {
          if (name === "webhook_request") count(labels?.["status"] ?? "");
          if (name === "webhook_http_error") count(`HTTP ${labels?.["error"]}`);
        },
      }),
    };
  }
}

const quietRecorder: EventRecorder = { record() {}, close() {} };

function podOf(pods: Episode["pods"], name: string): string | undefined {
  return Object.hasOwn(pods, name) ? pods[name] : undefined;
}

function workerClient(pods: Episode["pods"]): KubeClient {
  return {
    cluster: "worker",
    async request({ path }) {
      const text = podOf(pods, path.slice(path.lastIndexOf("/") + 1));
      if (text === undefined) throw new KubeError("notFound", "no such pod", { code: 404 });
      return JSON.parse(text) as unknown;
    },
    stream: () => Promise.reject(new KubeError("serverError", "no watches here")),
    close: () => Promise.resolve(),
  };
}

function bindingsOf(
  method: string,
  url: string,
  headers: ReviewStep["headers"],
  bytes: Buffer,
  breaksOff: boolean,
): HttpBindings {
  const incoming = new Readable({ read() {} });
  // In two parts, as bodies of more than one packet arrive.
  const middle = bytes.length > 2_000 ? bytes.length >> 1 : 0;
  if (middle > 0) incoming.push(bytes.subarray(0, middle));
  if (breaksOff) incoming.destroy();
  else {
    incoming.push(bytes.subarray(middle));
    incoming.push(null);
  }
  return { incoming: Object.assign(incoming, { method, url, headers }) } as unknown as HttpBindings;
}

/** Milliseconds in which an answer is due; of odd texts only the limit is known. */
function deadlineMsOf(url: string): number {
  const seconds = Number(/^[^?]*\?timeout=(\d{1,2})s$/.exec(url)?.[1] ?? "30");
  const askedMs = seconds === 0 ? 10_000 : Math.min(seconds * 1_000, 30_000);
  return Math.max(askedMs - 1_000, askedMs / 2);
}

function cellOf(url: string): string {
  const segment = url.split("?")[0]?.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function requestOf(body: string): Json | undefined {
  try {
    const request = (JSON.parse(body) as Json | null)?.["request"];
    return typeof request === "object" && request !== null ? (request as Json) : undefined;
  } catch {
    return undefined;
  }
}

function asksForDryRun(eviction: unknown): boolean {
  return Array.isArray(
    (eviction as { deleteOptions?: { dryRun?: unknown } } | null | undefined)?.deleteOptions?.dryRun,
  );
}

const quotaCauses: readonly string[] = ["DeadlineExceeded", "CoreUnavailable", "ProtectorVanished"];

function reachesQuota({ auditAnnotations = {}, status }: ReviewResponse): boolean {
  if (auditAnnotations["required"] !== undefined) return true;
  if (/=quota\b/.test(auditAnnotations["admit-by-podprotectors"] ?? "")) return true;
  return quotaCauses.includes(status?.details?.causes?.[0]?.reason ?? "");
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
