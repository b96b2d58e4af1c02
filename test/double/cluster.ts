/** Builders for the double's own tests: an engine on a virtual clock, objects, webhooks that record their reviews. */
import { createSeededRng } from "../support/seeded-rng.ts";
import { type VirtualClock, createVirtualClock } from "../support/virtual-clock.ts";
import { Engine, type EngineOptions } from "./engine/engine.ts";
import { type JsonObject, type KubeObject, asObject } from "./engine/object.ts";
import { builtInResources as types } from "./engine/resources.ts";
import { type WatchEvent, type WatchQuery } from "./engine/requests/watch.ts";
import { type ResourceType } from "./engine/resources.ts";

export interface TestCluster {
  readonly engine: Engine;
  readonly clock: VirtualClock;
  /** The `request` of each review sent so far. */
  readonly reviews: JsonObject[];
  /** Decides each review; default: allowed. */
  readonly decide: (decision: (request: JsonObject) => JsonObject | Promise<JsonObject>) => void;
}

/** A cluster on a virtual clock. Nothing is reviewed until a webhook configuration is stored. */
export async function createTestCluster(options: Partial<EngineOptions> = {}): Promise<TestCluster> {
  const clock = createVirtualClock();
  const reviews: JsonObject[] = [];
  let decide: (request: JsonObject) => JsonObject | Promise<JsonObject> = () => ({ allowed: true });
  const engine = new Engine({
    clock,
    rng: createSeededRng(1),
    async callWebhook(_webhook, review) {
      const request = asObject(review["request"]);
      reviews.push(request);
      return { ...review, response: { uid: request["uid"], ...(await decide(request)) } };
    },
    ...options,
  });
  await engine.bootstrap();
  return { engine, clock, reviews, decide: (next) => void (decide = next) };
}

export function podBody(name: string, more: { labels?: JsonObject; nodeName?: string } = {}): JsonObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, labels: more.labels ?? { app: "web" } },
    spec: {
      containers: [{ name: "main", image: "web:1" }],
      ...(more.nodeName === undefined ? {} : { nodeName: more.nodeName }),
    },
  };
}

/** A pod that runs on a node, so that its deletion has a grace period. */
export async function createLivePod(engine: Engine, name: string, labels?: JsonObject): Promise<KubeObject> {
  const body = podBody(name, { nodeName: "node-1", ...(labels === undefined ? {} : { labels }) });
  return await engine.create(types.pods, "default", body);
}

export function configMap(name: string, data: JsonObject = {}, labels: JsonObject = {}): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, labels }, data };
}

/** Stores a webhook for deletions and evictions of pods. */
export async function installWebhook(engine: Engine, webhook: JsonObject = {}): Promise<void> {
  const pods = { apiGroups: [""], apiVersions: ["v1"] };
  await engine.create(types.validatingWebhookConfigurations, undefined, {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name: "podseidon" },
    webhooks: [
      {
        name: "pods.podseidon.test",
        clientConfig: { url: "https://127.0.0.1:1/cell" },
        admissionReviewVersions: ["v1"],
        sideEffects: "NoneOnDryRun",
        rules: [
          { ...pods, operations: ["DELETE"], resources: ["pods"] },
          { ...pods, operations: ["CREATE"], resources: ["pods/eviction"] },
        ],
        ...webhook,
      },
    ],
  });
}

export function mergePatch(body: JsonObject): { contentType: string; body: JsonObject } {
  return { contentType: "application/merge-patch+json", body };
}

export interface RecordedWatch {
  readonly events: WatchEvent[];
  /** `TYPE name`, or `BOOKMARK version`, or `ERROR message`. */
  readonly lines: () => string[];
  readonly ended: () => boolean;
  close(): void;
}

export function record(
  engine: Engine,
  type: ResourceType,
  query: WatchQuery,
  lagMs?: () => number,
  namespace?: string,
): RecordedWatch {
  const events: WatchEvent[] = [];
  let ended = false;
  const sink = { onEvent: (event: WatchEvent) => void events.push(event), onEnd: () => void (ended = true) };
  const watch = engine.watch(type, namespace, query, sink, lagMs);
  const line = (event: WatchEvent): string => {
    const { name, resourceVersion } = asObject(asObject(event.object)["metadata"]);
    if (event.type === "ERROR") return `ERROR ${event.object.reason}`;
    return `${event.type} ${event.type === "BOOKMARK" ? String(resourceVersion) : String(name)}`;
  };
  return { events, lines: () => events.map(line), ended: () => ended, close: () => watch.close() };
}

/** A predicate for assert.rejects: an ApiError with this code and a message that holds `text`. */
export function refusal(code: number, text: string): (error: unknown) => boolean {
  return (error) => {
    const { status } = error as { status?: { code?: number; message?: string } };
    if (status?.code === code && (status.message ?? "").includes(text)) return true;
    throw new Error(`expected ${code} with ${JSON.stringify(text)}, got ${JSON.stringify(status)} (${String(error)})`);
  };
}
