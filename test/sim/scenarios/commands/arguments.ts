/**
 * The words of a command: flags, KEY=VALUE settings, and plain words in their order. Whatever nobody has asked for at
 * the end is a mistake.
 */

export class Arguments {
  readonly #place: string;
  #words: string[];

  constructor(place: string, words: readonly string[]) {
    this.#place = place;
    this.#words = [...words];
  }

  /** The next plain word. */
  word(what: string): string {
    const word = this.#words.shift();
    if (word === undefined) throw this.error(`${what} is missing`);
    return word;
  }

  /** Whether the flag is there; takes it. */
  flag(name: string): boolean {
    const before = this.#words.length;
    this.#words = this.#words.filter((word) => word !== name);
    return this.#words.length < before;
  }

  /** All words that are left; takes them. */
  rest(): readonly string[] {
    return this.#words.splice(0);
  }

  /** The value of NAME=VALUE; takes it. */
  setting(name: string): string | undefined {
    const index = this.#words.findIndex((word) => word.startsWith(`${name}=`));
    if (index === -1) return undefined;
    const [word = ""] = this.#words.splice(index, 1);
    return word.slice(name.length + 1);
  }

  number(name: string, preset: number): number {
    const text = this.setting(name);
    const value = text === undefined ? preset : Number(text);
    if (!Number.isFinite(value)) throw this.error(`${name}=${text} is no number`);
    return value;
  }

  list(name: string): readonly string[] {
    return this.setting(name)?.split(",") ?? [];
  }

  /** Labels or a selector: KEY=VALUE after NAME=. */
  label(name: string): Readonly<Record<string, string>> | undefined {
    const [key = "", value = ""] = this.setting(name)?.split("=") ?? [];
    return key === "" ? undefined : { [key]: value };
  }

  /** Milliseconds of a word such as 76s, 500ms, -30s or 2h. */
  duration(text: string): number {
    const match = /^(-?\d+(?:\.\d+)?)(ms|s|m|h)$/.exec(text);
    if (match === null) throw this.error(`${text} is no duration`);
    return Number(match[1]) * { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }[match[2] as "ms" | "s" | "m" | "h"];
  }

  /** Call it when everything has been read. */
  end(): void {
    if (this.#words.length > 0) throw this.error(`what is ${JSON.stringify(this.#words.join(" "))}?`);
  }

  error(problem: string): Error {
    return new Error(`${this.#place}: ${problem}`);
  }
}
