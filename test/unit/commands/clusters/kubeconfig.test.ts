import assert from "node:assert/strict";
import { test } from "node:test";
import { findContext, readKubeconfigs } from "../../../../src/commands/clusters/kubeconfig.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";

const config = (current: string | undefined, ...names: readonly string[]): string =>
  JSON.stringify({
    "current-context": current,
    contexts: names.map((name) => ({ name, context: { namespace: name } })),
  });

const files: Readonly<Record<string, string>> = {
  "/a": config(undefined, "one", "both"),
  "/b": config("two", "two", "both"),
  "/home/.kube/config": config("mine", "mine"),
  "/bad": "a: [",
  "/empty": "",
};

function read(given: string | undefined, environment: Readonly<Record<string, string>> = {}) {
  return readKubeconfigs(given, {
    environment,
    readFile(file) {
      const text = files[file];
      if (text === undefined) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
      return text;
    },
  });
}

function find(context: string | undefined, environment: Readonly<Record<string, string>>, given?: string) {
  const found = read(given, environment);
  return found instanceof Problem ? found : findContext(found, context);
}

test("the first file of KUBECONFIG that has a context, or names the current one, counts", () => {
  const environment = { KUBECONFIG: "/a:/none:/b" };
  assert.deepEqual(find("both", environment), { file: "/a", context: "both", namespace: "both" });
  assert.deepEqual(find(undefined, environment), { file: "/b", context: "two", namespace: "two" });
});

test("--kubeconfig takes precedence over KUBECONFIG, and that over the home folder", () => {
  assert.deepEqual(find("one", { KUBECONFIG: "/b" }, "/a"), { file: "/a", context: "one", namespace: "one" });
  assert.deepEqual(find(undefined, { HOME: "/home" }), {
    file: "/home/.kube/config",
    context: "mine",
    namespace: "mine",
  });
});

test("what cannot be found is named, with what there is", () => {
  const cases: readonly (readonly [Problem | object, string])[] = [
    [
      find("tow", { KUBECONFIG: "/b" }),
      'the kubeconfig has no context "tow"; it has: "two", "both"; did you mean "two"?',
    ],
    [find(undefined, { KUBECONFIG: "/a" }), 'the kubeconfig has no current context; choose one: "one", "both"'],
    [read("/none"), 'kubeconfig "/none": there is no such file'],
    [
      read(undefined, { HOME: "/x" }),
      'kubeconfig "/x/.kube/config": there is no such file; set --kubeconfig or KUBECONFIG',
    ],
    [read(undefined, { KUBECONFIG: "/none:/nope" }), "none of the files in KUBECONFIG exists"],
    [read("/empty"), 'kubeconfig "/empty": expected a document, but the input is empty'],
  ];
  for (const [problem, message] of cases) {
    assert(problem instanceof Problem);
    assert.equal(problem.message, message);
  }
  const bad = read("/bad");
  assert(bad instanceof Problem);
  assert.match(bad.message, /^kubeconfig "\/bad": /);
});
