/**
 * PodProtectors that a person should know about, by the conditions that the roles write.
 *
 * PodProtectors that are gone without having been released, and that webhooks keep in force from memory.
 */
import { type ConditionType } from "../../../api/v1alpha1/conditions.ts";
import { type StoredProtector } from "../../../kube/resources.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { type InvalidProtector } from "../../fleet/protectors.ts";
import { type ProtectorEvent, refusalsOf, seenTombstones } from "../../fleet/refusals.ts";
import { holds } from "../../fleet/standing.ts";
import { type CoreFacts, type Reading } from "../facts.ts";
import { agoText, counted, fail, type Finding, namesText, note, ok, type Remedy, unchecked, warn } from "../finding.ts";

export function protectorFindings({
  protectors,
  modes,
  protectorEvents,
}: Pick<CoreFacts, "protectors" | "modes" | "protectorEvents">): readonly Finding[] {
  if (!protectors.ok) return [unchecked("protectors", "PodProtectors", protectors.why)];
  const { valid, invalid } = protectors.value;
  const findings = [
    ...(invalid.length > 0
      ? [
          fail("protectors", `${counted(invalid.length, "PodProtector")} invalid: ${invalidText(invalid)}`, {
            cure: "correct or delete them: deletions of pods that they select are refused",
            page: "docs/webhook.md#invalid-podprotectors",
          }),
        ]
      : []),
    ...conditionTold.flatMap((told) => ofCondition(valid, told)),
    ...modeFindings(modes),
    ...(protectorEvents.ok ? refusedLately(protectorEvents.value) : []),
  ];
  if (findings.some(({ level }) => level !== "note")) return findings;
  // Their cells and their CRD have findings of their own.
  const text = `${counted(valid.length, "PodProtector")}, none with a fault of its own`;
  return [ok("protectors", text), ...findings];
}

function invalidText(invalid: readonly InvalidProtector[]): string {
  return namesText(invalid.map(({ namespace, name, reason }) => `${namespace}/${name} (${reason})`));
}

interface ConditionTold extends Remedy {
  /** Absent: it is a warning. */
  readonly level?: "fail";
  readonly check:
    | "implausible"
    | "undrainable"
    | "dangling"
    | "change-held"
    | "counts-pending"
    | "annotation-ignored"
    | "cell-silent";
  readonly type: ConditionType;
  /** After the number of objects. */
  readonly text: (count: number) => string;
}

const conditionTold: readonly ConditionTold[] = [
  {
    level: "fail",
    check: "implausible",
    type: "Implausible",
    text: (count) => `${counted(count, "PodProtector")} with far more pods counted than the workload asks for`,
    cure: "look at the aggregators of the cells that the condition names; if the pods are there, say how many can be",
    page: "docs/runbooks/counts-implausible.md",
  },
  {
    check: "undrainable",
    type: "Undrainable",
    text: (count) => `${counted(count, "workload")} can never be drained, since all pods must stay`,
    cure: "allow at least one pod to be away: maxUnavailable of the workload, or one replica more",
    page: "docs/generator.md#floors",
  },
  {
    check: "dangling",
    type: "Dangling",
    text: (count) => `${counted(count, "PodProtector")} dangling: the workload has vanished without being deleted`,
    cure: "make the workload again, or delete its PodProtector",
    page: "docs/generator.md#lifecycle",
  },
  {
    check: "change-held",
    type: "ChangeHeld",
    text: (count) => `${counted(count, "change")} held: too many workloads change at once, or what is to be kept`,
    cure: "look at the cause: podseidon approve, or undo the change",
    page: "docs/mass-changes.md#approve",
  },
  {
    check: "cell-silent",
    type: "CellSilent",
    text: (count) => `${counted(count, "PodProtector")} with nothing free without a silent cell`,
    cure: "look after the cell, see above: kubectl counts its pods as available and free, webhooks do not",
    page: "docs/conditions.md#silent-cells",
  },
  {
    check: "annotation-ignored",
    type: "OverrideIgnored",
    text: (count) => `${counted(count, "workload")} with an annotation of a wrong value, which is ignored`,
    cure: "correct it: podseidon status says which one, and what is allowed",
    page: "docs/generator.md#overrides",
  },
  {
    check: "counts-pending",
    type: "CountsPending",
    text: (count) => `${counted(count, "PodProtector")} without the counts of a cell: deletions are refused`,
    cure: "look at the aggregator of that cell; after a start or an edit it takes a minute",
    page: "docs/refusals.md",
  },
];

function ofCondition(valid: readonly StoredProtector[], told: ConditionTold): readonly Finding[] {
  const { level, check, type, text, cure, page } = told;
  const say = level === "fail" ? fail : warn;
  const names = valid.filter(({ protector }) => holds(protector, type)).map(({ key }) => key);
  return names.length === 0 ? [] : [say(check, `${text(names.length)}: ${namesText(names)}`, { cure, page })];
}

/** Refusing is what Podseidon is for; but who asks for it, a person who looks for a fault wants to know. */
function refusedLately(events: readonly ProtectorEvent[]): readonly Finding[] {
  const refusals = [...refusalsOf(events).values()];
  const total = refusals.reduce((sum, { count }) => sum + count, 0);
  if (total === 0) return [];
  const callers = new Map<string, number>();
  for (const { name, count } of refusals.flatMap((one) => one.callers))
    callers.set(name, (callers.get(name) ?? 0) + count);
  const [most] = [...callers].sort(([, a], [, b]) => b - a);
  const by = most === undefined ? "" : `, most of them by ${most[0]} (${most[1]})`;
  const workloads = counted(refusals.length, "workload");
  const text = `${counted(total, "deletion")} refused in the last hour, Events say, of ${workloads}${by}`;
  return [note("refused", text, "docs/commands.md#status")];
}

/** Somebody wants them so. */
function modeFindings(modes: CoreFacts["modes"]): readonly Finding[] {
  return modes.ok ? [...modes.value].map(([mode, names]) => ofMode(mode, names)) : unreadModes(modes);
}

function unreadModes(modes: Extract<Reading<unknown>, { readonly ok: false }>): readonly Finding[] {
  return [unchecked("mode", "modes of namespaces", modes.why)];
}

function ofMode(mode: string, names: readonly string[]): Finding {
  const effect = mode === "off" ? "their workloads have no PodProtector" : "nothing is refused there";
  return note(
    "mode",
    `${counted(names.length, "namespace")} in ${mode}, ${effect}: ${namesText(names)}`,
    "docs/generator.md#modes",
  );
}

export function tombstoneFindings(core: CoreFacts, now: EpochMicros): readonly Finding[] {
  const { protectorEvents, generatorState, protectors } = core;
  if (!protectorEvents.ok) return [unchecked("tombstone", "PodProtectors that are gone", protectorEvents.why)];
  if (!protectors.ok) return [unchecked("tombstone", "PodProtectors that are gone", protectors.why)];
  const present = new Set(protectors.value.valid.map(({ key }) => key));
  const state = generatorState.ok ? generatorState.value : undefined;
  return seenTombstones(protectorEvents.value, present, state)
    .filter(({ isSaidToBeOver }) => !isSaidToBeOver)
    .map(({ protector, lastAt }) =>
      warn(
        "tombstone",
        `${protector} is gone without having been released, so webhooks keep it in force, an Event says ` +
          `(${agoText(now, lastAt)} ago)`,
        {
          cure: "make it again, or let it go by the UID that a refusal or the log of a webhook names",
          command: `podseidon release ${protector}`,
          page: "docs/webhook.md#tombstones",
        },
      ),
    );
}
