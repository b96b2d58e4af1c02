/** Mutations of reviews that are held instead of being refused at once (docs/webhook.md#held-reviews). */
import { type Mutation } from "../mutation.ts";

export const mutationsOfHolds: readonly Mutation[] = [
  {
    name: "nobody-is-held",
    why: "a review is held while promised deletions may settle",
    file: "webhook/decide/held-reviews.ts",
    find: `    if (reason === undefined || asked.caller.signal?.aborted === true) return first;`,
    replace: `    if (reason !== undefined || asked.caller.signal?.aborted === true) return first;`,
    scenario: "72-held",
  },
  {
    name: "held-too-shortly",
    why: "a review is held as long as --webhook-refusal-hold says",
    file: "webhook/decide/held-reviews.ts",
    find: `reason === "floor" ? floorMs : refusalHoldMs)`,
    replace: `reason === "floor" ? floorMs : refusalHoldMs / 2)`,
    scenario: "72i-held-to-the-end",
  },
  {
    name: "deep-falls-are-not-waited-for",
    why: "a deletion at a generated floor is held for as long as the generator judges a fall to less than half",
    file: "webhook/decide/held-reviews.ts",
    find: `const floorMs = mayFallDeep ? deepFallHoldMs : Math.min(floorHoldMs, refusalHoldMs);`,
    replace: `const floorMs = mayFallDeep ? floorHoldMs : Math.min(floorHoldMs, refusalHoldMs);`,
    scenario: "72j-scaled-far-down",
  },
  {
    name: "held-until-the-time-is-up",
    why: "a held review is judged again when a PodProtector that refuses it changes",
    file: "webhook/protector/protector.ts",
    find: `    this.core.hasSeenWrites = true;\n    this.#onChange?.();`,
    replace: `    this.core.hasSeenWrites = true;`,
    scenario: "72-held",
  },
  {
    name: "held-by-the-first-judges",
    why: "a held review is judged by the PodProtectors that count the pod by then",
    file: "webhook/decide/case.ts",
    find: `    this.#match = this.#matched();\n`,
    replace: ``,
    scenario: "72b-counted-meanwhile",
  },
  {
    name: "every-owner-is-held",
    why: "of one caller in one cell, at most three controller owners are held",
    file: "webhook/decide/held-reviews.ts",
    find: `if (count === 0 && owners.size >= ownersMax) return false;`,
    replace: ``,
    scenario: "72c-four-owners",
  },
  {
    name: "the-scheduler-is-held",
    why: "preemption may stand within the scheduling cycle, and is never held",
    file: "webhook/decide/hold-rule.ts",
    find: `if (user === scheduler) return "never";`,
    replace: ``,
    scenario: "72d-never-held",
  },
  {
    name: "the-collector-is-held",
    why: "pod garbage collection has one worker for all pods of a cluster, and is never held",
    file: "webhook/decide/hold-rule.ts",
    find: `if (lostNode !== undefined || user === podGarbageCollector) return "never";`,
    replace: ``,
    scenario: "72d-never-held",
  },
  {
    name: "dry-runs-are-held",
    why: "a dry run is told what is true now",
    file: "webhook/decide/decision-order.ts",
    find: `    decide: (asked) => (asked.subject.isEvaluateOnly ? asked.evaluate() : undefined),`,
    replace: `    decide(asked) {
      if (!asked.subject.isEvaluateOnly) return undefined;
      const { deletion, caller, match, options } = asked;
      const judge = async () => ({ decision: asked.evaluate(), match });
      const awaited = () => options.severalProtectors.awaited(match.askable, deletion);
      const holdable = { deletion, owner: asked.subject.owner, caller, judge, awaited };
      return judge().then((first) => options.heldReviews.hold(first, holdable)).then((last) => last.decision);
    },`,
    scenario: "72d-never-held",
  },
  {
    name: "held-for-the-whole-deadline",
    why: "a review is held for half of its deadline at most, or its record comes too late for its caller",
    file: "webhook/decide/held-reviews.ts",
    find: `(asked.caller.deadlineMonotonicMs - sinceMs) / 2;`,
    replace: `asked.caller.deadlineMonotonicMs - sinceMs;`,
    scenario: "72e-half-of-the-deadline",
  },
  {
    name: "newcomers-overtake",
    why: "among those that are held, who came first goes first",
    file: "webhook/protector/reservations.ts",
    find: `...(turn !== undefined && { turn }),`,
    replace: `...(turn !== undefined && { turn: -turn }),`,
    scenario: "72f-first-come",
  },
  {
    name: "shadow-is-waited-for",
    why: "a review is held because of PodProtectors in force alone, and a trial delays nobody",
    file: "webhook/decide/several-protectors.ts",
    find: `isInForce(protector, deletion) && this.#blocks(protector)`,
    replace: `isInForce(protector, deletion)`,
    scenario: "72h-trial-delays-nobody",
  },
  {
    name: "floors-are-current",
    why: "a deletion at a generated floor is held for a moment, because the floor may be about to fall",
    file: "webhook/decide/hold-rule.ts",
    find: `return owner?.hasVanished === false && operation === "delete" ? "floor" : undefined;`,
    replace: `return owner?.hasVanished === undefined && operation === undefined ? "floor" : undefined;`,
    scenario: "72g-scaled-down",
  },
];
