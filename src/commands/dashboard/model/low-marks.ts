/**
 * How many pods of a PodProtector were available in the last quarter of an hour: the lowest number of each 15 seconds,
 * because the lowest is what people look for. Only the times at which something changed are kept.
 */

/** Length of one slot. 60 of them fit into a row of the page, and a quarter of an hour shows how an incident began. */
export const slotMs = 15_000;
export const slotsMax = 60;

/** Of one slot: its number (epoch milliseconds / slotMs), the lowest number in it, and the number at its end. */
export type LowMark = readonly [slot: number, lowest: number, last: number];

export class LowMarks {
  /** In the order of the slots; those between two marks have the last number of the earlier one. */
  #marks: LowMark[] = [];

  /** `value` holds from `epochMs` on. A clock that went back counts as standing still. */
  record(epochMs: number, value: number): void {
    const before = this.#marks.at(-1);
    const slot = Math.max(Math.floor(epochMs / slotMs), before?.[0] ?? 0);
    if (before?.[2] === value) return;
    if (before?.[0] === slot) this.#marks[this.#marks.length - 1] = [slot, Math.min(before[1], value), value];
    // In the slot of the change, the number before it held as well.
    else this.#marks.push([slot, Math.min(before?.[2] ?? value, value), value]);
    this.#forget(slot - slotsMax);
  }

  /** At most slotsMax + 1: the first may be older than the time that is shown, and says what held at its beginning. */
  get marks(): readonly LowMark[] {
    return this.#marks;
  }

  #forget(slot: number): void {
    const firstShown = this.#marks.findIndex((mark) => mark[0] > slot);
    if (firstShown > 1) this.#marks = this.#marks.slice(firstShown - 1);
  }
}
