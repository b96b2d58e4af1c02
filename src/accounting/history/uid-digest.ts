/**
 * 64-bit digests of pod UIDs, packed into one base64 text (docs/accounting.md#packing). With 2,000 digests in a cell of
 * a million pods the chance of any collision is 2,000 * 10^6 / 2^64, about 10^-10. A collision could settle one bucket
 * early.
 */
import { hash } from "node:crypto";

const digestBytes = 8;
const digestHexDigits = digestBytes * 2;

/**
 * A packed text that was validated but not split: a batch of reviews looks up each of its pods among 2,000 digests.
 */
export interface PackedDigests {
  readonly size: number;
  has(digest: string): boolean;
  /** All digests in their order. O(size). */
  list(): string[];
}

/** 16 hexadecimal digits: the first 64 bits of the SHA-256 of the UID. */
export function digestOfUID(podUID: string): string {
  return hash("sha256", podUID, "hex").slice(0, digestHexDigits);
}

/** The digests in a packed text; undefined when it is not base64 of whole digests, or empty. */
export function unpackDigests(packed: string): PackedDigests | undefined {
  const bytes = Buffer.from(packed, "base64");
  // Buffer ignores what is not base64, so the text is compared with its re-encoding.
  if (bytes.length === 0 || bytes.length % digestBytes !== 0 || bytes.toString("base64") !== packed) return undefined;
  return {
    size: bytes.length / digestBytes,
    has(digest) {
      const wanted = Buffer.from(digest, "hex");
      let at = bytes.indexOf(wanted);
      // The same bytes across the boundary of two digests are not a digest.
      while (at >= 0 && at % digestBytes !== 0) at = bytes.indexOf(wanted, at + 1);
      return at >= 0;
    },
    list() {
      const hex = bytes.toString("hex");
      const digests: string[] = [];
      for (let at = 0; at < hex.length; at += digestHexDigits) digests.push(hex.slice(at, at + digestHexDigits));
      return digests;
    },
  };
}

/** The text that holds these digests in their order. */
export function packDigests(digests: readonly string[]): string {
  return Buffer.from(digests.join(""), "hex").toString("base64");
}
