/**
 * Assertions for programmer errors. They stay on in production: a broken invariant crashes the process, and Kubernetes
 * restarts it. Operating errors (network, invalid input, conflicts) are never asserted: they are values or classified
 * errors.
 */

/** Throws an AssertionError that carries `message` when `condition` is false. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new AssertionError(message);
}

/** Marks the default branch of an exhaustive switch; the compiler refuses it when a case is missing. */
export function assertNever(value: never): never {
  throw new AssertionError(`unexpected value ${JSON.stringify(value)}`);
}

export class AssertionError extends Error {
  override readonly name = "AssertionError";
}
