/**
 * The list of releases forgets nothing by a clock (docs/generator.md#when-a-podprotector-is-gone): an entry leaves it
 * to make room, which its numbers say, or because its PodProtector is kept after all. That may be marked already, and
 * terminating, held by somebody else's finalizer.
 */
import { digestOfUID } from "../../../src/accounting/history/uid-digest.ts";
import { decodeGeneratorState, generatorStateName } from "../../../src/kube/generator-state.ts";
import { type Change } from "../../double/engine/store.ts";
import { type Kernel } from "../kernel/kernel.ts";

/** Whoever has taken an entry back may have lost the PodProtector before the list was written. */
const takenBackMs = 60_000;

export class ReleaseListChecker {
  readonly #kernel: Kernel;
  /** By the digest of its UID: when a PodProtector was there last; Infinity = it is there. */
  readonly #thereUntilMs = new Map<string, number>();

  constructor(kernel: Kernel) {
    this.#kernel = kernel;
  }

  /** A version of a PodProtector has been committed, or it is gone. */
  protector({ type, object }: Change): void {
    this.#thereUntilMs.set(digestOfUID(object.metadata.uid), type === "DELETED" ? this.#kernel.nowMs : Infinity);
  }

  /** A ConfigMap has been committed. */
  configMap({ type, object, previous }: Change): void {
    if (object.metadata.name !== generatorStateName || previous === undefined || type === "DELETED") return;
    const before = decodeGeneratorState(previous);
    const { numbers, releasedDigests } = decodeGeneratorState(object);
    for (const { digest, number } of before.releases) {
      const thereUntilMs = this.#thereUntilMs.get(digest) ?? Number.NEGATIVE_INFINITY;
      const isKept = this.#kernel.nowMs - thereUntilMs < takenBackMs;
      if (releasedDigests.has(digest) || number <= numbers.dropped || isKept) continue;
      this.#kernel.fail(`release ${number} is in the list no more, and nothing but ${numbers.dropped} made room`);
    }
  }
}
