import { checkApis } from "../../scripts/check/apis.ts";
import { allows, refuses } from "./planted-tree.ts";

refuses(checkApis, "the homes of APIs refuse", [
  [
    "Date.now",
    { "src/accounting/index.ts": "\nDate.now();" },
    /^src\/accounting\/index\.ts:2: Date\.now: take a Clock/,
  ],
  ["the present as a Date", { "src/accounting/index.ts": "new Date( );" }, /new Date\(\): take a Clock/],
  ["performance.now", { "src/accounting/index.ts": "performance.now();" }, /performance\.now: take a Clock/],
  ["setTimeout", { "src/accounting/index.ts": "setTimeout(() => {}, 1);" }, /setTimeout: take a Clock/],
  ["setInterval", { "src/accounting/index.ts": "setInterval(() => {}, 1);" }, /setInterval: take a Clock/],
  [
    "AbortSignal.timeout",
    { "src/accounting/index.ts": "AbortSignal.timeout(1);" },
    /AbortSignal\.timeout: take a Clock/,
  ],
  ["Math.random", { "src/accounting/index.ts": "Math.random();" }, /Math\.random: take an Rng/],
  [
    "process.env",
    { "src/kube/index.ts": "process.env.HOME;" },
    /process\.env\.HOME: read configuration in src\/config/,
  ],
  ["process.exit", { "src/kube/index.ts": "process.exit(1);" }, /process\.exit: return or throw/],
  ["a variable of a module", { "src/accounting/index.ts": "export let count = 0;" }, /: let: no state in a module/],
  ["console", { "src/main.ts": "console.log(1);" }, /console\.log: take a Logger/],
  ["console under a computed name", { "src/main.ts": `const name = "log";\nconsole[name](1);` }, /console\.\*: take/],
  ["the present by a call", { "src/main.ts": "process.stdout.write(Date());" }, /new Date\(\): take a Clock/],
  ["a member in brackets", { "src/accounting/index.ts": `Date["now"]();` }, /Date\.now: take a Clock/],
  ["a global through globalThis", { "src/main.ts": "globalThis.setTimeout(() => {}, 1);" }, /setTimeout: take a Clock/],
  ["a method that is only passed on", { "src/main.ts": "const clock = { now: Date.now };" }, /Date\.now: take a Clock/],
  [
    "a timer of a module under another name",
    { "src/main.ts": `import { setTimeout as sleep } from "node:timers/promises";\nawait sleep(1);` },
    /main\.ts:2: timers\.setTimeout: take a Clock/,
  ],
  [
    "randomness of a module under another name",
    { "src/main.ts": `import * as tools from "node:crypto";\ntools.randomUUID();` },
    /main\.ts:2: crypto\.randomUUID: take an Rng/,
  ],
  ["the environment taken out of process", { "src/kube/index.ts": "const { env } = process;" }, /process\.env: read/],
  [
    "a global beside a local of the same name elsewhere",
    { "src/main.ts": "const f = (setTimeout: () => void): void => setTimeout();\nsetTimeout(f, 1);" },
    /main\.ts:2: setTimeout/,
  ],
  ["a banned API inside a template", { "src/accounting/index.ts": "`${Date.now()}`;" }, /Date\.now/],
]);

allows(checkApis, "the homes of APIs allow", [
  [
    "a banned API in its home",
    {
      "src/util/system-clock.ts": "export const now = (): number => Date.now();",
      "test/unit/util/system-clock.test.ts": "",
    },
  ],
  [
    "a banned API in a comment, a string or a regular expression",
    { "src/accounting/index.ts": "// Date.now()\n'Date.now()';\n/Date.now/;\n`Date.now()`;" },
  ],
  [
    "members and locals that only share a name with an API",
    {
      "src/kube/index.ts": `import { now, performance } from "../../src/util/clock.ts";
export class Timer {
  setTimeout(console: { log(): void }): number {
    const { random } = { random: performance.now() };
    console.log();
    return this.setTimeout(console) + random + now();
  }
}
for (const Date of [{ now }]) Date.now();
`,
      "src/kube/clock.ts": "export const now = 1;\nexport const performance = { now };\n",
    },
  ],
  ["a variable of a function", { "src/accounting/index.ts": "{\n  let count = 0;\n}" }],
  ["a Date of a given moment", { "src/accounting/index.ts": "new Date(0);" }],
  ["timers and console in a test", { "test/unit/a.test.ts": "setTimeout(() => console.log(1), 1);" }],
]);
