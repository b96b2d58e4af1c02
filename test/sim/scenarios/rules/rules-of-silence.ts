/** Rules of silent cells and of machines that were suspended, switched off for scenarios. */
import { type Mutation } from "../../mutations/mutation.ts";

export const rulesOfSilence: readonly Mutation[] = [
  {
    name: "marks-tell-the-aggregator-nothing",
    why: "a mark of silence beside a beat that was just accepted says that the aggregator's clock stood still",
    file: "aggregator/heartbeats/heartbeat.ts",
    find: `read?.silentSince !== undefined && this.ageMs()`,
    replace: `read?.silentSince === "" && this.ageMs()`,
  },
  {
    name: "who-has-slept-believes-no-marks",
    why: "what a sleeping observer has not seen, the generator's marks tell it",
    file: "accounting/silence/cell-silence.ts",
    find: `/ 1000 > this.#times.contactMs;`,
    replace: `/ 1000 > Infinity;`,
  },
  {
    name: "cells-that-are-back-are-retired",
    why: "a cell that beats again is not retired, also when it has begun to leave",
    file: "generator/cells/cell-retirement.ts",
    find: `if (!isUnheard) return "waiting";`,
    replace: `if (!isUnheard) return this.sizes().retiring > 0 ? "retiring" : "waiting";`,
  },
  {
    name: "cells-counted-by-others-are-retired",
    why: "whoever counts a cell without heartbeats is a reason to refuse its retirement",
    file: "generator/cells/cell-retirement.ts",
    find: `isHurried ? undefined : otherCounterAt;`,
    replace: `isHurried || otherCounterAt ? undefined : otherCounterAt;`,
  },
  {
    name: "hurried-cells-have-to-stand",
    why: "a person may have a cell taken out although its entries change",
    file: "generator/cells/cell-removals.ts",
    find: `if (verdict === "hurried") return "retired";`,
    replace: ``,
  },
  {
    name: "starts-undecided",
    why: "a replica is not ready before it knows which cells were silent when it started",
    file: "roles/webhook.ts",
    find: `() => cells.undecidedReason()`,
    replace: `() => undefined`,
  },
  {
    name: "silent-cells-have-no-pods",
    why: "nothing is said of a PodProtector that matches nothing while a cell is silent",
    file: "generator/conditions/unmatched-protectors.ts",
    find: `if (state.kind !== "beating" || beatAt < provenAtMs ||`,
    replace: `if (state.kind === "beating" && beatAt < provenAtMs ||`,
  },
  {
    name: "nothing-keeps-a-silent-cell",
    why: "the annotation keep-until on the Lease keeps the counts of a silent cell in force",
    file: "accounting/silence/cell-silence.ts",
    find: `lease.keepUntil > formatMicroTime(now)) return "keep-until";`,
    replace: `lease.keepUntil > formatMicroTime(now)) return undefined;`,
  },
  {
    name: "vanished-cells-stay-silent",
    why: "a Lease that has been gone for long makes its cell one without heartbeats",
    file: "accounting/silence/cell-silence.ts",
    find: `cell.state = keeping["lease-vanished"];`,
    replace: ``,
  },
  {
    name: "sleep-is-a-question",
    why: "a pause in which the replica itself was suspended ends the grace of a lost node as well",
    file: "webhook/decide/lost-nodes.ts",
    find: `Math.max(nowMs - node.lastMs, (clock.epochMicros() - node.lastMicros) / 1000)`,
    replace: `Math.max(nowMs - node.lastMs, (clock.epochMicros() - clock.epochMicros()) / 1000)`,
  },
];
