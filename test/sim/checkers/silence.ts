/**
 * Nobody falls silent where nobody can beat: while a core takes no Leases, absence of beats is no news of absence
 * (docs/accounting.md#silent-cells).
 */
import { silenceTimes } from "../../../src/accounting/silence/silence-times.ts";
import { type Kernel } from "../kernel/kernel.ts";
import { type SimNode } from "../kernel/node.ts";
import { type Plan } from "../plan.ts";
import { type SimProcess } from "../processes/process.ts";

const lookEveryMs = 2_000;

/**
 * Looks after the observers of a core until what is returned is called. Beats that came before may be missed for a
 * contact time, and the LISTs that do so take as long again.
 */
export function watchSilence(
  kernel: Kernel,
  core: string,
  observers: readonly SimProcess[],
  { cells, silentAfterMs }: Pick<Plan, "cells" | "silentAfterMs">,
): () => void {
  const { contactMs } = silenceTimes(silentAfterMs);
  /** By the life of an observer: the cells that it heard at first. */
  const heard = new Map<SimNode, readonly string[]>();
  let isOver = false;
  const cellsThatAre = (state: string, observer: SimProcess): readonly string[] => {
    const gauges = observer.gauges();
    return cells.filter((cell) => gauges.get(`cell_state ${core} ${observer.options.role} ${cell} ${state}`) === 1);
  };
  const look = (): void => {
    if (isOver) return;
    for (const observer of observers) {
      const node = observer.node();
      const before = (node === undefined ? undefined : heard.get(node)) ?? [];
      const fallen = cellsThatAre("silent", observer).filter((cell) => before.includes(cell));
      if (fallen.length > 0)
        kernel.fail(`${observer.name} finds ${fallen.join()} silent while ${core} takes no Leases`);
    }
    kernel.schedule(lookEveryMs, look);
  };
  kernel.schedule(2 * contactMs, () => {
    for (const observer of observers) {
      const node = observer.node();
      if (node !== undefined) heard.set(node, cellsThatAre("beating", observer));
    }
    look();
  });
  return () => void (isOver = true);
}
