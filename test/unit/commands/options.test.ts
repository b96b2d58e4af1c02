import assert from "node:assert/strict";
import { test } from "node:test";
import { isGiven, valueOf } from "../../../src/commands/command.ts";
import { parseOptions, partsOf } from "../../../src/commands/options.ts";
import { Problem } from "../../../src/config/reading/problem.ts";

const declared = [
  { usage: "--core <context>", description: "", isRepeatable: true },
  { usage: "-n, --namespace <name>", description: "" },
  { usage: "-w, --watch", description: "" },
];

test("an option is taken apart as it is declared", () => {
  assert.deepEqual(partsOf(declared[1]!), { long: "namespace", short: "n", placeholder: "name" });
  assert.deepEqual(partsOf(declared[2]!), { long: "watch", short: "w", placeholder: undefined });
});

test("values are taken as they were written, in any spelling, among arguments", () => {
  const parsed = parseOptions(declared, ["a", "-n", "007", "--core=x=1", "b", "--core", "1e3", "-w"]);
  assert(!(parsed instanceof Problem));
  assert.deepEqual(parsed.args, ["a", "b"]);
  assert.equal(valueOf(parsed.options, "namespace"), "007");
  assert.deepEqual(parsed.options.get("core"), ["x=1", "1e3"]);
  assert.deepEqual([isGiven(parsed.options, "watch"), isGiven(parsed.options, "all")], [true, false]);
  assert.equal(valueOf(parsed.options, "kubeconfig"), undefined);
});

test("--help is found wherever it stands", () => {
  for (const argv of [["--help"], ["x", "-h", "--core=a"]]) {
    const parsed = parseOptions(declared, argv);
    assert(!(parsed instanceof Problem) && parsed.asksForHelp);
  }
});

test("a mistake names the option and what would be right", () => {
  const cases: readonly (readonly [readonly string[], string])[] = [
    [["--cor=x"], "unknown option --cor; did you mean --core? (--help lists all)"],
    [["-x"], "unknown option -x (--help lists all)"],
    [["--core"], "option --core needs a value: --core=context"],
    [["--core="], "option --core needs a value: --core=context"],
    [["-n", "--watch"], "option -n needs a value: --namespace=name"],
    [["--watch=yes"], "option --watch takes no value"],
    [["-n", "a", "--namespace=b"], 'option --namespace is given twice: "a" and "b"'],
  ];
  for (const [argv, message] of cases) {
    const parsed = parseOptions(declared, argv);
    assert(parsed instanceof Problem, argv.join(" "));
    assert.equal(parsed.message, message);
  }
});

test("a switch may be repeated, and a value that begins with a dash is given after =", () => {
  const parsed = parseOptions(declared, ["-w", "-w", "--namespace=-x"]);
  assert(!(parsed instanceof Problem));
  assert.equal(valueOf(parsed.options, "namespace"), "-x");
});
