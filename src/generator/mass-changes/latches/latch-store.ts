/**
 * The latches in the generator's ConfigMap: read before anything is released or lowered, written by compare-and-swap.
 * Without the rights the generator goes on from memory, and says so once: its restart forgets the latches then.
 */
import { decodeLatches, encodeLatches, type Latches, latchesKey } from "./latches.ts";
import {
  configMaps,
  type GeneratorState,
  generatorStateName,
  readGeneratorState,
} from "../../../kube/generator-state.ts";
import { isKubeError, type KubeClient, type KubeError, resourcePath } from "../../../kube/kube-client.ts";
import { type Logger } from "../../../util/logger.ts";
import { type Counter } from "../../../util/metrics.ts";

export interface LatchStoreOptions {
  readonly core: KubeClient;
  readonly namespace: string;
  readonly logger: Logger;
  /** Reads and writes that failed, by `error`. */
  readonly failures: Counter;
}

export interface ReadLatches {
  readonly state: GeneratorState;
  readonly latches: Latches;
}

export class LatchStore {
  readonly #options: LatchStoreOptions;
  #hasToldRights = false;

  constructor(options: LatchStoreOptions) {
    this.#options = options;
  }

  /** Throws KubeError. */
  async read(signal: AbortSignal): Promise<ReadLatches> {
    const { core, namespace } = this.#options;
    try {
      const state = await readGeneratorState(core, namespace, { signal });
      return { state, latches: decodeLatches(state.data[latchesKey]) };
    } catch (error) {
      if (isKubeError(error)) this.#failed(error);
      throw error;
    }
  }

  /** The annotation of the ConfigMap; undefined when there is none, or no answer. Never throws for operating errors. */
  async annotation(name: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      return (await this.read(signal)).state.annotations[name];
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return undefined;
    }
  }

  /**
   * False when it has to be tried again: also when it is forbidden, which may last for a moment only, and would leave a
   * latch there that holds nothing. Never throws for operating errors.
   */
  async write(latches: Latches, signal: AbortSignal): Promise<boolean> {
    const { core, namespace } = this.#options;
    try {
      const { resourceVersion, data } = await readGeneratorState(core, namespace, { signal });
      const text = encodeLatches(latches);
      if ((data[latchesKey] ?? encodeLatches(decodeLatches(undefined))) === text) return true;
      const name = generatorStateName;
      const body = { data: { [latchesKey]: text } };
      if (resourceVersion === undefined) {
        const path = resourcePath(configMaps, { namespace });
        const whole = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, ...body };
        await core.request({ method: "POST", path, body: whole, signal });
      } else {
        await core.request({
          method: "PATCH",
          path: resourcePath(configMaps, { namespace, name }),
          contentType: "application/merge-patch+json",
          body: { metadata: { resourceVersion }, ...body },
          signal,
        });
      }
      return true;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      if (!signal.aborted && !isKubeError(error, "conflict", "alreadyExists")) this.#failed(error);
      return false;
    }
  }

  #failed(err: KubeError): void {
    const { failures, logger, namespace } = this.#options;
    failures.inc({ error: err.kind });
    if (!isKubeError(err, "forbidden", "unauthorized") || this.#hasToldRights) return;
    this.#hasToldRights = true;
    logger.error(
      "Not allowed to use the ConfigMap of the generator: held changes cannot be approved there, and a restart " +
        "forgets why they are held. Apply the manifests of this release",
      { configMap: `${namespace}/${generatorStateName}`, err },
    );
  }
}
