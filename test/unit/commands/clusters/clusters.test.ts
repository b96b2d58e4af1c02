import assert from "node:assert/strict";
import { test } from "node:test";
import { findContext, readKubeconfigs } from "../../../../src/commands/clusters/kubeconfig.ts";
import { openClusters } from "../../../../src/commands/clusters/open.ts";
import { readClusterChoice, readOutput } from "../../../../src/commands/clusters/options.ts";
import { type Access, reading } from "../../../../src/commands/clusters/reading.ts";
import { type ClusterConfig } from "../../../../src/config/clusters.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { type KubeClient, KubeError } from "../../../../src/kube/kube-client.ts";
import { leases } from "../../../../src/kube/resources.ts";
import { StartError } from "../../../../src/lifecycle/component.ts";

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

function surroundings(connected: Map<string, ClusterConfig>, closed: string[]) {
  return {
    environment: { KUBECONFIG: "/config" },
    readFile: () =>
      JSON.stringify({
        "current-context": "ctx",
        contexts: ["ctx", "w", "broken"].map((name) => ({ name, context: { namespace: `of-${name}` } })),
      }),
    async connect(config: ClusterConfig, name: string): Promise<KubeClient> {
      if (config.context === "broken") throw new StartError("the user is missing");
      connected.set(name, config);
      return { cluster: name, close: async () => void closed.push(name) } as unknown as KubeClient;
    },
  };
}

test("each core and worker is connected by its context, and all are closed", async () => {
  const [connected, closed] = [new Map<string, ClusterConfig>(), [] as string[]];
  const options = new Map([
    ["core", ["east=ctx"]],
    ["worker", ["w1=w"]],
  ]);
  const open = await openClusters(options, surroundings(connected, closed));
  assert(!(open instanceof Problem));
  assert.deepEqual([[...open.cores.keys()], [...open.workers.keys()]], [["east"], ["w1"]]);
  const { kubeConfigPath, context, master } = connected.get("worker w1")!;
  assert.deepEqual([kubeConfigPath, context, master], ["/config", "w", ""]);
  assert.equal(open.objectNamespace, "of-ctx");
  await open.close();
  assert.deepEqual(closed, ["east", "worker w1"]);
});

test("a context that cannot be used is a problem, and what was open is closed", async () => {
  const closed: string[] = [];
  const options = new Map([["worker", ["w1=broken"]]]);
  const open = await openClusters(options, surroundings(new Map(), closed));
  assert(open instanceof Problem);
  assert.deepEqual([open.message, closed], ["the user is missing", ["core"]]);
});

test("a namespace that is given is that of single objects, too", async () => {
  const open = await openClusters(new Map([["namespace", ["shop"]]]), surroundings(new Map(), []));
  assert(!(open instanceof Problem));
  assert.deepEqual([open.choice.namespace, open.objectNamespace], ["shop", "shop"]);
});

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

const access: Access = { cluster: "core", verb: "list", resource: leases, namespace: "podseidon-system" };

async function problemOf(changes: Partial<Access>, error: KubeError): Promise<string | undefined> {
  const read = await reading({ ...access, ...changes }, () => Promise.reject(error));
  return read.ok ? undefined : read.problem;
}

test("a right that is missing is named, with the role that has it", async () => {
  const forbidden = new KubeError("forbidden", "GET /apis: 403");
  const place = "leases.coordination.k8s.io in namespace podseidon-system";
  assert.equal(await problemOf({}, forbidden), `core: you may not list ${place}; ask for the role podseidon-look`);
  assert.equal(
    await problemOf({ verb: "patch" }, forbidden),
    `core: you may not patch ${place}; ask for the role podseidon-steer`,
  );
  assert.equal(
    await problemOf({ role: "edit", namespace: undefined, subresource: "status", name: "x" }, forbidden),
    "core: you may not list leases.coordination.k8s.io/status x; ask for the role edit",
  );
});

test("another failure is told in the words of the server, on one line", async () => {
  const error = new KubeError("serverError", "GET: 500", { status: { message: "etcd is\naway\u001b[31m" } });
  assert.equal(
    await problemOf({}, error),
    "core: cannot list leases.coordination.k8s.io in namespace podseidon-system: etcd is?away?[31m",
  );
});

test("what is no answer of a server is thrown on", async () => {
  await assert.rejects(
    reading(access, () => Promise.reject(new TypeError("a bug"))),
    TypeError,
  );
  assert.deepEqual(await reading(access, async () => 7), { ok: true, value: 7 });
});
