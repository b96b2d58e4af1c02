import assert from "node:assert/strict";
import { test } from "node:test";
import { readClusterChoice, readOutput } from "../../../../src/commands/clusters/options.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";

const choice = (options: Readonly<Record<string, readonly string[]>>) =>
  readClusterChoice(new Map(Object.entries(options)));

test("without options it is the current context as the one core, and all namespaces", () => {
  assert.deepEqual(choice({}), {
    kubeconfig: undefined,
    cores: new Map([["core", undefined]]),
    workers: new Map(),
    namespace: undefined,
    leaseNamespace: "podseidon-system",
  });
});

test("a core has the name before the =, and else that of its context where there are several", () => {
  const cores = (...core: readonly string[]) => {
    const read = choice({ core });
    assert(!(read instanceof Problem));
    return [...read.cores];
  };
  assert.deepEqual(cores("ctx"), [["core", "ctx"]]);
  assert.deepEqual(cores("east=ctx-1", "ctx-2"), [
    ["east", "ctx-1"],
    ["ctx-2", "ctx-2"],
  ]);
  // The name of a context may hold anything.
  assert.deepEqual(cores("arn:aws:eks:1:cluster/a=b"), [["core", "arn:aws:eks:1:cluster/a=b"]]);
});

test("what cannot be meant is a problem that names the value and what is allowed", () => {
  const cases: readonly (readonly [Readonly<Record<string, readonly string[]>>, string])[] = [
    [{ core: ["a=x", "a=y"] }, 'option --core: "a=y" is the second with the name a; allowed: each name once'],
    [{ core: ["east="] }, 'option --core: "east=" names no context; allowed: CONTEXT or NAME=CONTEXT'],
    [
      { worker: ["w1"] },
      'option --worker: "w1" names no cell with its context; allowed: CELL=CONTEXT, such as worker-1=my-context',
    ],
    [
      { worker: ["-=x"] },
      'option --worker: "-=x" begins with what is not a cell ID; allowed: CELL=CONTEXT, such as worker-1=my-context',
    ],
    [{ worker: ["w1=a", "w1=b"] }, 'option --worker: "w1=b" has a cell that was given before; allowed: each cell once'],
    [
      { namespace: ["Shop"] },
      'option --namespace: "Shop" is not a valid namespace name; allowed: the name of a namespace',
    ],
  ];
  for (const [options, message] of cases) {
    const read = choice(options);
    assert(read instanceof Problem);
    assert.equal(read.message, message);
  }
});

test("the output is a table unless json is asked for", () => {
  assert.equal(readOutput(new Map()), "table");
  assert.equal(readOutput(new Map([["output", ["json"]]])), "json");
  const problem = readOutput(new Map([["output", ["yaml"]]]));
  assert(problem instanceof Problem);
  assert.equal(problem.message, 'option --output: "yaml" is unknown; allowed: table or json');
});
