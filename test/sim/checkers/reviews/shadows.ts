/**
 * Which PodProtectors of a core a webhook may take for being in shadow, and which for refusing: each only until it has
 * been told of the version that says otherwise (docs/webhook.md#shadow).
 */
import { annotations } from "../../../../src/api/v1alpha1/names.ts";
import { type KubeObject } from "../../../double/engine/object.ts";
import { type Change } from "../../../double/engine/store.ts";
import { type Edit } from "../../clusters/deliveries.ts";
import { type Kernel } from "../../kernel/kernel.ts";
import { type Told } from "./told.ts";

export type ShadowMode = "shadow" | "enforced";

interface Version {
  readonly mode: ShadowMode;
  readonly from: Edit;
  /** Until when there was a PodProtector that had it: a list after that tells nobody of it. */
  untilMs: number;
}

export function shadowModeOf({ metadata }: KubeObject): ShadowMode {
  return metadata.annotations?.[annotations.mode] === "shadow" ? "shadow" : "enforced";
}

export class Shadows {
  readonly #kernel: Kernel;
  readonly #told: Pick<Told, "knew">;
  /** By the name of the PodProtector, oldest first. What is lost is remembered as it was last. */
  readonly #versions = new Map<string, Version[]>();

  constructor(kernel: Kernel, told: Pick<Told, "knew">) {
    this.#kernel = kernel;
    this.#told = told;
  }

  /** A version of a PodProtector in the checked namespace has been committed, or it is gone. */
  protector({ type, object }: Change): void {
    const { name, resourceVersion } = object.metadata;
    const versions = this.#versions.get(name) ?? [];
    this.#versions.set(name, versions);
    const last = versions.at(-1);
    const { nowMs } = this.#kernel;
    if (last?.untilMs === Infinity) last.untilMs = nowMs;
    if (type === "DELETED") return;
    const mode = shadowModeOf(object);
    if (last?.mode === mode) last.untilMs = Infinity;
    else versions.push({ mode, from: { revision: Number(resourceVersion), sinceMs: nowMs }, untilMs: Infinity });
  }

  /** Whether the replica may have gone by that since the review came. */
  mayBe(mode: ShadowMode, replica: string, name: string, arrivedMs: number): boolean {
    const versions = this.#versions.get(name);
    if (versions === undefined) return mode === "enforced";
    const isKnown = ({ from, untilMs }: Version): boolean =>
      this.#told.knew(replica, from, Math.min(arrivedMs, untilMs));
    return versions.some((version, index) => version.mode === mode && !versions.slice(index + 1).some(isKnown));
  }
}
