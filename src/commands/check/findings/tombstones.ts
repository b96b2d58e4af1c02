/** PodProtectors that are gone without having been released, and that webhooks keep in force from memory. */
import { type EpochMicros } from "../../../util/clock.ts";
import { seenTombstones } from "../../fleet/tombstones.ts";
import { type CoreFacts } from "../facts.ts";
import { agoText, type Finding, unchecked, warn } from "../finding.ts";

export function tombstoneFindings(core: CoreFacts, now: EpochMicros): readonly Finding[] {
  const { protectorEvents, generatorState, protectors } = core;
  if (!protectorEvents.ok) return [unchecked("tombstone", "PodProtectors that are gone", protectorEvents.why)];
  if (!protectors.ok) return [unchecked("tombstone", "PodProtectors that are gone", protectors.why)];
  const present = new Set(protectors.value.valid.map(({ key }) => key));
  const state = generatorState.ok ? generatorState.value : undefined;
  return seenTombstones(protectorEvents.value, present, state).map(({ protector, lastAt }) =>
    warn(
      "tombstone",
      `${protector} is gone without having been released, so webhooks keep it in force ` +
        `(said ${agoText(now, lastAt)} ago)`,
      {
        cure: "make it again, or let it go",
        command: `podseidon release ${protector}`,
        page: "docs/webhook.md#tombstones",
      },
    ),
  );
}
