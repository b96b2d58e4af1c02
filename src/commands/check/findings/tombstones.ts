/** PodProtectors that are gone without having been released, and that webhooks keep in force from memory. */
import { isLetGo } from "../../../kube/generator-state.ts";
import { objectKey } from "../../../api/object-key.ts";
import { type EpochMicros } from "../../../util/clock.ts";
import { ageText } from "../age.ts";
import { type CoreFacts } from "../facts.ts";
import { type Finding, unchecked, warn } from "../finding.ts";

/** The webhooks' own Event (webhook/decide/protector-events.ts). */
const reason = "PodProtectorLost";
/** In the last one about an object (webhook/tombstone-report.ts). */
const over = "is no longer in force";

/**
 * By the Events of webhooks: only they remember what is gone. Those that were let go since, or made again, are no
 * longer in force.
 */
export function tombstoneFindings(core: CoreFacts, now: EpochMicros): readonly Finding[] {
  const { events, generatorState, protectors } = core;
  for (const reading of [events, generatorState, protectors])
    if (!reading.ok) return [unchecked("tombstone", "PodProtectors that are gone", reading.why)];
  if (!events.ok || !generatorState.ok || !protectors.ok) return [];
  const present = new Set(protectors.value.valid.map(({ key }) => key));
  const told = events.value
    .filter((event) => event.reason === reason)
    .toSorted((a, b) => (a.at ?? 0) - (b.at ?? 0))
    .map((event) => [objectKey(event.object.namespace, event.object.name), event] as const);
  // The newest of each.
  return [...new Map(told)]
    .filter(([key, { message, object }]) => {
      const isOver = message.includes(over) || isLetGo(generatorState.value, object.uid);
      return !isOver && !present.has(key);
    })
    .map(([key, { at }]) =>
      warn(
        "tombstone",
        `${key} is gone without having been released, so webhooks keep it in force (said ${ageText(now, at)} ago)`,
        { cure: `make it again, or let it go: podseidon release ${key}`, page: "docs/webhook.md#tombstones" },
      ),
    );
}
