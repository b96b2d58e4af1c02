/** Rules of PodProtectors in shadow, switched off for scenarios, besides those of mutations/catalog/of-modes.ts. */
import { type Mutation } from "../../mutations/mutation.ts";

export const rulesOfModes: readonly Mutation[] = [
  {
    name: "lost-shadow-refuses",
    why: "a tombstone is in the mode that the PodProtector was in",
    file: "webhook/protector/protector.ts",
    find: `return (this.#unusable ?? this.view)?.isShadow === true;`,
    replace: `return this.#tombstone === undefined && (this.#unusable ?? this.view)?.isShadow === true;`,
  },
];
