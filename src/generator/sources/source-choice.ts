/**
 * Which sources ask for a PodProtector at all (docs/generator.md#sources), and for which: by the flags, their
 * overrides, and the labels of their namespace.
 */
import { finalizer } from "../../api/v1alpha1/names.ts";
import { type LabelSelector } from "../../api/v1alpha1/pod-protector.ts";
import { type Config } from "../../config/config.ts";
import { type CompiledSelector, compileSelector, matches } from "../../label-index/index.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { assert } from "../../util/assert.ts";
import { askedNumber, keptNumberOf } from "./kept.ts";
import { type NamespaceModes } from "./namespace-modes.ts";
import { planFor, type WantedProtector } from "./source-plan.ts";

export class SourceChoice {
  readonly #common: CompiledSelector;
  /** Of kinds that have a selector of their own. */
  readonly #own: ReadonlyMap<string, CompiledSelector>;
  /** Kinds whose terminating objects are protected while they want replicas. */
  readonly #untilZero: ReadonlySet<string>;

  constructor({ sourceSelector, deploymentPlugin }: Pick<Config["generator"], "sourceSelector" | "deploymentPlugin">) {
    this.#common = compiled(sourceSelector);
    this.#own = new Map([["deployments.apps", compiled(deploymentPlugin.protectionSelector)]]);
    this.#untilZero = new Set(deploymentPlugin.protectNonZero ? ["deployments.apps"] : []);
  }

  /** `hasProtector`: it has a PodProtector, or had one that vanished. */
  isChosen(source: SourceRecord, hasProtector: boolean): boolean {
    const { kind, labels, isTerminating, overrides, spec } = source;
    if (isTerminating && !(this.#untilZero.has(kind.id) && spec.replicas > 0)) return false;
    if (overrides.isOptedOut) return false;
    // A controller that appears later changes nothing: nobody knows whether that one has a floor. So what is protected
    // stays so until it is deleted or no longer selected. Our finalizer tells of a PodProtector that nobody saw vanish.
    const isProtected = hasProtector || isGuarded(source);
    if (kind.isOnlyProtectedAlone && source.isControlled && !isProtected) return false;
    return matches(this.#own.get(kind.id) ?? this.#common, labels);
  }
}

export interface WantedProtectorsOptions {
  readonly config: Pick<
    Config["generator"],
    "sourceSelector" | "deploymentPlugin" | "percentRounding" | "singleReplica"
  >;
  readonly modes: Pick<NamespaceModes, "of" | "criterionOf" | "keepOf">;
  /** Which fields of the spec the CRD drops. */
  readonly lifecycle: { readonly isCriterionDropped: boolean; readonly areOwnersDropped: boolean };
}

export class WantedProtectors {
  readonly #options: WantedProtectorsOptions;
  readonly #choice: SourceChoice;

  constructor(options: WantedProtectorsOptions) {
    this.#options = options;
    this.#choice = new SourceChoice(options.config);
  }

  /** `known`: the PodProtector that it has, or had when it vanished. Undefined = it asks for none. */
  of(source: SourceRecord, known: StoredProtector | undefined): WantedProtector | undefined {
    const { config, modes, lifecycle } = this.#options;
    if (!this.#choice.isChosen(source, known !== undefined)) return undefined;
    const mode = modes.of(source.namespace, known?.protector);
    if (mode === undefined || mode === "off") return undefined;
    const healthCriterion = modes.criterionOf(source.namespace);
    const { isCriterionDropped, areOwnersDropped } = lifecycle;
    const keeps = this.keeps(source, known);
    return planFor(source, config, { mode, healthCriterion }, { isCriterionDropped, areOwnersDropped, keeps });
  }

  /** The number below which the floor of the source may not fall unheld, as it asks for it, protected or not. */
  keeps(source: SourceRecord, known: StoredProtector | undefined): number | undefined {
    const { config, modes } = this.#options;
    const words = [source.overrides.keep, modes.keepOf(source.namespace)];
    const floor = source.spec.floorBy(config).minAvailable;
    return askedNumber(words, source, floor, known && keptNumberOf(known.protector.metadata));
  }
}

/** Whether it has our finalizer, so that it cannot disappear unseen. */
export function isGuarded({ finalizers }: Pick<SourceRecord, "finalizers">): boolean {
  return finalizers.includes(finalizer);
}

/** A terminating source accepts no finalizer, and some kinds are never written. */
export function needsNoFinalizer({ kind, isTerminating }: SourceRecord): boolean {
  return isTerminating || kind.isNeverWritten === true;
}

function compiled(selector: LabelSelector): CompiledSelector {
  const result = compileSelector(selector);
  // Checked by the configuration. A selector that selects nothing by mistake would let every protector go.
  assert(result.ok, "the protection selector is valid");
  return result.selector;
}
