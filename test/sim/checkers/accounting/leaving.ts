/**
 * A cell leaves a PodProtector only when its entry has stood unchanged for a settle window
 * (docs/cells.md#retire-a-cell): then nobody has admitted or counted there, whatever the one who removes it knew.
 */
import { type CellStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type Kernel } from "../../kernel/kernel.ts";

/** Clocks run at other rates. */
const slack = 0.99;

export class LeavingChecker {
  readonly #kernel: Kernel;
  readonly #name: string;
  readonly #windowMs: number;
  /** By cell: its entry, and since when it is that. */
  #entries = new Map<string, { readonly text: string; readonly sinceMs: number }>();
  readonly #hurried = new Set<string>();

  constructor(kernel: Kernel, name: string, windowMs: number) {
    this.#kernel = kernel;
    this.#name = name;
    this.#windowMs = windowMs;
  }

  /** A person has asked for the cell to leave although its entry changes. */
  hurried(cell: string): void {
    this.#hurried.add(cell);
  }

  /** `isOther`: it is another object than before, or one from a backup. */
  committed(cells: readonly CellStatus[], isOther: boolean): void {
    const { nowMs } = this.#kernel;
    const before = isOther ? new Map<string, never>() : this.#entries;
    this.#entries = new Map(
      cells.map((cell) => {
        const text = JSON.stringify(cell);
        const known = before.get(cell.cellID);
        return [cell.cellID, known?.text === text ? known : { text, sinceMs: nowMs }];
      }),
    );
    for (const [cell, { sinceMs }] of before) {
      if (this.#entries.has(cell) || this.#hurried.has(cell) || nowMs - sinceMs >= slack * this.#windowMs) continue;
      const seconds = Math.round((nowMs - sinceMs) / 1000);
      this.#kernel.fail(`${this.#name}: the cell ${cell} leaves it, which has stood unchanged for ${seconds} s`);
    }
  }
}
