/** One signal for what ends a request: the caller's signal, the deadline and, for a stream, a time without data. */
import { EventEmitter } from "node:events";
import { type Clock } from "../../util/clock.ts";
import { KubeError } from "../kube-client.ts";

export interface Deadline {
  /** Aborts when the caller's signal does or when the time is over. Made when it is first asked for. */
  readonly signal: AbortSignal;
  /**
   * Emits "abort" when `signal` aborts: for undici, which takes either. Most requests need no AbortSignal then, which
   * costs more than all the rest of a deadline.
   */
  readonly emitter: EventEmitter;
  remainingMs(): number;
  /** Why the signal aborted; undefined while it has not. */
  error(): KubeError | undefined;
  /** The time now ends `idleMs` after this call or after the last `touch`. */
  extend(idleMs: number): void;
  touch(): void;
  /** `promise`, or a rejection with `error()` if the time is over first. */
  race<T>(promise: Promise<T>): Promise<T>;
  /** Drops the timer and the listener. */
  clear(): void;
}

/** `what` names the request in the error. */
export function createDeadline(
  clock: Clock,
  timeoutMs: number,
  what: string,
  caller: AbortSignal | undefined,
): Deadline {
  const emitter = new EventEmitter();
  let controller: AbortController | undefined;
  let lengthMs = timeoutMs;
  let sinceMs = clock.monotonicMs();
  let isIdle = false;
  let error: KubeError | undefined;

  const end = (reason: KubeError): void => {
    error ??= reason;
    clear();
    controller?.abort(error);
    emitter.emit("abort");
  };
  const onAbort = (): void => end(new KubeError("aborted", `${what}: aborted by the caller`));
  const remainingMs = (): number => sinceMs + lengthMs - clock.monotonicMs();
  // One timer that looks again when it fires: setting it at each chunk of a stream would cost more than the chunk.
  const onTimer = (): void => {
    const leftMs = remainingMs();
    if (leftMs > 0) timer = clock.setTimer(leftMs, onTimer);
    else end(new KubeError("timeout", `${what}: ${isIdle ? "no data" : "no answer"} for ${lengthMs} ms`));
  };
  let timer = clock.setTimer(timeoutMs, onTimer);
  function clear(): void {
    timer.cancel();
    caller?.removeEventListener("abort", onAbort);
  }
  if (caller?.aborted === true) onAbort();
  else caller?.addEventListener("abort", onAbort, { once: true });

  return {
    get signal() {
      if (controller === undefined) {
        controller = new AbortController();
        if (error !== undefined) controller.abort(error);
      }
      return controller.signal;
    },
    emitter,
    remainingMs,
    error: () => error,
    extend(idleMs) {
      isIdle = true;
      lengthMs = idleMs;
      sinceMs = clock.monotonicMs();
      timer.cancel();
      if (error === undefined) timer = clock.setTimer(idleMs, onTimer);
    },
    touch() {
      sinceMs = clock.monotonicMs();
    },
    async race(promise) {
      if (error !== undefined) throw error;
      const { promise: aborted, reject } = Promise.withResolvers<never>();
      const onEnd = (): void => reject(error);
      emitter.once("abort", onEnd);
      try {
        return await Promise.race([promise, aborted]);
      } finally {
        emitter.off("abort", onEnd);
      }
    },
    clear,
  };
}
