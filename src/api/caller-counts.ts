/**
 * Who was refused, and how often: counted callers, and their text in Events, such as
 * `Refused 251 deletions in 60 s (by system:serviceaccount:fed:runaway 240, alice 11)`. The Event on the PodProtector
 * is the only place that keeps it, so the text is read again by commands and pages. Callers may have any name: one that
 * is no plain word is quoted. Pure.
 */
import { printable } from "../util/printable.ts";

export interface CallerCounts {
  readonly total: number;
  /** Since the first one, rounded up; at least 1. */
  readonly seconds: number;
  /** Those with the most, in falling order. */
  readonly callers: readonly { readonly name: string; readonly count: number }[];
  /** Of all other callers together. */
  readonly others: number;
}

/** Callers in a text: five names are read, and leave room for the reason in the 1,024 characters of an Event. */
const namedMax = 5;
/** Of one name in a text. Most ServiceAccounts fit. */
const nameLengthMax = 100;
/** Callers that are told apart. Each takes some hundred bytes. */
const countedMax = 64;

/** Counts the callers of one PodProtector. */
export class CallerTally {
  readonly #counts = new Map<string, number>();
  #total = 0;

  /** One more deletion by this caller. */
  add(caller: string): void {
    this.#total += 1;
    const name = shortened(caller);
    const count = this.#counts.get(name);
    if (count !== undefined || this.#counts.size < countedMax) this.#counts.set(name, (count ?? 0) + 1);
  }

  /** All of them, the first of which came so long ago. */
  counts(elapsedMs: number): CallerCounts {
    // Of two with as many, the one that came first.
    const sorted = [...this.#counts].sort(([, a], [, b]) => b - a).slice(0, namedMax);
    const callers = sorted.map(([name, count]) => ({ name, count }));
    const named = callers.reduce((sum, { count }) => sum + count, 0);
    const seconds = Math.max(1, Math.ceil(elapsedMs / 1_000));
    return { total: this.#total, seconds, callers, others: this.#total - named };
  }
}

export function formatCallerCounts({ total, seconds, callers, others }: CallerCounts): string {
  const by = callers.map(({ name, count }) => `${isPlain(name) ? name : `"${name}"`} ${count}`);
  if (others > 0) by.push(`others ${others}`);
  return `Refused ${total} deletion${total === 1 ? "" : "s"} in ${seconds} s (by ${by.join(", ")})`;
}

const beginning = /^Refused (\d{1,15}) deletions? in (\d{1,15}) s \(by /;
const oneCaller = /^([\w:@./-]+|"[^"]*") (\d{1,15})(, |\))/;

/** What `formatCallerCounts` has written at the start of `text`; undefined = it begins otherwise. Never throws. */
export function parseCallerCounts(text: string): CallerCounts | undefined {
  return read(text)?.counts;
}

/** `text` without the counts at its start: what was refused last, and why. */
export function withoutCallerCounts(text: string): string {
  const { rest } = read(text) ?? {};
  return rest === undefined ? text : rest.replace(/^; /, "");
}

function read(text: string): { readonly counts: CallerCounts; readonly rest: string } | undefined {
  const begun = beginning.exec(text);
  if (begun === null) return undefined;
  const callers: { name: string; count: number }[] = [];
  let others = 0;
  let rest = text.slice(begun[0].length);
  for (;;) {
    const [whole, word = "", digits, end] = oneCaller.exec(rest) ?? [];
    if (whole === undefined) return undefined;
    // A caller of that name is quoted.
    if (word === "others") others = Number(digits);
    else callers.push({ name: word.replaceAll('"', ""), count: Number(digits) });
    rest = rest.slice(whole.length);
    if (end === ")") {
      return { counts: { total: Number(begun[1]), seconds: Number(begun[2]), callers, others }, rest };
    }
  }
}

function isPlain(name: string): boolean {
  return name !== "others" && /^[\w:@./-]+$/.test(name);
}

/** Without quotes, so that it can be put into some. */
function shortened(caller: string): string {
  const name = printable(caller).replaceAll('"', "?");
  return name.length > nameLengthMax ? `${name.slice(0, nameLengthMax)}…` : name;
}
