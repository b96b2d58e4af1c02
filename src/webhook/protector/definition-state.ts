/**
 * What one replica knows of the CRD of PodProtectors in one core: whether it is lost, and which one it was when the
 * PodProtectors were listed last (docs/webhook.md#the-lost-crd). Without it nobody can create or write a PodProtector,
 * and its deletion looks like that of each of them.
 */
import { type KubeClient } from "../../kube/kube-client.ts";
import { type ReadDefinition, readDefinition } from "../../kube/pod-protectors.ts";
import { type MonotonicMs } from "../../util/clock.ts";

export type DefinitionLoss =
  /** The core answers 404 for PodProtectors. */
  | "NotServed"
  /** It has a deletionTimestamp: PodProtectors can still be read, but not created. */
  | "Terminating";

export interface DefinitionStateOptions {
  readonly client: KubeClient;
  /** Called for each change; undefined = it is there again. */
  readonly onLoss: (loss: DefinitionLoss | undefined) => void;
}

/** As long as a heartbeat may take: nothing waits for the answer but what stays in force anyway. */
const timeoutMs = 5_000;

export class DefinitionState {
  readonly #options: DefinitionStateOptions;
  #loss: DefinitionLoss | undefined;
  #notServedAtMs: MonotonicMs | undefined;
  #uid: string | undefined;
  /** Counts the lists of PodProtectors. */
  #lists = 0;
  /** The list after which `uid` was read. */
  #readAfter = 0;

  constructor(options: DefinitionStateOptions) {
    this.#options = options;
  }

  /** Of the CRD under which the PodProtectors in memory were listed, as far as it was read. */
  get uid(): string | undefined {
    return this.#uid;
  }

  /** When the core answered 404 for PodProtectors last; undefined = they have been listed since. */
  get notServedAtMs(): MonotonicMs | undefined {
    return this.#notServedAtMs;
  }

  /** The PodProtectors were listed, and which CRD that was is not known. */
  get isDue(): boolean {
    return this.#readAfter < this.#lists;
  }

  /** The core does not know PodProtectors. */
  notServed(nowMs: MonotonicMs): void {
    this.#notServedAtMs = nowMs;
    // What is listed next is listed under another one, which a person may use before it is read.
    this.#uid = undefined;
    this.#report("NotServed");
  }

  /** The PodProtectors were listed. */
  listed(): void {
    this.#lists += 1;
    this.#notServedAtMs = undefined;
    if (this.#loss === "NotServed") this.#report(undefined);
  }

  /** Reads it live. Rejects only for programmer errors. */
  async read(signal: AbortSignal): Promise<ReadDefinition> {
    const lists = this.#lists;
    const definition = await readDefinition(this.#options.client, { timeoutMs, signal });
    if (definition.kind === "failed") return definition;
    if (definition.kind === "there") {
      // Another one, read for another reason, says nothing of the PodProtectors that were listed before.
      if (this.isDue) this.#uid = definition.uid;
      if (this.#loss !== "NotServed") this.#report(definition.isTerminating ? "Terminating" : undefined);
    }
    this.#readAfter = lists;
    return definition;
  }

  #report(loss: DefinitionLoss | undefined): void {
    if (loss === this.#loss) return;
    this.#loss = loss;
    this.#options.onLoss(loss);
  }
}
