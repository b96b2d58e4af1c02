/** Mutations of what several cores have to do with each other: which are asked, what one knows of another. */
import { type Mutation } from "../mutation.ts";

const plan = { otherCore: "refuse", webhooks: 2, forbidsHeartbeats: false, loss: "none" } as const;
const generated = { ...plan, hasGenerator: true } as const;

export const mutationsOfCores: readonly Mutation[] = [
  {
    name: "one-core-is-asked",
    why: "PodProtectors of all cores judge a deletion",
    file: "webhook/decide/case.ts",
    find: `return matchOf(this.options.sources, this.subject.pod);`,
    replace: `return matchOf(this.options.sources.slice(0, 1), this.subject.pod);`,
    only: ["disasters"],
    plan,
  },
  {
    name: "one-core-that-admits-is-enough",
    why: "a deletion is recorded in each core",
    file: "webhook/decide/several-protectors.ts",
    find: `this.#handled(deletion, caller, startMs, opinion.says === "refuse" || decision?.kind === "refused");`,
    replace: `if (isAsked && decision === undefined) return admitted(opinions, undefined);`,
    only: ["disasters"],
    plan,
  },
  {
    name: "one-refusal-is-overruled",
    why: "what one core refuses is refused, whatever the others say",
    file: "webhook/decide/several-protectors.ts",
    find: `const [first, ...others] = refusals;`,
    replace: `const [first, ...others] = refusals.length < opinions.length ? [] : refusals;`,
    only: ["disasters"],
    plan,
  },
  {
    name: "recorded-before-all-are-judged",
    why: "what one core refuses takes no quota from another",
    file: "webhook/decide/several-protectors.ts",
    find: `this.#opinions(protectors, deletion, "ask").map(reconsidered);`,
    replace:
      `this.#opinions(protectors, deletion, "ask")\n` +
      `      .map(({ protector, blocks }): Opinion => ({ protector, blocks, says: "ask", need: "quota" }));`,
    scenario: "68-two-cores-must-agree",
  },
  {
    name: "policy-of-one-core-is-that-of-all",
    why: "the last known quota is lent of a core whose policy says so",
    file: "webhook/outage/namespace-policy.ts",
    find: `(labelled?.get(objectKey(undefined, name))?.policy ?? flags.get(core)) === "last-known";`,
    replace: `(labelled?.get(objectKey(undefined, name))?.policy ?? [...flags.values()].at(-1)) === "last-known";`,
    scenario: "68b-one-core-is-away",
  },
  {
    name: "candidates-wait-for-every-core",
    why: "an aggregator counts into the cores that it reaches",
    file: "roles/aggregator.ts",
    find: `  await Promise.race([Promise.all(synced), sleep(clock, coresWaitMs, waiting.signal)]);`,
    replace: `  await Promise.all(synced);`,
    only: ["crashes", "losses"],
    plan: { ...plan, loss: "core", lostCore: "east" },
  },
  {
    name: "generator-works-in-the-first-core",
    why: "a generator makes PodProtectors in its own core",
    file: "roles/generator.ts",
    find: `const ofCore = await connectCore(runtime, config.core);`,
    replace: `const ofCore = await connectCore(runtime, runtime.config.cores.keys().next().value ?? config.core);`,
    only: ["source-edits"],
    plan: generated,
  },
  {
    name: "heartbeats-go-to-one-core",
    why: "a cell beats in each core",
    file: "roles/aggregator.ts",
    find: `await clients.coreHeartbeat(core.name)`,
    replace: `await clients.coreHeartbeat(cores[0]?.name ?? core.name)`,
    only: ["losses"],
    plan: { ...plan, cells: ["a", "b"], loss: "cell", silentAfterMs: 30_000 },
  },
  {
    name: "one-term-that-ends-stops-shared-work",
    why: "what a cell needs once runs while it is counted into any core",
    file: "roles/leadership.ts",
    find: `if (this.#terms === 0) {`,
    replace: `if (this.#terms >= 0) {`,
    scenario: "68e-held-in-one-core",
  },
];
