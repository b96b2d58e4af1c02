/** What generator and webhook agree on about a floor that falls to less than half (docs/mass-changes.md). */

/**
 * So long after the generator has seen it, it is judged, in milliseconds: most of a burst by a garbage collector or a
 * script is there then. Webhooks hold a deletion that waits for such a floor for a little longer.
 */
export const deepFallDelayMs = 2_000;
