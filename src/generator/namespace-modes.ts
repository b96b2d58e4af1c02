/**
 * The mode of each namespace of the core: whether its workloads get PodProtectors (enforced, shadow) or none (off), by
 * a label of the Namespace, else by --generator-default-mode (docs/generator.md#modes). What cannot be read changes
 * nothing: the last mode holds. Nobody is let go because an account lacks a right, or an object was not seen.
 */
import { type HealthCriterion } from "../accounting/count/health-criterion.ts";
import { type FieldWriter } from "../api/field-writers.ts";
import { labels } from "../api/v1alpha1/names.ts";
import { type PodProtector } from "../api/v1alpha1/pod-protector.ts";
import { isInShadow } from "../api/v1alpha1/shadow.ts";
import { type GeneratorRules, type NamespaceMode } from "../config/generator-rules.ts";
import { systemNamespaces } from "../config/system-namespaces.ts";
import { type EventRecorder } from "../kube/event-recorder.ts";
import { type Informer, type InformerEvent } from "../kube/informer.ts";
import { type Logger } from "../util/logger.ts";
import { type LabelledNamespace } from "./namespace-labels.ts";

export interface NamespaceModesOptions {
  readonly config: Pick<GeneratorRules, "defaultMode">;
  /** Not running yet; undefined = with --core-kube-target-namespace, since Namespaces are cluster-scoped. */
  readonly informer: Informer<LabelledNamespace> | undefined;
  readonly events: Pick<EventRecorder, "record">;
  readonly logger: Logger;
}

/** Whoever has switched a namespace off by its label; undefined = the label was taken off, or the writer is unknown. */
export interface SwitchedOff {
  readonly by: FieldWriter | undefined;
}

/** What is in force in a namespace. */
interface Settings {
  /** Undefined = its label cannot be read, and this process has not known another. */
  readonly mode: NamespaceMode | undefined;
  readonly healthCriterion: HealthCriterion | undefined;
  readonly switchedOff: SwitchedOff | undefined;
}

export class NamespaceModes {
  readonly #options: NamespaceModesOptions;
  /** By name; as many as the core has. */
  readonly #settings = new Map<string, Settings>();
  readonly #onChanged: ((namespace: string) => void)[] = [];
  readonly #waiting = new Set<() => void>();
  #isForbidden = false;
  #isLeading = false;

  constructor(options: NamespaceModesOptions) {
    this.#options = options;
    options.informer?.subscribe({
      onEvent: (event) => this.#watched(event),
      onListed: () => this.#decided(),
      onForbidden: () => this.#forbidden(),
    });
  }

  /**
   * The mode that a workload of the namespace is under. `protector`: what it has, or had when it vanished; it keeps the
   * mode that it has where nothing else is known. Undefined = the Namespace has not been seen yet, so that a workload
   * without a PodProtector waits.
   */
  of(namespace: string, protector: PodProtector | undefined): NamespaceMode | undefined {
    const known = this.#settings.get(namespace);
    if (known?.mode !== undefined) return known.mode;
    const mode = this.#default(namespace);
    const isSeen = known !== undefined || !this.#hasLabels;
    if (protector === undefined) return isSeen ? mode : undefined;
    // Without labels the flag decides, but it takes nothing away that a label may have asked for.
    return known === undefined && isSeen && mode !== "off" ? mode : modeOn(protector);
  }

  /** By the label of the namespace. */
  criterionOf(namespace: string): HealthCriterion | undefined {
    return this.#settings.get(namespace)?.healthCriterion;
  }

  /** Undefined = it is not off, or off by a flag, the list of system namespaces, or a new release. */
  switchedOff(namespace: string): SwitchedOff | undefined {
    return this.#settings.get(namespace)?.switchedOff;
  }

  /** Calls back for each namespace whose settings may have changed. */
  onChanged(callback: (namespace: string) => void): void {
    this.#onChanged.push(callback);
  }

  /** Resolves when the labels are known, or known to stay unknown; or when the signal aborts. */
  async ready(signal: AbortSignal): Promise<void> {
    if (this.#isDecided) return;
    await new Promise<void>((resolve) => {
      this.#waiting.add(resolve);
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
  }

  /** What is missing before the generator may work, for people; undefined = nothing. */
  problem(): string | undefined {
    if (this.#isDecided) return undefined;
    const error = this.#options.informer?.lastError();
    return `Namespaces have not been listed yet${error === undefined ? "" : `: ${error}`}`;
  }

  /** As Informer.run. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#options.informer?.run(signal);
  }

  /** As Generator.lead: people are told of labels that cannot be read. */
  async lead(signal: AbortSignal): Promise<void> {
    this.#isLeading = true;
    for (const namespace of this.#options.informer?.values() ?? []) this.#tell(namespace);
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    this.#isLeading = false;
  }

  get #hasLabels(): boolean {
    return this.#options.informer?.hasSynced() === true;
  }

  get #isDecided(): boolean {
    return this.#options.informer === undefined || this.#isForbidden || this.#hasLabels;
  }

  #default(namespace: string): NamespaceMode {
    return systemNamespaces.includes(namespace) ? "off" : this.#options.config.defaultMode;
  }

  #watched(event: InformerEvent<LabelledNamespace>): void {
    const { type, object } = event;
    const { name, problems } = object;
    const before = this.#settings.get(name);
    if (type === "deleted") this.#settings.delete(name);
    else this.#settings.set(name, this.#settingsOf(object, before));
    const isTold = type === "modified" && String(event.previous.problems) === String(problems);
    if (type !== "deleted" && !isTold) this.#tell(object);
    const after = this.#settings.get(name);
    if (before?.mode === after?.mode && before?.healthCriterion === after?.healthCriterion) return;
    for (const onChanged of this.#onChanged) onChanged(name);
  }

  #settingsOf(namespace: LabelledNamespace, before: Settings | undefined): Settings {
    const { mode: label, healthCriterion: criterion, name, modeWriter } = namespace;
    const mode = label === "unreadable" ? before?.mode : (label?.value ?? this.#default(name));
    return {
      mode,
      healthCriterion: criterion === "unreadable" ? before?.healthCriterion : criterion?.value,
      switchedOff: mode === "off" ? this.#switchedOff(label !== undefined, modeWriter, before) : undefined,
    };
  }

  /** A flag and the release are the same for as long as this process runs: what changes later is not their work. */
  #switchedOff(
    isLabelled: boolean,
    by: FieldWriter | undefined,
    before: Settings | undefined,
  ): SwitchedOff | undefined {
    if (isLabelled) return { by };
    if (before?.mode === "off") return before.switchedOff && { by: undefined };
    return this.#hasLabels ? { by: undefined } : undefined;
  }

  #tell({ name, uid, problems }: LabelledNamespace): void {
    if (!this.#isLeading || problems.length === 0) return;
    const regarding = { apiVersion: "v1", kind: "Namespace", name, uid };
    this.#options.events.record(regarding, "Warning", "LabelIgnored", `${problems.join(". ")}. What was before holds`);
  }

  #forbidden(): void {
    if (!this.#hasLabels && !this.#isForbidden) {
      this.#isForbidden = true;
      const text = "May not list namespaces: their labels are not known, so the default mode holds in all";
      const { config, informer, logger } = this.#options;
      logger.warn(text, { label: labels.mode, mode: config.defaultMode, err: informer?.lastError() });
    }
    this.#decided();
  }

  #decided(): void {
    if (!this.#isDecided) return;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}

/** The mode that a PodProtector is in, by its annotation. */
function modeOn({ metadata }: PodProtector): Exclude<NamespaceMode, "off"> {
  return isInShadow(metadata) ? "shadow" : "enforced";
}
