/** A binary heap of events by time; events of one moment keep their order. */

export interface ScheduledEvent {
  readonly dueMs: number;
  readonly sequence: number;
  readonly run: () => void;
  /** Set to take the event back; it stays in the heap until its time. */
  isCancelled: boolean;
}

function isBefore(a: ScheduledEvent, b: ScheduledEvent): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}

export class EventHeap {
  readonly #events: ScheduledEvent[] = [];

  peek(): ScheduledEvent | undefined {
    return this.#events[0];
  }

  push(event: ScheduledEvent): void {
    const events = this.#events;
    let index = events.length;
    events.push(event);
    while (index > 0) {
      const parent = (index - 1) >>> 1;
      if (!isBefore(event, events[parent]!)) break;
      events[index] = events[parent]!;
      index = parent;
    }
    events[index] = event;
  }

  pop(): ScheduledEvent | undefined {
    const events = this.#events;
    const first = events[0];
    const last = events.pop();
    if (first === undefined || last === undefined || events.length === 0) return first;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= events.length) break;
      if (child + 1 < events.length && isBefore(events[child + 1]!, events[child]!)) child += 1;
      if (!isBefore(events[child]!, last)) break;
      events[index] = events[child]!;
      index = child;
    }
    events[index] = last;
    return first;
  }
}
