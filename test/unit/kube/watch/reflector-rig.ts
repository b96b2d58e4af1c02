/** A reflector on a scripted server and a virtual clock, for reflector.*.test.ts. */
import { objectKey } from "../../../../src/api/object-key.ts";
import assert from "node:assert/strict";
import { parseResourceVersion, type ResourceVersion } from "../../../../src/api/resource-version.ts";
import { type Decode, type InformerEvent, type Stored } from "../../../../src/kube/informer.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createInformer } from "../../../../src/kube/watch/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock, drainMicrotasks, type VirtualClock } from "../../../support/virtual-clock.ts";
import { createRecordingLogger } from "../../observability/recording-logger.ts";
import { createCountingMetrics } from "../counting-metrics.ts";
import { createScriptedKubeClient, type ScriptedKubeClient } from "../scripted-kube-client.ts";

export interface Thing extends Stored {
  readonly value: string;
}

export function thing(name: string, version: number, value = "", uid = `uid-${name}`): unknown {
  return { metadata: { namespace: "ns", name, uid, resourceVersion: String(version) }, value };
}

function decode(raw: unknown): Thing | undefined {
  const { metadata, value } = raw as {
    metadata: { namespace: string; name: string; uid: string; resourceVersion: string };
    value: string;
  };
  if (value === "undecodable") return undefined;
  return {
    key: objectKey(metadata.namespace, metadata.name),
    uid: metadata.uid,
    resourceVersion: metadata.resourceVersion as ResourceVersion,
    value,
  };
}

export const bookmark = (version: number, end = false): unknown => ({
  type: "BOOKMARK",
  object: {
    metadata: {
      resourceVersion: String(version),
      ...(end && { annotations: { "k8s.io/initial-events-end": "true" } }),
    },
  },
});
export const added = (object: unknown): unknown => ({ type: "ADDED", object });
export const modified = (object: unknown): unknown => ({ type: "MODIFIED", object });
export const deleted = (object: unknown): unknown => ({ type: "DELETED", object });
export const errorEvent = (code: number, reason: string, causes: unknown[] = []): unknown => ({
  type: "ERROR",
  object: { kind: "Status", code, reason, message: "scripted", details: { causes } },
});

export const versionOf = (text: string): ResourceVersion => parseResourceVersion(text)!;

export function describe(event: InformerEvent<Thing>): string {
  const object = `${event.object.key}@${event.object.resourceVersion}`;
  if (event.type === "modified") return `modified ${event.previous.key}@${event.previous.resourceVersion} -> ${object}`;
  return `${event.type === "deleted" && event.isAbsent === true ? "absent" : event.type} ${object}`;
}

/** Where the server's history is when a test says nothing else: beyond all versions that a test sends. */
const versionAhead = 1_000_000;

/** An informer on a scripted client, which does not run yet: of things, unless `of` says something else. */
export function create<T extends Stored = Thing>(of: Partial<Parameters<typeof createInformer<T>>[0]> = {}) {
  const clock = createVirtualClock();
  const client = createScriptedKubeClient();
  const metrics = createCountingMetrics();
  const logger = createRecordingLogger();
  const informer = createInformer<T>({
    client,
    resource: { group: "test.io", version: "v1", resource: "things" },
    labelSelector: "app=x",
    decode: decode as Decode<T & Thing>,
    clock,
    rng: createSeededRng(1),
    logger,
    metrics,
    name: "things",
    ...of,
  });
  const relists = (reason: string): number =>
    metrics.value("kube_informer_relists_total", { cluster: "test", informer: of.name ?? "things", reason });
  /** Enough for every backoff, and no more than until a stream is opened, which may not be silent for long. */
  const passBackoff = async (): Promise<void> => {
    const endMs = clock.monotonicMs() + 31_000;
    const before = client.streams.length;
    await drainMicrotasks();
    while (client.streams.length === before && clock.monotonicMs() < endMs) {
      const leftMs = endMs - clock.monotonicMs();
      await clock.advance(Math.min(leftMs, clock.nextTimerInMs ?? leftMs));
    }
  };
  /** Runs it until the test ends. */
  const run = (t: { after(end: () => Promise<void>): void }) => {
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    t.after(async () => {
      stop.abort();
      await running;
      assert.equal(clock.pendingTimers, 0, "timers are left after stop");
    });
    return { stop, running };
  };
  return { clock, client, metrics, logger, informer, relists, passBackoff, run };
}

/** An informer of things on a scripted client, running until the test ends. */
export function start(
  t: { after(end: () => Promise<void>): void },
  prepare?: (client: ScriptedKubeClient, clock: VirtualClock) => void,
) {
  const server = { version: versionAhead };
  const { run, ...created } = create();
  const { client, informer } = created;
  client.onRequest = ({ method, path, query }) => {
    if (query?.["limit"] === 1) return { metadata: { resourceVersion: String(server.version) }, items: [] };
    throw new KubeError("notFound", `nothing scripted for ${method} ${path}`);
  };
  prepare?.(client, created.clock);
  const log: string[] = [];
  let forbidden = 0;
  /** What each list said has changed. */
  const changes: (readonly string[] | undefined)[] = [];
  informer.subscribe({
    onEvent: (event) => void log.push(describe(event)),
    onProgress: (version) => void log.push(`progress ${version}`),
    onNotServed: () => void log.push("not served"),
    onForbidden: () => void forbidden++,
    onListed: (first, changed) => {
      log.push(`listed ${first ? "first" : "again"}`);
      changes.push(changed === undefined ? undefined : [...changed].toSorted());
    },
  });
  const takeLog = (): string[] => log.splice(0);
  return { ...created, server, log, changes, takeLog, refusals: () => forbidden, ...run(t) };
}

/** Like `start`, with `things` listed by a WatchList at version 10. */
export async function startSynced(t: Parameters<typeof start>[0], ...things: readonly unknown[]) {
  const setup = start(t);
  await drainMicrotasks();
  setup.client.stream0().send(...things.map(added), bookmark(10, true));
  await drainMicrotasks();
  assert.equal(setup.informer.hasSynced(), true);
  setup.takeLog();
  return setup;
}
