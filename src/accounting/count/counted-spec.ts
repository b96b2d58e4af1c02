/**
 * A short name for what was counted (docs/accounting.md#counts): the PodProtector's UID, the canonical text of the
 * counting selector and minReadySeconds. Counts with another one than the object's answer another question, so they are
 * treated as absent.
 */
import { hash } from "node:crypto";

/**
 * 48 bits: enough to tell the few specs of one object apart. Forging it gains nothing, because status writers are
 * trusted.
 */
const hexDigits = 12;

export function countedSpec(protectorUID: string, canonicalCountingSelector: string, minReadySeconds: number): string {
  return hash("sha256", JSON.stringify([protectorUID, canonicalCountingSelector, minReadySeconds]), "hex").slice(
    0,
    hexDigits,
  );
}
