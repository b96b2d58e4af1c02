/**
 * Random small worlds: few keys and values, so that selectors and labels often meet, repeat and contradict each other.
 */
import { type Labels } from "../../../src/api/pod.ts";
import { type LabelSelector, type LabelSelectorRequirement } from "../../../src/api/v1alpha1/pod-protector.ts";
import { type Rng } from "../../../src/util/rng.ts";

const keys = ["a", "b", "c", "constructor"];
const values = ["", "x", "y", "z"];
const operators = ["In", "NotIn", "Exists", "DoesNotExist"] as const;

export function pick<T>(rng: Rng, list: readonly T[]): T {
  return list[Math.floor(rng.next() * list.length)]!;
}

export function randomLabels(rng: Rng): Labels {
  return Object.fromEntries(keys.filter(() => rng.next() < 0.6).map((key) => [key, pick(rng, values)]));
}

/** About one in thirty is invalid: a list operator without values. */
export function randomSelector(rng: Rng): LabelSelector {
  const matchLabels = Object.fromEntries(keys.filter(() => rng.next() < 0.2).map((key) => [key, pick(rng, values)]));
  const matchExpressions = Array.from({ length: Math.floor(rng.next() * 4) }, () => randomRequirement(rng));
  return { matchLabels, matchExpressions };
}

function randomRequirement(rng: Rng): LabelSelectorRequirement {
  const key = pick(rng, keys);
  const operator = pick(rng, operators);
  if (operator === "Exists" || operator === "DoesNotExist") return { key, operator };
  // With repetition: duplicates are part of the world.
  const count = rng.next() < 0.03 ? 0 : 1 + Math.floor(rng.next() * 4);
  return { key, operator, values: Array.from({ length: count }, () => pick(rng, values)) };
}
