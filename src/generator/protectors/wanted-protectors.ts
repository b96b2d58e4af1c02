/** Which PodProtector a source asks for: by the flags, its overrides, and the labels of its namespace. */
import { type Config } from "../../config/config.ts";
import { type StoredProtector } from "../../kube/resources.ts";
import { type SourceRecord } from "../../sources/source.ts";
import { type NamespaceModes } from "../sources/namespace-modes.ts";
import { type ProtectorLifecycle } from "./protector-lifecycle.ts";
import { SourceChoice } from "../sources/source-choice.ts";
import { planFor, type WantedProtector } from "../sources/source-plan.ts";

export interface WantedProtectorsOptions {
  readonly config: Pick<
    Config["generator"],
    "sourceSelector" | "deploymentPlugin" | "percentRounding" | "singleReplica"
  >;
  readonly modes: Pick<NamespaceModes, "of" | "criterionOf">;
  readonly lifecycle: Pick<ProtectorLifecycle, "isCriterionDropped">;
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
    return planFor(source, config, { mode, healthCriterion }, lifecycle.isCriterionDropped);
  }
}
