/** Colours of a terminal: of the 16 that every terminal has, so that they fit its theme. None where none are wanted. */
import { type Terminal } from "../command.ts";

export type Tone = "good" | "bad" | "warning" | "faint" | "strong";

const codes: Readonly<Record<Tone, string>> = { good: "32", bad: "31", warning: "33", faint: "2", strong: "1" };

/** `text` must be printable and without colours. */
export function coloured({ isColoured }: Pick<Terminal, "isColoured">, tone: Tone | undefined, text: string): string {
  return isColoured && tone !== undefined && text !== "" ? `\u001b[${codes[tone]}m${text}\u001b[0m` : text;
}
