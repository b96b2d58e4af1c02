/** A deliberate mistake in the product's core logic, as a replacement of text, which the simulation must notice. */
import { type FaultClass } from "../fault-classes.ts";
import { type PlanSettings } from "../workers/task.ts";

export interface Mutation {
  /** In lower case with dashes; also the name on the command line. */
  readonly name: string;
  /** The rule that it breaks. */
  readonly why: string;
  /** Below src/. */
  readonly file: string;
  /** Occurs exactly once in the file. */
  readonly find: string;
  readonly replace: string;
  /** Only these faults and this kind of world, where what a seed draws strikes the mutated place too rarely. */
  readonly only?: readonly FaultClass[];
  readonly plan?: PlanSettings;
  /** Too rare for random worlds: the scenario (scenarios/NAME.txt) that breaks with it, and is played instead. */
  readonly scenario?: string;
}

/** The mutated text. Throws when the mutation is not in step with the code. */
export function mutate(mutation: Mutation, source: string): string {
  const { name, file, find, replace } = mutation;
  const matches = source.split(find).length - 1;
  if (matches !== 1) throw new Error(`mutation ${name}: its text occurs ${matches} times in src/${file}, not once`);
  return source.replace(find, () => replace);
}
