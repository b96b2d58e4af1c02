/**
 * Since when the objects of nodes have been gone: pods of a node that lives are let go only when it has been gone, and
 * asked about, for the whole grace (docs/system-deletions.md#node-objects-that-are-gone).
 */
import { type Kernel } from "../kernel/kernel.ts";
import { type Plan } from "../plan.ts";

/** The node was registered for so long at a time that no replica may count the time before: of an hour, for each. */
const pauseHours = 5 / 60;
/** Clocks that run at another rate, and a review that is under way. */
const slack = 0.99;

interface Gone {
  /** The first loss, without a pause since that all replicas must have noticed. */
  sinceMs: number;
  /** Since when it is registered; undefined = it is gone. */
  backMs: number | undefined;
}

export class Orphans {
  readonly #kernel: Kernel;
  readonly #plan: Pick<Plan, "hourMs" | "webhooks">;
  readonly #nodes = new Map<string, Gone>();

  constructor(kernel: Kernel, plan: Pick<Plan, "hourMs" | "webhooks">) {
    this.#kernel = kernel;
    this.#plan = plan;
  }

  lose(cell: string, node: string): void {
    const { nowMs } = this.#kernel;
    const { hourMs, webhooks } = this.#plan;
    const before = this.#nodes.get(`${cell}/${node}`);
    const isPause = before?.backMs === undefined || nowMs - before.backMs > pauseHours * hourMs * webhooks;
    this.#nodes.set(`${cell}/${node}`, { sinceMs: isPause ? nowMs : before.sinceMs, backMs: undefined });
  }

  register(cell: string, node: string): void {
    const gone = this.#nodes.get(`${cell}/${node}`);
    if (gone !== undefined) gone.backMs = this.#kernel.nowMs;
  }

  isLost(cell: string, node: string): boolean {
    const gone = this.#nodes.get(`${cell}/${node}`);
    return gone !== undefined && gone.backMs === undefined;
  }

  /** A replica lets a pod of the node go, by its own word. */
  letGo(replica: string, cell: string, node: string): void {
    const gone = this.#nodes.get(`${cell}/${node}`);
    // In a scenario, which says itself what is right.
    if (gone === undefined) return;
    const forMs = this.#kernel.nowMs - gone.sinceMs;
    if (forMs >= slack * this.#plan.hourMs) return;
    const seconds = Math.round(forMs / 1000);
    this.#kernel.fail(`${replica} lets the pods of ${cell}/${node} go, whose object has been gone for ${seconds} s`);
  }
}
