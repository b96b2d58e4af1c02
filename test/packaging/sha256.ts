import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";

/** The file's SHA-256 in hexadecimal: two files with the same one are the same executable. */
export function sha256(file: string): string {
  return createHash("sha256").update(readFileSync(file)).digest("hex");
}
