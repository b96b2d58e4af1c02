/** Rules of PodProtectors in shadow, switched off for scenarios, besides those of mutations/catalog/of-modes.ts. */
import { type Mutation } from "../../mutations/mutation.ts";

export const rulesOfModes: readonly Mutation[] = [
  {
    name: "modes-are-believed-of-the-watch",
    why: "before a mode takes a floor away, the label of the namespace is read",
    file: "generator/facts.ts",
    find: `return isKept || (await this.#options.modes.isCurrent(namespace, signal));`,
    replace: `return isKept || namespace !== "";`,
  },
  {
    name: "lost-shadow-refuses",
    why: "a tombstone is in the mode that the PodProtector was in",
    file: "webhook/protector/protector.ts",
    find: `return (this.#unusable ?? this.view)?.isShadow === true;`,
    replace: `return this.#tombstone === undefined && (this.#unusable ?? this.view)?.isShadow === true;`,
  },
];
