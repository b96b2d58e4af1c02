/**
 * Ends a piece of work by either of two reasons: its own, and that of whoever it is a part of. And waits for the end.
 */

export interface LinkedAbort extends Disposable {
  /** Aborts with the parent, or with `abort`. */
  readonly signal: AbortSignal;
  abort(): void;
}

/**
 * Dispose of it when the work has ended: a parent that lives on would keep it. (The platform's AbortSignal.any keeps
 * signals that are listened to until they abort, so that what never ends in good order stays in memory.)
 */
export function linkedAbort(parent: AbortSignal): LinkedAbort {
  const own = new AbortController();
  const abort = (): void => own.abort();
  if (parent.aborted) abort();
  else parent.addEventListener("abort", abort, { once: true });
  return { signal: own.signal, abort, [Symbol.dispose]: () => parent.removeEventListener("abort", abort) };
}

/** Resolves when the signal aborts. For signals that do: one that lives on keeps whoever waits. */
export function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
