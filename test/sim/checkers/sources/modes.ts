/** The modes of namespaces, by docs/generator.md#modes. Shares nothing with the product. */
import { type KubeObject } from "../../../double/engine/object.ts";
import { shadowModeOf } from "../reviews/shadows.ts";

const label = "podseidon.kubewharf.io/mode";
const modes = ["enforced", "shadow", "off"] as const;
type Mode = (typeof modes)[number];

interface Period {
  readonly sinceMs: number;
  /** More than one where the label cannot be read: then what was before holds, or the default after a restart. */
  readonly modes: ReadonlySet<Mode>;
}

const byDefault: Period = { sinceMs: 0, modes: new Set(["enforced"]) };

export class Modes {
  /** By namespace, oldest first. */
  readonly #periods = new Map<string, Period[]>();

  /** False when the Namespace is in the same mode as before. */
  labelled({ metadata }: KubeObject, nowMs: number): boolean {
    const periods = this.#periods.get(metadata.name) ?? [byDefault];
    this.#periods.set(metadata.name, periods);
    const before = periods.at(-1) ?? byDefault;
    const value = metadata.labels?.[label] ?? "enforced";
    const known = modes.find((one) => one === value);
    const present = known === undefined ? new Set([...before.modes, "enforced" as const]) : new Set([known]);
    if (present.size === before.modes.size && present.isSubsetOf(before.modes)) return false;
    periods.push({ sinceMs: nowMs, modes: present });
    return true;
  }

  /** It has been off all the time since then; default: it is off now. */
  isOff(namespace: string, fromMs = Infinity): boolean {
    const meant = this.#since(namespace, fromMs);
    return meant.has("off") && meant.size === 1;
  }

  wasOff(namespace: string, fromMs: number): boolean {
    return this.#since(namespace, fromMs).has("off");
  }

  /** Of a PodProtector in a mode that its namespace has not been in since then; default: is not in now. */
  wrongWith(key: string, protector: KubeObject, fromMs = Infinity): string | undefined {
    const mode = shadowModeOf(protector);
    const meant = this.#since(namespaceOf(key), fromMs);
    return meant.has(mode) ? undefined : `${mode}, not ${[...meant].join(" or ")}`;
  }

  #since(namespace: string, fromMs: number): ReadonlySet<Mode> {
    const periods = this.#periods.get(namespace) ?? [byDefault];
    const meant = periods.filter((_, index) => (periods[index + 1]?.sinceMs ?? Infinity) >= fromMs);
    return new Set(meant.flatMap((period) => [...period.modes]));
  }
}

export function namespaceOf(key: string): string {
  return key.slice(0, key.indexOf("/"));
}
