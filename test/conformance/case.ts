/** The shape of a case, and the list of those that a target does not run. */
import { type TargetName } from "./target.ts";
import { type Scope } from "./scope.ts";

export interface ConformanceCase {
  /** `<theme>: <a sentence of behaviour>`, unique. */
  readonly name: string;
  readonly run: (scope: Scope) => Promise<void>;
  /** True when it changes what other cases could see, such as history: it runs alone, after the others. */
  readonly isExclusive: boolean;
}

/** A case that one target cannot run, and why. */
export interface SkippedCase {
  readonly name: string;
  readonly target: TargetName;
  readonly reason: string;
}

type Run = ConformanceCase["run"];

/** Cases of one theme by their sentences. */
export function theme(name: string, sentences: Readonly<Record<string, Run>>): readonly ConformanceCase[] {
  return Object.entries(sentences).map(([sentence, run]) => ({
    name: `${name}: ${sentence}`,
    run,
    isExclusive: false,
  }));
}

/** The same for cases that need the server for themselves. */
export function exclusiveTheme(name: string, sentences: Readonly<Record<string, Run>>): readonly ConformanceCase[] {
  return theme(name, sentences).map((one) => ({ ...one, isExclusive: true }));
}
