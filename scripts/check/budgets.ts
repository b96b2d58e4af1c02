// How large the house may be: budgets.json has the lines and files of each top folder, and how many flags, metrics,
// pages, commands and kinds of sources there are. They shrink freely; run as a program, this file writes what is less:
//   node scripts/n.mjs scripts/check/budgets.ts
// They grow only by an edit of budgets.json, with a new `because` beside the number, in the commit that needs it.
import { spawnSync } from "node:child_process";
import { writeFileSync } from "node:fs";
import path from "node:path";
import { Repository } from "./repository.ts";

const budgetsFile = "scripts/check/budgets.json";

interface Budget {
  readonly lines?: number;
  readonly files?: number;
  readonly number?: number;
  /** Why it was raised last. */
  readonly because?: string;
}
/** By folder, or by what is counted. */
type Budgets = Readonly<Record<string, Budget>>;

const units = ["lines", "files", "number"] as const;
type Unit = (typeof units)[number];
/** Lines are written in steps of so many: a comment more needs no edit of the budgets. */
const linesStep = 50;
const inSteps = (lines: number): number => Math.ceil(lines / linesStep) * linesStep;

/** What is counted below each root; folders just below it have a budget each, and so have the files beside them. */
const roots: Readonly<Record<string, RegExp>> = {
  docs: /\.md$/,
  scripts: /\.(?:ts|mjs)$/,
  src: /\.(?:ts|mjs)$/,
  test: /\.(?:ts|mjs)$/,
};

/** The part of a file that lists things, one match for each. The pages of flags and metrics are generated. */
const lists: Readonly<Record<string, { readonly file: string; readonly part: RegExp; readonly one: RegExp }>> = {
  flags: { file: "docs/flags.md", part: /^## Process[^]*?(?=^## Without effect|$(?![^]))/m, one: /^\| `--/gm },
  metrics: {
    file: "docs/metrics.md",
    part: /^[^]*?(?=^## Metrics of the Go original|$(?![^]))/m,
    one: /^\| `\w+` \|/gm,
  },
  commands: { file: "src/commands/index.ts", part: /^const commands\b[^[]*\[\] = \[[^\]]*/m, one: /^ {2}\w+,$/gm },
  kinds: { file: "src/config/generator-rules.ts", part: /\bsourceIDs = \[[^\]]*/, one: /"[^"]+"/g },
};

function measure(repository: Repository): Budgets {
  const found: Record<string, { lines: number; files: number }> = {};
  for (const { path: file, text } of repository.files) {
    const [root = "", folder = "", ...rest] = file.split("/");
    if (roots[root]?.test(file) !== true) continue;
    const of = (found[rest.length > 0 ? `${root}/${folder}` : root] ??= { lines: 0, files: 0 });
    of.lines += text.split("\n").length - 1;
    of.files += 1;
  }
  const numbers = Object.entries(lists).map(([name, { file, part, one }]): [string, Budget] => {
    const listed = part.exec(repository.read(file) ?? "")?.[0] ?? "";
    return [name, { number: Array.from(listed.matchAll(one)).length }];
  });
  return { ...found, ...Object.fromEntries(numbers) };
}

/** Checks the sizes against budgets.json, and that against what it was; returns one line for each violation. */
export function checkBudgets(repository: Repository): string[] {
  const text = repository.read(budgetsFile);
  if (text === undefined) return [`${budgetsFile}: missing`];
  const budgets = JSON.parse(text) as Budgets;
  const found = measure(repository);
  const before = formerBudgets(repository.root, text);
  return [
    ...Object.entries(found).flatMap(([name, size]) => over(name, size, budgets[name])),
    ...Object.keys(budgets)
      .filter((name) => found[name] === undefined)
      .map((name) => `${budgetsFile}: ${name} is gone: strike it off`),
    ...(before === undefined ? [] : Object.entries(budgets).flatMap(([name, now]) => grown(name, now, before[name]))),
  ];
}

function over(name: string, size: Budget, budget: Budget | undefined): string[] {
  return units.flatMap((unit) => {
    const [is, max] = [size[unit], budget?.[unit] ?? 0];
    if (is === undefined || is <= max) return [];
    const what = unit === "number" ? `${is}` : `${is} ${unit}`;
    return `${name}: ${what} (at most ${max}): take as much away, or raise it in ${budgetsFile} with a reason`;
  });
}

function grown(name: string, now: Budget, before: Budget | undefined): string[] {
  const max = (unit: Unit): number => (unit === "lines" ? inSteps(before?.lines ?? 0) : (before?.[unit] ?? 0));
  const more = units.find((unit) => (now[unit] ?? 0) > max(unit));
  const hasReason = (now.because ?? "").trim() !== "" && now.because !== before?.because;
  if (more === undefined || hasReason) return [];
  return [`${budgetsFile}: ${name} grew from ${before?.[more] ?? 0} to ${now[more]}: say why in a new "because"`];
}

/** The budgets before their last change; undefined where git knows of none. */
function formerBudgets(root: string, now: string): Budgets | undefined {
  const git = (...args: readonly string[]): string | undefined => {
    const { status, stdout } = spawnSync("git", ["-C", root, ...args], { encoding: "utf8" });
    return status === 0 ? stdout : undefined;
  };
  const changes = git("log", "-2", "--format=%H", "--", budgetsFile)?.trim().split("\n") ?? [];
  const texts = changes.map((commit) => git("show", `${commit}:${budgetsFile}`));
  const former = texts.find((text) => text !== undefined && text !== now);
  return former === undefined ? undefined : (JSON.parse(former) as Budgets);
}

/** What is there now, where that is less; a budget that is passed stays, and what has none gets none. */
function lowered(repository: Repository): Budgets {
  const text = repository.read(budgetsFile);
  const found = measure(repository);
  const names = Object.keys(found).toSorted();
  const enough = (name: string): Budget => {
    const { lines, ...others } = found[name] ?? {};
    return lines === undefined ? others : { lines: inSteps(lines), ...others };
  };
  if (text === undefined) return Object.fromEntries(names.map((name) => [name, enough(name)]));
  const budgets = JSON.parse(text) as Budgets;
  return Object.fromEntries(
    names.flatMap((name): [string, Budget][] => {
      const budget = budgets[name];
      if (budget === undefined) return [];
      const less = units.flatMap((unit) => {
        const max = budget[unit];
        return max === undefined ? [] : [[unit, Math.min(max, enough(name)[unit] ?? 0)] as const];
      });
      return [
        [name, { ...Object.fromEntries(less), ...(budget.because !== undefined && { because: budget.because }) }],
      ];
    }),
  );
}

if (import.meta.main) {
  const root = path.join(import.meta.dirname, "../..");
  writeFileSync(path.join(root, budgetsFile), `${JSON.stringify(lowered(new Repository(root)), undefined, 2)}\n`);
}
