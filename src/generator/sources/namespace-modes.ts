/**
 * The mode of each namespace of the core: whether its workloads get PodProtectors (enforced, shadow) or none (off), by
 * a label of the Namespace, else by --generator-default-mode (docs/generator.md#modes). What cannot be read changes
 * nothing: the last mode holds. Nobody is let go because an account lacks a right, or an object was not seen.
 */
import { isDeepStrictEqual } from "node:util";
import { healthCriteria, type HealthCriterion } from "../../accounting/count/health-criterion.ts";
import { type FieldWriter, readLabelWriter } from "../../api/field-writers.ts";
import { isInShadow, labels } from "../../api/v1alpha1/names.ts";
import { type PodProtector } from "../../api/v1alpha1/pod-protector.ts";
import {
  type GeneratorRules,
  type NamespaceMode,
  namespaceModes,
  systemNamespaces,
} from "../../config/generator-rules.ts";
import { type EventRecorder } from "../../kube/event-recorder.ts";
import { type Informer, type InformerEvent, type Stored } from "../../kube/informer.ts";
import { isKubeError, type KubeClient, resourcePath } from "../../kube/kube-client.ts";
import { namespaces } from "../../kube/resources.ts";
import { aborted } from "../../util/linked-abort.ts";
import { type Logger } from "../../util/logger.ts";
import { fieldsOf, type Json } from "../../api/json.ts";
import { allowedKeep, type Keep, type KeepWord, readKeep } from "../../sources/overrides.ts";
import { objectKey } from "../../api/object-key.ts";
import { parseResourceVersion } from "../../api/resource-version.ts";

export interface NamespaceModesOptions {
  readonly core: KubeClient;
  readonly config: Pick<GeneratorRules, "defaultMode">;
  /** Not running yet; undefined = with --core-kube-target-namespace, since Namespaces are cluster-scoped. */
  readonly informer: Informer<LabelledNamespace> | undefined;
  readonly events: Pick<EventRecorder, "record">;
  readonly logger: Logger;
}

/** Whoever has switched a namespace by its label; undefined = the label was taken off, or the writer is unknown. */
export interface Switched {
  readonly by: FieldWriter | undefined;
}

/** What is in force in a namespace. */
interface Settings {
  /** Undefined = its label cannot be read, and this process has not known another. */
  readonly mode: NamespaceMode | undefined;
  readonly healthCriterion: HealthCriterion | undefined;
  readonly keep: KeepWord;
  /** As `switched`, of its mode. */
  readonly switched: Switched | undefined;
}

export class NamespaceModes {
  readonly #options: NamespaceModesOptions;
  /** By name; as many as the core has. */
  readonly #settings = new Map<string, Settings>();
  readonly #onChanged: ((namespace: string | undefined) => void)[] = [];
  readonly #waiting = new Set<() => void>();
  /** Since the last list. */
  #isForbidden = false;
  #hasWarned = false;
  #isLeading = false;

  constructor(options: NamespaceModesOptions) {
    this.#options = options;
    options.informer?.subscribe({
      onEvent: (event) => this.#watched(event),
      onListed: () => this.#listed(),
      onForbidden: () => this.#forbidden(),
    });
  }

  /**
   * The mode that a workload of the namespace is under. `protector`: what it has, or had when it vanished; it keeps the
   * mode that it has where nothing else is known. Undefined = the Namespace has not been seen yet, so that a workload
   * without a PodProtector waits; not while Namespaces are forbidden, since that may last.
   */
  of(namespace: string, protector: PodProtector | undefined): NamespaceMode | undefined {
    const known = this.#settings.get(namespace);
    if (known?.mode !== undefined) return known.mode;
    const mode = this.#default(namespace);
    const isSeen = known !== undefined || !this.#hasLabels || this.#isForbidden;
    if (protector === undefined) return isSeen ? mode : undefined;
    // Without labels the flag decides, but it takes nothing away that a label may have asked for.
    return known === undefined && !this.#hasLabels && mode !== "off" ? mode : modeOn(protector);
  }

  /**
   * Whether the label of the namespace is what the watch has shown, which may be late: asked before a mode takes
   * anything away. True where Namespaces are not watched or may not be read. Rejects with a KubeError.
   */
  async isCurrent(name: string, signal: AbortSignal): Promise<boolean> {
    const { core, informer } = this.#options;
    if (informer === undefined) return true;
    try {
      const live = decodeNamespace(
        await core.request({ method: "GET", path: resourcePath(namespaces, { name }), signal }),
      );
      const watched = informer.get(objectKey(undefined, name));
      return live !== undefined && isDeepStrictEqual(live.mode, watched?.mode);
    } catch (error) {
      if (isKubeError(error, "notFound")) return false;
      if (isKubeError(error, "forbidden", "unauthorized")) return true;
      throw error;
    }
  }

  /** By the label of the namespace. */
  criterionOf(namespace: string): HealthCriterion | undefined {
    return this.#settings.get(namespace)?.healthCriterion;
  }

  /** By the label of the namespace. "unreadable" also while that is not known: it takes nothing away. */
  keepOf(namespace: string): KeepWord {
    const known = this.#settings.get(namespace);
    if (known !== undefined) return known.keep;
    return this.#options.informer === undefined ? undefined : "unreadable";
  }

  /** Undefined = it is in another mode, or in this one by a flag, the list of system namespaces, or a new release. */
  switched(namespace: string, to: Exclude<NamespaceMode, "enforced">): Switched | undefined {
    const known = this.#settings.get(namespace);
    return known?.mode === to ? known.switched : undefined;
  }

  /** Calls back for each namespace whose settings may have changed; undefined = those of all. */
  onChanged(callback: (namespace: string | undefined) => void): void {
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
    await aborted(signal);
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
    const isSame =
      before?.mode === after?.mode &&
      before?.healthCriterion === after?.healthCriterion &&
      before?.keep === after?.keep;
    // Workloads wait for a Namespace that is not known, also for one whose label cannot be read.
    if (isSame && (before === undefined) === (after === undefined)) return;
    this.#changed(name);
  }

  #changed(namespace: string | undefined): void {
    for (const onChanged of this.#onChanged) onChanged(namespace);
  }

  #settingsOf(namespace: LabelledNamespace, before: Settings | undefined): Settings {
    const { mode: label, healthCriterion: criterion, keep, name, modeWriter } = namespace;
    const mode = label === "unreadable" ? before?.mode : (label?.value ?? this.#default(name));
    return {
      mode,
      healthCriterion: criterion === "unreadable" ? before?.healthCriterion : criterion?.value,
      keep: keep === "unreadable" ? (before?.keep ?? keep) : keep?.value,
      switched: mode === undefined ? undefined : this.#switchedBy(mode, label !== undefined, modeWriter, before),
    };
  }

  /** A flag and the release are the same for as long as this process runs: what changes later is not their work. */
  #switchedBy(
    mode: NamespaceMode,
    isLabelled: boolean,
    by: FieldWriter | undefined,
    before: Settings | undefined,
  ): Switched | undefined {
    if (isLabelled) return { by };
    if (before?.mode === mode) return before.switched && { by: undefined };
    return this.#hasLabels ? { by: undefined } : undefined;
  }

  #tell({ name, uid, problems }: LabelledNamespace): void {
    if (!this.#isLeading || problems.length === 0) return;
    const { events, logger } = this.#options;
    const regarding = { apiVersion: "v1", kind: "Namespace", name, uid };
    const message = `${problems.join(". ")}. What was before holds`;
    logger.warn("Ignoring labels of a Namespace", { namespace: name, why: message });
    events.record(regarding, "Warning", "LabelIgnored", message);
  }

  /** Called for each answer. */
  #forbidden(): void {
    if (!this.#isForbidden) {
      this.#isForbidden = true;
      const { config, informer, logger } = this.#options;
      const what = this.#hasLabels
        ? "May not list and watch namespaces any more: the modes that are known hold, and the default mode in new ones"
        : "May not list namespaces: their labels are not known, so the default mode holds in all";
      const fields = { label: labels.mode, mode: config.defaultMode, err: informer?.lastError() };
      // A right that comes and goes is told once.
      if (!this.#hasWarned) logger.warn(what, fields);
      this.#hasWarned = true;
      this.#changed(undefined);
    }
    this.#decided();
  }

  #listed(): void {
    this.#isForbidden = false;
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

/** A label: what it means, or that it cannot be read; undefined = it is absent. */
type Label<T> = { readonly value: T } | "unreadable" | undefined;

/** All that is kept of a Namespace. */
export interface LabelledNamespace extends Stored {
  readonly name: string;
  readonly mode: Label<NamespaceMode>;
  /** Of the label of the mode; undefined = unknown, or there is none. */
  readonly modeWriter: FieldWriter | undefined;
  readonly healthCriterion: Label<HealthCriterion>;
  readonly keep: Label<Keep>;
  /** What is ignored, and why, for people. */
  readonly problems: readonly string[];
}

/** Most namespaces have no problem, and share this. */
const none: readonly never[] = [];

/** Undefined for what is no Namespace. Never throws. */
export function decodeNamespace(raw: unknown): LabelledNamespace | undefined {
  const { name, uid, resourceVersion: version, labels: all, managedFields } = fieldsOf(fieldsOf(raw)["metadata"]);
  const resourceVersion = parseResourceVersion(version);
  if (typeof name !== "string" || typeof uid !== "string" || resourceVersion === undefined) return undefined;
  const own = fieldsOf(all);
  const mode = readLabel(own, labels.mode, oneOf(namespaceModes));
  const healthCriterion = readLabel(own, labels.healthCriterion, oneOf(healthCriteria));
  const keep = readLabel(own, labels.keep, readKeep);
  const ignored = [
    ...(mode === "unreadable" ? [problemOf(own, labels.mode, oneOfText(namespaceModes))] : none),
    ...(healthCriterion === "unreadable" ? [problemOf(own, labels.healthCriterion, oneOfText(healthCriteria))] : none),
    ...(keep === "unreadable" ? [problemOf(own, labels.keep, allowedKeep)] : none),
  ];
  return {
    key: objectKey(undefined, name),
    uid,
    resourceVersion,
    name,
    mode,
    modeWriter: mode === undefined ? undefined : readLabelWriter(managedFields, labels.mode),
    healthCriterion,
    keep,
    problems: ignored.length === 0 ? none : ignored,
  };
}

/** `parse`: undefined = not understood. */
function readLabel<T>(own: Json, label: string, parse: (text: string) => T | undefined): Label<T> {
  if (!Object.hasOwn(own, label)) return undefined;
  const value = parse(String(own[label]));
  return value === undefined ? "unreadable" : { value };
}

function oneOf<T extends string>(allowed: readonly T[]): (text: string) => T | undefined {
  return (text) => allowed.find((one) => one === text);
}

function oneOfText(allowed: readonly string[]): string {
  return `one of ${allowed.join(", ")}`;
}

/** An API server accepts no label value above 63 characters. */
function problemOf(own: Json, label: string, allowed: string): string {
  const value = JSON.stringify(String(own[label]).slice(0, 63));
  return `Ignoring the label ${label}=${value}: it must be ${allowed}`;
}
