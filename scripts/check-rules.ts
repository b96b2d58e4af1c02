// Rules of the repository that no off-the-shelf tool knows: APIs that have one home, length, marks of unfinished work,
// tests that are switched off, names that say nothing, text that would tie the sources to one machine, and sources
// without a test of their own.
import { existsSync, readFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { checkPackages } from "./check-packages.ts";
import { blankNonCode, lineAt, readRepository, type RepositoryFile } from "./check-text.ts";

interface BannedApi {
  readonly pattern: RegExp;
  /** Prefixes below the root where the API is at home. */
  readonly homes: readonly string[];
  readonly instead: string;
}

const clockHome = { homes: ["src/util/system-clock.ts"], instead: "take a Clock (src/util/clock.ts)" };
const bannedApis: readonly BannedApi[] = [
  { pattern: /\bDate\.now\b|\bnew Date\(\s*\)|\bDate\(\s*\)/g, ...clockHome },
  { pattern: /\bperformance\.(?:now|timeOrigin)\b|\bprocess\.hrtime\b/g, ...clockHome },
  {
    pattern: /\b(?:setTimeout|setInterval|setImmediate)\b|\bAbortSignal\.timeout\b|\bscheduler\.wait\b/g,
    ...clockHome,
  },
  {
    pattern: /\bMath\.random\b|\brandom(?:UUID|Bytes|Int)\b|\bgetRandomValues\b/g,
    homes: ["src/util/rng.ts"],
    instead: "take an Rng (src/util/rng.ts)",
  },
  { pattern: /\bprocess\.env\b/g, homes: ["src/config/", "src/main.ts"], instead: "read configuration in src/config" },
  {
    pattern: /\bprocess\.(?:exit|abort)\b/g,
    homes: ["src/main.ts"],
    instead: "return or throw; main.ts ends the process",
  },
  {
    pattern: /\bprocess\.kill\b/g,
    homes: ["src/main.ts", "src/kube/transport/exec-plugin.ts"],
    instead: "return or throw; only plugins are processes of ours",
  },
  {
    pattern: /^(?:export )?(?:let|var)\b/gm,
    homes: [],
    instead: "no state in a module: two roles in one process would share it",
  },
  { pattern: /\bconsole\.\w+/g, homes: [], instead: "take a Logger (src/util/logger.ts)" },
];

/** Longer files hold more than one idea. A file that must be longer says why near its top: `// length: <reason>`. */
const linesMax = 400;
const lengthReason = /^(?:\/\/|#|\s*\*) length: \S/m;
/** The reason stands in the header, where the reader is: within this many lines. */
const headerLines = 20;

// Spelt so that this file does not find itself.
const unfinished = /\b(?:TO[D]O|FIX[M]E|X[X]X|HAC[K])\b/g;
const switchedOff =
  /\b(?:test|it|describe|suite|t|context)\.(?:only|skip|todo)\b|\b(?:only|skip|todo):\s*(?:true\b|["'`])/g;
const emptyName = /(?:^|[/.-])(?:utils?|helpers?|misc|common)(?:\.test)?\.ts$/;
const registryHost = /\bregistry\.[a-z0-9-]+\.[a-z]{2,}/g;
const homeFolder = /(?<![\w.$}~-])\/(?:home|Users|root)\/\w+/g;

type Rule = (file: RepositoryFile) => string[];

const isTypeScript = (file: RepositoryFile): boolean => file.path.endsWith(".ts");
const at = (file: RepositoryFile, offset: number, problem: string): string =>
  `${file.path}:${lineAt(file.text, offset)}: ${problem}`;
const report = (file: RepositoryFile, text: string, pattern: RegExp, problem: string): string[] =>
  Array.from(text.matchAll(pattern), (match) => at(file, match.index, `${match[0].trim()}: ${problem}`));

const apisStayAtHome: Rule = (file) => {
  if (!file.path.startsWith("src/") || !isTypeScript(file)) return [];
  const code = blankNonCode(file.text);
  return bannedApis
    .filter(({ homes }) => !homes.some((home) => file.path.startsWith(home)))
    .flatMap(({ pattern, instead }) => report(file, code, pattern, instead));
};

const filesAreShort: Rule = (file) => {
  if (!/\.(?:ts|mjs)$/.test(file.path)) return [];
  const lines = file.text.trimEnd().split("\n");
  if (lines.length <= linesMax || lengthReason.test(lines.slice(0, headerLines).join("\n"))) return [];
  return [`${file.path}: ${lines.length} lines (at most ${linesMax}, or "// length: <reason>" in the header)`];
};

const nothingIsUnfinished: Rule = (file) =>
  file.path === "LICENSE" || file.path === "package-lock.json"
    ? []
    : report(file, file.text, unfinished, "finish it, or write an issue");

const testsAreOn: Rule = (file) =>
  /^test\/.*\.ts$/.test(file.path)
    ? report(file, blankNonCode(file.text), switchedOff, "run it, or say when it cannot: { skip: <condition> }")
    : [];

const namesSaySomething: Rule = (file) =>
  emptyName.test(file.path) ? [`${file.path}: name the file after its one idea`] : [];

const rules: readonly Rule[] = [apisStayAtHome, filesAreShort, nothingIsUnfinished, testsAreOn, namesSaySomething];

/** Finds names of package or image servers, and paths that exist on the machine of one person. */
function findMachineNames(root: string, files: readonly RepositoryFile[]): string[] {
  // A folder two or more levels deep has a path that cannot occur by chance.
  const own = [path.resolve(root), os.homedir()].filter((folder) => folder.split(path.sep).length > 2);
  return files.flatMap((file) => {
    const found = own.find((folder) => file.text.includes(`${folder}/`));
    if (found !== undefined) return [`${file.path}: ${found} is a path of this machine`];
    return [
      ...report(file, file.text, registryHost, "no registry host in the sources"),
      ...report(file, file.text, homeFolder, "a path of one machine"),
    ];
  });
}

const statement = /^(?![\s)}\]])/m;
const declaresOnly = /^(?:import|export\s*(?:\*|\{|type\b|interface\b|declare\b)|type\b|interface\b|declare\b|$)/;
const constant = /^(?:export )?(?:const|let) /;

/** Tells whether a source has anything to test: a function, a class, or a statement that runs. */
function hasBehaviour(text: string): boolean {
  return blankNonCode(text)
    .split(statement)
    .some((part) => {
      const code = part.trim();
      return !declaresOnly.test(code) && !(constant.test(code) && !/=>|\bfunction\b|\bnew\b/.test(code));
    });
}

const listPath = "test/house/without-own-test.json";

/** Each source has a test at the mirrored path, or stands on a list that may only shrink, with the reason. */
function checkMirror(root: string, files: readonly RepositoryFile[]): string[] {
  const listFile = path.join(root, listPath);
  const list = (existsSync(listFile) ? JSON.parse(readFileSync(listFile, "utf8")) : {}) as Record<string, string>;
  const listed = new Map(Object.entries(list));
  const tests = files.map((file) => file.path).filter((file) => file.endsWith(".test.ts"));
  const problems: string[] = [];
  for (const file of files.filter(({ path: name }) => /^src\/.*\.ts$/.test(name) && !name.endsWith("/index.ts"))) {
    const mirror = file.path.replace(/^src\/(.*)\.ts$/, "test/unit/$1.");
    const isTested = tests.some((test) => test.startsWith(mirror));
    const isListed = listed.delete(file.path);
    if (isTested && isListed) problems.push(`${listPath}: ${file.path} has a test now: strike it off`);
    if (!isTested && !isListed && hasBehaviour(file.text)) problems.push(`${file.path}: no ${mirror}test.ts`);
  }
  for (const [name, reason] of Object.entries(list)) {
    if (reason.trim() === "") problems.push(`${listPath}: ${name} has no reason`);
  }
  return [...problems, ...Array.from(listed.keys(), (name) => `${listPath}: ${name} is gone: strike it off`)];
}

/** Checks all rules on the repository at `root`; returns one line for each violation. */
export function checkRules(root: string): string[] {
  const files = readRepository(root);
  return [
    ...files.flatMap((file) => rules.flatMap((rule) => rule(file))),
    ...findMachineNames(root, files),
    ...checkMirror(root, files),
    ...checkPackages(root),
  ];
}
