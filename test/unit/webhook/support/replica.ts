/** A webhook replica over fake cores, driven through its HTTP app without sockets on a virtual clock. */
import { type LogFields, type Logger } from "../../../../src/util/logger.ts";
import { type MetricLabels, type Metrics } from "../../../../src/util/metrics.ts";
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { createWebhook, type Webhook, type WebhookOptions } from "../../../../src/webhook/index.ts";
import { type WebhookCore } from "../../../../src/webhook/webhook.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../../support/virtual-clock.ts";
import { noLeases } from "./fake-cells.ts";
import { FakeCore } from "./fake-core.ts";
import { type FakeInformer } from "./fake-informer.ts";
import { type Json } from "./objects.ts";

export interface Answer {
  readonly http: number;
  readonly contentType: string | null;
  readonly body: Json;
  readonly allowed: boolean;
  readonly code: number | undefined;
  readonly message: string;
  readonly audit: Record<string, string>;
  readonly warnings: readonly string[];
  readonly elapsedMs: number;
}

export interface Replica {
  readonly webhook: Webhook;
  readonly informers: readonly FakeInformer[];
  readonly log: RecordedLog;
  readonly metrics: RecordedMetrics;
  /** Sends a review and moves the clock until it is answered. */
  review(body: unknown, options?: { cellID?: string; query?: string; signal?: AbortSignal }): Promise<Answer>;
  /** Sends it and leaves the clock alone. */
  send(body: unknown, options?: { cellID?: string; query?: string; signal?: AbortSignal }): Promise<Answer>;
}

export const healthCriteria: WebhookOptions["healthCriteria"] = (
  ["Scheduled", "Initialized", "Running", "Ready"] as const
).map((criterion) => ({ criterion, annotation: { key: annotations.healthCriterion, value: criterion } }));

/** The flags at their defaults, but without a delay before the first batch. */
export const settings = {
  workers: { kind: "none" },
  pathPrefix: "",
  allowedCells: new Set<string>(),
  clientCells: new Map<string, ReadonlySet<string>>(),
  productVersion: "1.0.0",
  dryRun: false,
  healthCriteria,
  requiresPodName: () => false,
  history: { maxConcurrentLag: 0, compactThreshold: 100, aggregationRateMs: 1000 },
  legacyCellHoldMs: 10_000,
  refusalHoldMs: 1_000,
  orphanedPodGraceMs: 3_600_000,
  tombstoneTtlMs: 0,
  stateNamespace: "podseidon-system",
  coldStartDelayMs: 0,
  retryBackoffBaseMs: 100,
  retryJitterMs: 100,
  coreUnavailable: { isLastKnownAllowed: () => false, isUnreadyWhenSilent: () => true, replicas: 1 },
  events: new Map(),
  developerEvents: new Map(),
} as const satisfies Partial<WebhookOptions>;

export interface ReplicaOptions extends Partial<WebhookOptions> {
  readonly unsynced?: boolean;
  readonly seed?: number;
  /** Of every core; by default without Leases. */
  readonly cells?: WebhookCore["cells"];
}

/** One core called "core" unless `cores` says otherwise; informers are synced with what the cores hold. */
export function createReplica(
  clock: VirtualClock,
  cores: FakeCore | Readonly<Record<string, FakeCore>>,
  options: ReplicaOptions = {},
): Replica {
  const named = Object.entries(cores instanceof FakeCore ? { core: cores } : cores);
  const log = new RecordedLog();
  const metrics = new RecordedMetrics();
  const parts = named.map(([name, core]) => ({
    name,
    core,
    client: core.client(name),
    informer: core.informer(),
    cells: options.cells ?? noLeases,
  }));
  const webhook = createWebhook({
    cores: parts,
    ...settings,
    clock,
    rng: createSeededRng(options.seed ?? 1),
    logger: log,
    metrics,
    ...options,
  });
  if (options.unsynced !== true) for (const { core } of parts) core.deliver();

  const send: Replica["send"] = async (body, { cellID = "c1", query = "?timeout=10s", signal } = {}) => {
    const startMs = clock.monotonicMs();
    const request = new Request(`http://webhook/${cellID}${query}`, {
      method: "POST",
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(signal && { signal }),
    });
    const response = await webhook.fetch(request);
    return readAnswer(response, clock.monotonicMs() - startMs);
  };
  return {
    webhook,
    informers: parts.map(({ informer }) => informer),
    log,
    metrics,
    send,
    review: (body, sendOptions) => settle(clock, send(body, sendOptions)),
  };
}

/** Most virtual time that a test waits for an answer. */
const settleMsMax = 60_000;

/** Moves the clock until `promise` settles. */
export async function settle<T>(clock: VirtualClock, promise: Promise<T>): Promise<T> {
  const state = { isSettled: false };
  const watch = async (): Promise<void> => {
    await Promise.allSettled([promise]);
    state.isSettled = true;
  };
  void watch();
  const endMs = clock.monotonicMs() + settleMsMax;
  while (!state.isSettled) {
    if (clock.monotonicMs() > endMs) throw new Error("no answer");
    await clock.advance(1);
  }
  return promise;
}

/** A replica with one core that holds `objects`. */
export function world(objects: readonly Json[], options: Parameters<typeof createReplica>[2] = {}) {
  const clock = createVirtualClock();
  const core = new FakeCore(clock);
  for (const object of objects) core.put(object);
  return { clock, core, replica: createReplica(clock, core, options) };
}

async function readAnswer(response: Response, elapsedMs: number): Promise<Answer> {
  const text = await response.text();
  const contentType = response.headers.get("content-type");
  const body = (contentType?.startsWith("application/json") === true ? JSON.parse(text) : { text }) as Json;
  const answer = (body["response"] ?? {}) as Json;
  const status = (answer["status"] ?? body) as Json;
  return {
    http: response.status,
    contentType,
    body,
    allowed: answer["allowed"] === true,
    code: status["code"] as number | undefined,
    message: typeof status["message"] === "string" ? status["message"] : "",
    audit: (answer["auditAnnotations"] ?? {}) as Record<string, string>,
    warnings: (answer["warnings"] ?? []) as string[],
    elapsedMs,
  };
}

export class RecordedLog implements Logger {
  readonly lines: { readonly level: string; readonly message: string; readonly fields: LogFields }[] = [];
  error(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "error", message, fields });
  }
  warn(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "warn", message, fields });
  }
  info(message: string, fields: LogFields = {}): void {
    this.lines.push({ level: "info", message, fields });
  }
  verbose(): void {}
  isVerbose(): boolean {
    return false;
  }
  with(): Logger {
    return this;
  }
}

/** Remembers each observation as `name{label="value",…}`. */
export class RecordedMetrics implements Metrics {
  readonly values = new Map<string, number[]>();
  readonly #samples: (() => void)[] = [];
  counter(name: string) {
    return { inc: (labels: MetricLabels = {}, by = 1) => this.#add(name, labels, by) };
  }
  gauge(name: string) {
    return { set: (labels: MetricLabels, value: number) => this.#add(name, labels, value), remove() {} };
  }
  histogram(name: string) {
    return { observe: (labels: MetricLabels, value: number) => this.#add(name, labels, value) };
  }
  onScrape(sample: () => void): void {
    this.#samples.push(sample);
  }
  scrape(): void {
    for (const sample of this.#samples) sample();
  }
  /** Number of observations whose text starts with `prefix`. */
  count(prefix: string): number {
    let count = 0;
    for (const [text, values] of this.values) if (text.startsWith(prefix)) count += values.length;
    return count;
  }
  #add(name: string, labels: MetricLabels, value: number): void {
    const text = `${name}{${Object.entries(labels)
      .map(([key, label]) => `${key}="${label}"`)
      .join(",")}}`;
    this.values.set(text, [...(this.values.get(text) ?? []), value]);
  }
}
