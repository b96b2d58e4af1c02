/** Which sources ask for a PodProtector at all (docs/generator.md#sources). */
import { finalizer } from "../../api/v1alpha1/names.ts";
import { type LabelSelector } from "../../api/v1alpha1/pod-protector.ts";
import { type Config } from "../../config/config.ts";
import { type CompiledSelector, compileSelector, matches } from "../../label-index/index.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { assert } from "../../util/assert.ts";

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
    const { kind, labels, finalizers, isTerminating, overrides, spec } = source;
    if (isTerminating && !(this.#untilZero.has(kind.id) && spec.replicas > 0)) return false;
    if (overrides.isOptedOut) return false;
    // A controller that appears later changes nothing: nobody knows whether that one has a floor. So what is protected
    // stays so until it is deleted or no longer selected. Our finalizer tells of a PodProtector that nobody saw vanish.
    const isProtected = hasProtector || finalizers.includes(finalizer);
    if (kind.isOnlyProtectedAlone && source.isControlled && !isProtected) return false;
    return matches(this.#own.get(kind.id) ?? this.#common, labels);
  }
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
