/** Sources as they were when each last agreed with its PodProtector, in this term; and who has switched modes since. */
import { type ObjectKey } from "../../api/object-key.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { type NamespaceModes, type Switched } from "../sources/namespace-modes.ts";
import { type Subject } from "./change.ts";

interface Settled {
  readonly source: SourceRecord;
  readonly isInShadow: boolean;
}

export class SettledSources {
  readonly #modes: Pick<NamespaceModes, "switched">;
  /** By PodProtector; as many as there are. */
  readonly #settled = new Map<ObjectKey, Settled>();

  constructor(modes: Pick<NamespaceModes, "switched">) {
    this.#modes = modes;
  }

  get(key: ObjectKey): SourceRecord | undefined {
    return this.#settled.get(key)?.source;
  }

  set(key: ObjectKey, source: SourceRecord, isInShadow: boolean): void {
    this.#settled.set(key, { source, isInShadow });
  }

  delete(key: ObjectKey): void {
    this.#settled.delete(key);
  }

  clear(): void {
    this.#settled.clear();
  }

  /** Who has switched the namespace, of a release or of what is put in shadow; undefined = nobody but a flag. */
  switchedBy(key: ObjectKey, { source, to }: Pick<Subject, "source" | "to">): Switched | undefined {
    if (typeof to === "number") return undefined;
    // Whoever takes the annotation off a PodProtector has switched no namespace.
    if (to === "shadow" && this.#settled.get(key)?.isInShadow === true) return undefined;
    return this.#modes.switched(source.namespace, to ?? "off");
  }
}
