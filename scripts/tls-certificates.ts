/** What the scripts that make certificates share: the option --days, and writing what was made. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { daysMax } from "../src/certificates/index.ts";
import { ArgumentError } from "./command-line.ts";

/** The value of --days. Throws an ArgumentError. */
export function parseDays(text: string): number {
  if (!/^\d{1,5}$/.test(text)) throw new ArgumentError(`--days: "${text}" is not a whole number from 1 to ${daysMax}`);
  return Number(text);
}

/** Writes files by name into a folder, those of `secret` for the user alone. */
export function writeFiles(folder: string, files: Readonly<Record<string, string>>, secret: readonly string[]): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  for (const [name, content] of Object.entries(files)) {
    writeFileSync(path.join(folder, name), content, { mode: secret.includes(name) ? 0o600 : 0o644 });
  }
}
