/**
 * A short name for "what was counted" (design 2.4): the PodProtector's UID, the canonical text of the counting selector
 * and minReadySeconds. When it differs from the object's, the counts belong to another question and are treated as not
 * there yet.
 */
import { hash } from "node:crypto";

/**
 * 48 bits: enough to tell the few specs that one object ever has apart; nobody gains by forging it (status writers are
 * trusted).
 */
const hexDigits = 12;

export function countedSpec(protectorUID: string, canonicalCountingSelector: string, minReadySeconds: number): string {
  return hash("sha256", JSON.stringify([protectorUID, canonicalCountingSelector, minReadySeconds]), "hex").slice(
    0,
    hexDigits,
  );
}
