/** The objects of built-in issuing in a cluster in memory, whose clock is the test's. */
import { KubeError, type KubeClient, type KubeRequest } from "../../../src/kube/kube-client.ts";
import { type Clock } from "../../../src/util/clock.ts";

type Data = Record<string, string>;

interface Kept {
  version: number;
  data: Data;
}

/** Undefined = let it pass. */
export type Fault = (request: KubeRequest) => KubeError | undefined;

export class StoredObjects implements KubeClient {
  readonly cluster = "core";
  readonly objects = new Map<string, Kept>();
  readonly writes: string[] = [];
  /** Asked before each request. */
  fault: Fault = () => undefined;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
    for (const name of ["podseidon-webhook-tls", "podseidon-webhook-authority", "podseidon-webhook-ca"])
      this.objects.set(name, { version: 1, data: {} });
  }

  /** Decoded. */
  read(name: string): Data {
    const { data } = this.#of(name);
    const isSecret = name !== "podseidon-webhook-ca";
    return Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, isSecret ? Buffer.from(value, "base64").toString() : value]),
    );
  }

  async request(request: KubeRequest): Promise<unknown> {
    const name = request.path.split("/").at(-1) ?? "";
    const fault = this.fault(request);
    if (fault !== undefined) throw fault;
    const kept = this.#of(name);
    request.onServerTime?.(this.#clock.epochMicros());
    if (request.method === "PATCH") {
      const { metadata, data } = request.body as { metadata: { resourceVersion: string }; data: Data };
      if (metadata.resourceVersion !== String(kept.version)) throw new KubeError("conflict", "409");
      kept.version += 1;
      kept.data = { ...kept.data, ...data };
      this.writes.push(name);
    }
    return { metadata: { name, resourceVersion: String(kept.version) }, data: { ...kept.data } };
  }

  stream(): never {
    throw new Error("nothing is watched");
  }

  async close(): Promise<void> {}

  #of(name: string): Kept {
    const kept = this.objects.get(name);
    if (kept === undefined) throw new KubeError("notFound", `${name}: 404`);
    return kept;
  }
}
