/**
 * Whether the core still has the CRD of PodProtectors (docs/disasters.md#the-crd-is-lost). Without it nothing can be
 * created, and a deleted CRD stays terminating for as long as its objects have finalizers: for ever. Webhooks go on by
 * what they remember, so nobody would notice. The leader looks, and tells. The right to read the CRD is optional:
 * without it a terminating one is not noticed.
 */
import { fieldsOf } from "../../api/json.ts";
import { type ObjectMeta } from "../../api/v1alpha1/pod-protector.ts";
import { apiGroup, podProtectorResource } from "../../api/v1alpha1/names.ts";
import { type EventRecorder, type ObjectReference } from "../../kube/event-recorder.ts";
import { isKubeError, type KubeClient, type Resource, resourcePath } from "../../kube/kube-client.ts";
import { podProtectors } from "../../kube/resources.ts";
import { type Clock, sleep } from "../../util/clock.ts";
import { assertNever } from "../../util/assert.ts";
import { type Logger } from "../../util/logger.ts";

/** A request that costs the core next to nothing, and soon enough for a person. */
const lookEveryMs = 10_000;
const timeoutMs = 5_000;

const crds: Resource = { group: "apiextensions.k8s.io", version: "v1", resource: "customresourcedefinitions" };
const name = `${podProtectorResource}.${apiGroup}`;

type CrdState = "present" | "terminating" | "gone";

export interface ProtectorCrdOptions {
  readonly core: KubeClient;
  /** In which PodProtectors are watched; undefined = all. */
  readonly namespace: string | undefined;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** It had been lost, and objects can be created again. */
  readonly onBack: () => void;
}

export class ProtectorCrd {
  readonly #options: ProtectorCrdOptions;
  #state: CrdState = "present";
  #uid: string | undefined;
  /** When the one that was read last was made. */
  #createdAt: string | undefined;

  constructor(options: ProtectorCrdOptions) {
    this.#options = options;
  }

  /** For gauges. */
  get isLost(): boolean {
    return this.#state !== "present";
  }

  /**
   * Whether an object that is gone went with its CRD, and not because a person deleted it: the CRD is gone, is being
   * deleted, or is younger than the object. Webhooks judge alike (docs/webhook.md#tombstones): what only one of the two
   * takes for deleted would stay in force for ever, or until the next restart. Reads the CRD; rejects with a KubeError.
   */
  async hasTaken({ creationTimestamp }: ObjectMeta, signal: AbortSignal): Promise<boolean> {
    if ((await this.#read(signal)) !== "present") return true;
    const since = this.#createdAt;
    return since !== undefined && creationTimestamp !== undefined && creationTimestamp < since;
  }

  /** Looks until the signal aborts. Never rejects for operating errors. */
  async lead(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        this.#note(await this.#read(signal));
      } catch (err) {
        if (!isKubeError(err)) throw err;
        if (!signal.aborted) this.#options.logger.verbose(2, "Cannot look for the CRD of PodProtectors", { err });
      }
      await sleep(this.#options.clock, lookEveryMs, signal);
    }
    this.#state = "present";
  }

  async #read(signal: AbortSignal): Promise<CrdState> {
    const { core, namespace } = this.#options;
    const limits = { timeoutMs, signal };
    try {
      const { metadata } = fieldsOf(
        await core.request({ method: "GET", path: resourcePath(crds, { name }), ...limits }),
      );
      const { uid, deletionTimestamp, creationTimestamp } = fieldsOf(metadata);
      this.#uid = typeof uid === "string" ? uid : undefined;
      this.#createdAt = typeof creationTimestamp === "string" ? creationTimestamp : undefined;
      return typeof deletionTimestamp === "string" ? "terminating" : "present";
    } catch (error) {
      if (isKubeError(error, "notFound")) return "gone";
      if (!isKubeError(error, "forbidden")) throw error;
    }
    try {
      await core.request({
        method: "GET",
        path: resourcePath(podProtectors, { namespace }),
        query: { limit: 1 },
        ...limits,
      });
      return "present";
    } catch (error) {
      if (isKubeError(error, "notFound")) return "gone";
      throw error;
    }
  }

  #note(state: CrdState): void {
    const { events, logger, onBack } = this.#options;
    const before = this.#state;
    this.#state = state;
    const uid = this.#uid;
    const regarding: ObjectReference = {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      name,
      ...(uid !== undefined && { uid }),
    };
    if (state === before) return;
    switch (state) {
      case "present":
        logger.info("The CRD of PodProtectors is back");
        events.record(regarding, "Normal", "CRDBack", "The CRD is back. PodProtectors that vanished are made again");
        onBack();
        return;
      case "terminating":
      case "gone": {
        const what = state === "gone" ? "is gone" : "is being deleted";
        logger.error(`The CRD of PodProtectors ${what}, none can be created`, { crd: name });
        const message =
          `The CRD ${what}: no PodProtector can be created, and webhooks judge by what they remember. ` +
          "Do not restart webhooks. The way back is in docs/disasters.md, The CRD is lost";
        events.record(regarding, "Warning", "CRDLost", message);
        return;
      }
      default:
        assertNever(state);
    }
  }
}
