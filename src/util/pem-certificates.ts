/**
 * The certificates of a PEM file, one by one. OpenSSL stops without a word at the first block that it cannot read, and
 * would trust none of the authorities behind it.
 */
import { X509Certificate } from "node:crypto";

/** The labels that OpenSSL takes for a certificate; other blocks, and text between blocks, it ignores as well. */
const label = "(?:X509 |TRUSTED )?CERTIFICATE";
const begin = new RegExp(`-----BEGIN ${label}-----`, "g");
/** OpenSSL wants each mark on a line of its own: two files that were joined without a line break are broken. */
const block = new RegExp(`^-----BEGIN ${label}-----[ \\t]*\\r?\\n[^-]*^-----END ${label}-----[ \\t]*\\r?$`, "gm");

/** Whose certificate it is, in one line: Node writes each part of a name into a line of its own. */
export function subjectOf({ subject }: X509Certificate): string {
  return subject.replaceAll("\n", ", ");
}

/** Throws an Error that says which block is broken. Empty without any. */
export function readCertificates(pem: string): X509Certificate[] {
  const starts = Array.from(pem.matchAll(begin), ({ index }) => index);
  const blocks = new Map(Array.from(pem.matchAll(block), ({ 0: text, index }) => [index, text]));
  return starts.map((start, index) => {
    try {
      return new X509Certificate(blocks.get(start) ?? "");
    } catch (error) {
      throw new Error(`certificate ${index + 1} of ${starts.length} is broken`, { cause: error });
    }
  });
}
