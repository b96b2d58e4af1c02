/**
 * resourceVersion as an opaque, comparable string. Versions of one resource in one cluster compare as decimal numbers
 * (docs/kubernetes.md#resource-versions). Versions of different clusters, or of custom and built-in resources, do not.
 */

declare const resourceVersion: unique symbol;
export type ResourceVersion = string & { readonly [resourceVersion]: true };

/** 39 digits hold 128 bits, the most that KEP-5504 allows. */
const wellFormed = /^[1-9][0-9]{0,38}$/;

/** The version, or undefined when `value` is not a positive decimal number without leading zeros. */
export function parseResourceVersion(value: unknown): ResourceVersion | undefined {
  return typeof value === "string" && wellFormed.test(value) ? (value as ResourceVersion) : undefined;
}

/** Negative when `a` is older than `b`, 0 when equal, positive when newer. */
export function compareResourceVersions(a: ResourceVersion, b: ResourceVersion): number {
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : a > b ? 1 : 0;
}

/** The newer of two versions; undefined counts as older than everything. */
export function newerResourceVersion(a: ResourceVersion, b: ResourceVersion | undefined): ResourceVersion;
export function newerResourceVersion(
  a: ResourceVersion | undefined,
  b: ResourceVersion | undefined,
): ResourceVersion | undefined;
export function newerResourceVersion(
  a: ResourceVersion | undefined,
  b: ResourceVersion | undefined,
): ResourceVersion | undefined {
  if (a === undefined) return b;
  if (b === undefined) return a;
  return compareResourceVersions(a, b) >= 0 ? a : b;
}
