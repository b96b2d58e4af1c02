/** How the live view may look: colours and characters that the terminal is able to show. */

export type Tone = "plain" | "strong" | "dim" | "good" | "warn" | "bad";

export interface Glyphs {
  readonly full: string;
  readonly empty: string;
  readonly floor: string;
  readonly up: string;
  readonly starting: string;
  readonly gone: string;
}

export interface Style {
  readonly glyphs: Glyphs;
  paint(tone: Tone, text: string): string;
}

const unicode: Glyphs = { full: "█", empty: "░", floor: "┃", up: "●", starting: "○", gone: "✗" };
const ascii: Glyphs = { full: "#", empty: ".", floor: "|", up: "up", starting: "..", gone: "dead" };

// SGR codes that are readable on dark and light backgrounds.
const codes: Readonly<Record<Exclude<Tone, "plain">, string>> = {
  strong: "1",
  dim: "2",
  good: "32",
  warn: "33",
  bad: "31",
};

export function createStyle(options: { readonly colour: boolean; readonly utf8: boolean }): Style {
  return {
    glyphs: options.utf8 ? unicode : ascii,
    paint: (tone, text) =>
      options.colour && tone !== "plain" && text !== "" ? `\u001B[${codes[tone]}m${text}\u001B[0m` : text,
  };
}
