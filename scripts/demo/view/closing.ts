/** What is printed at the end, when the live view has gone. Pure. */
import { type ActResult, type ServiceResult, type Verdict } from "../statistics.ts";
import { wrap } from "./state.ts";
import { type Style } from "./style.ts";
import { resultTable } from "./table.ts";

export interface Closing {
  readonly services: readonly ServiceResult[];
  readonly acts: readonly ActResult[];
  readonly verdict: Verdict;
  /** What a refused request was told; undefined = none was refused. */
  readonly refusal: string | undefined;
  readonly elapsedMs: number;
}

const columns = 76;

function paragraph(text: string): string[] {
  return wrap(text, columns).map((line) => `  ${line}`);
}

/**
 * The part of the answer that says who refused and why: without what the API server puts before it, and without figures
 * and advice.
 */
export function reasonOf(refusal: string): string {
  const words = refusal.replace(/^admission webhook "[^"]*" denied the request: /, "");
  const end = words.indexOf(". ");
  return end < 0 ? words : words.slice(0, end);
}

/** Lines of at most 80 columns. */
export function closingLines(
  { services, acts, verdict, refusal, elapsedMs }: Closing,
  style: Style,
): readonly string[] {
  const tone = verdict.exitCode === 0 ? "good" : "bad";
  return [
    "",
    ...acts.map(({ title, problem }) =>
      problem === undefined
        ? `  ${style.paint("good", "passed")}  ${title}`
        : `  ${style.paint("bad", "FAILED")}  ${title}`,
    ),
    "",
    ...resultTable(services, style),
    "",
    ...verdict.sentences.flatMap(paragraph).map((line) => style.paint(tone, line)),
    "",
    ...(refusal === undefined ? [] : [...paragraph(`The runaway controller was told: "${reasonOf(refusal)}"`), ""]),
    `  Open demo-report.html to see it over time. (${Math.round(elapsedMs / 1000)} s)`,
    "",
  ];
}
