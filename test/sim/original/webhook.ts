/**
 * The webhook of the Go original: one batch of each PodProtector at a time, judged by the copy in its informer and from
 * the last request to the first, written with a compare-and-swap.
 */
import { formatMicroTime } from "../../../src/api/micro-time.ts";
import { type ObjectKey } from "../../../src/api/object-key.ts";
import { type PodRecord, readPodRecord } from "../../../src/api/pod.ts";
import { type Informer } from "../../../src/kube/informer.ts";
import { isKubeError, type KubeClient } from "../../../src/kube/kube-client.ts";
import { type StoredProtector } from "../../../src/kube/resources.ts";
import { type Component, createBackground } from "../../../src/lifecycle/component.ts";
import { connectCores, type Runtime } from "../../../src/roles/runtime.ts";
import { createProtectorInformer } from "../../../src/roles/informers.ts";
import { type ServerOptions } from "../../../src/server/index.ts";
import { sleep } from "../../../src/util/clock.ts";
import { asObject, type JsonObject } from "../../double/engine/object.ts";
import { selects } from "./aggregator.ts";
import { availableOf, cellsOf, lagOf, putStatus } from "./status.ts";

type Result = "allowed" | "rejected" | "retry" | "failed";

interface Asked {
  readonly cell: string;
  readonly pod: PodRecord;
  readonly answer: (result: Result) => void;
}

const backoffMs = 100;

export async function createOriginalWebhook(runtime: Runtime): Promise<Component[]> {
  const [core] = await connectCores(runtime);
  if (core === undefined) throw new Error("an original webhook has one core");
  const protectors = createProtectorInformer(runtime, core, runtime.logger);
  const judge = new Judge(runtime, core.client, protectors);
  const server = runtime.createServer({
    name: "webhook",
    config: runtime.config.webhook.server,
    fetch: (async (_request: Request, { incoming }: { incoming: AsyncIterable<Buffer> & { url: string } }) => {
      const chunks: Buffer[] = [];
      for await (const chunk of incoming) chunks.push(chunk);
      const review = JSON.parse(Buffer.concat(chunks).toString()) as JsonObject;
      const cell = decodeURIComponent(new URL(incoming.url, "http://webhook").pathname.slice(1));
      const { status, body } = await judge.review(asObject(review["request"]), cell);
      return new Response(JSON.stringify({ ...review, response: body }), { status });
    }) as unknown as ServerOptions["fetch"],
    connectionsMax: 1_000,
    graceMs: 0,
    clock: runtime.clock,
    logger: runtime.logger,
  });
  return [createBackground("original-informer", (signal) => protectors.run(signal)), server];
}

class Judge {
  readonly #runtime: Runtime;
  readonly #client: KubeClient;
  readonly #protectors: Informer<StoredProtector>;
  readonly #waiting = new Map<ObjectKey, Asked[]>();
  readonly #busy = new Set<ObjectKey>();

  constructor(runtime: Runtime, client: KubeClient, protectors: Informer<StoredProtector>) {
    this.#runtime = runtime;
    this.#client = client;
    this.#protectors = protectors;
  }

  /** Deletions only; nothing in these worlds is evicted. */
  async review(request: JsonObject, cell: string): Promise<{ readonly status: number; readonly body: JsonObject }> {
    const answer = (allowed: boolean, code?: number): { status: number; body: JsonObject } => ({
      status: 200,
      body: { uid: request["uid"], allowed, ...(code === undefined ? {} : { status: { metadata: {}, code } }) },
    });
    const pod = readPodRecord(request["oldObject"]);
    if (pod === undefined || !this.#protectors.hasSynced()) return { status: 500, body: {} };
    if (pod.isTerminating || !pod.isReady) return answer(true);
    for (const stored of this.#protectors.values()) {
      if (!selects(stored, pod)) continue;
      const age = this.#runtime.clock.epochMicros() - (pod.readySince ?? 0);
      if (age < stored.protector.spec.minReadySeconds * 1e6) continue;
      const result = await this.#submit(stored.key, cell, pod);
      if (result === "failed") return { status: 500, body: {} };
      if (result !== "allowed") return answer(false, result === "retry" ? 409 : 429);
    }
    return answer(true);
  }

  async #submit(key: ObjectKey, cell: string, pod: PodRecord): Promise<Result> {
    const { promise, resolve } = Promise.withResolvers<Result>();
    this.#waiting.set(key, [...(this.#waiting.get(key) ?? []), { cell, pod, answer: resolve }]);
    if (!this.#busy.has(key)) void this.#work(key);
    return await promise;
  }

  async #work(key: ObjectKey): Promise<void> {
    this.#busy.add(key);
    let batch: Asked[] = [];
    for (;;) {
      batch.push(...(this.#waiting.get(key) ?? []));
      this.#waiting.delete(key);
      if (batch.length === 0) break;
      const results = await this.#execute(key, batch);
      if (results === undefined) {
        const { clock, rng } = this.#runtime;
        await sleep(clock, backoffMs + rng.next() * 2 * backoffMs);
        continue;
      }
      for (const [index, { answer }] of batch.entries()) answer(results[index] ?? "failed");
      batch = [];
    }
    this.#busy.delete(key);
  }

  /** Undefined = another one has written: again. */
  async #execute(key: ObjectKey, batch: readonly Asked[]): Promise<readonly Result[] | undefined> {
    const stored = this.#protectors.get(key);
    if (stored === undefined) return batch.map(() => "allowed");
    const cells = cellsOf(stored.protector);
    const { minAvailable } = stored.protector.spec;
    const lag = lagOf(cells);
    const startTime = formatMicroTime(this.#runtime.clock.epochMicros());
    const results: Result[] = batch.map(() => "failed");
    let current = availableOf(cells);
    let hasChanged = false;
    // Who came last is farthest from its deadline.
    for (const [index, { cell: cellID, pod }] of [...batch.entries()].toReversed()) {
      const cell = cells.find((one) => one.cellID === cellID);
      // The original crashes here.
      if (cell === undefined) continue;
      const known = cell.buckets.find(({ podUID }) => podUID === pod.uid);
      if (known !== undefined) known.startTime = startTime;
      else if (current <= minAvailable + lag) {
        results[index] = current <= minAvailable ? "rejected" : "retry";
        continue;
      } else {
        current -= 1;
        cell.buckets.push({ startTime, podUID: pod.uid });
      }
      hasChanged = true;
      results[index] = "allowed";
    }
    if (!hasChanged) return results;
    try {
      await putStatus(this.#client, stored, cells);
      return results;
    } catch (error) {
      return isKubeError(error, "conflict") ? undefined : batch.map(() => "failed");
    }
  }
}
