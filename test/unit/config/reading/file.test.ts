import assert from "node:assert/strict";
import { test } from "node:test";
import { readConfigFile } from "../../../../src/config/reading/file.ts";
import { environmentName, readEnvironment } from "../../../../src/config/reading/environment.ts";

const read = (text: string): Record<string, unknown> => {
  const { inputs, problems } = readConfigFile("f.yaml", () => text);
  assert.deepEqual(problems, []);
  return Object.fromEntries(inputs);
};
const problem = (text: string): string => {
  const { problems } = readConfigFile("f.yaml", () => text);
  const [only, ...more] = problems.map(({ message }) => message);
  assert(only !== undefined && more.length === 0, text);
  assert.doesNotMatch(only, /\n/);
  return only;
};

test("scalars are read as strings", () => {
  assert.deepEqual(read("aggregator-cell-id: 007\nklog-v: 0x10\nwebhook-dry-run: true\ncore-kube-config:\nrole: '~'"), {
    "aggregator-cell-id": "007",
    "klog-v": "0x10",
    "webhook-dry-run": "true",
    "core-kube-config": "",
    role: "~",
  });
});

test("lists and maps may be YAML lists and maps", () => {
  assert.deepEqual(read("role: [webhook, generator]\nupdate-trigger-dummy-pod-labels: {a: 1}"), {
    role: ["webhook", "generator"],
    "update-trigger-dummy-pod-labels": { a: "1" },
  });
});

test("a file without settings is empty", () => {
  assert.deepEqual(read(""), {});
  assert.deepEqual(read("# nothing\n\n  # yet\n"), {});
});

test("every kind of invalid file is one line that names the file", () => {
  assert.match(problem("a: [1"), /^file "f.yaml" is not valid YAML: .* in line 1$/);
  assert.match(problem("klog-v: 1\nklog-v: 2"), /duplicated mapping key in line 2/);
  assert.match(problem("- klog-v"), /is not a map/);
  assert.match(problem("klog-v"), /is not a map/);
  assert.match(problem("klog-v: 1\n---\nklog-v: 2"), /^file "f.yaml" is not valid YAML/);
  assert.match(problem("klog-vv: 1"), /key in file "f.yaml": klog-vv; did you mean klog-v\?/);
  assert.match(problem("config: other.yaml"), /a file cannot include another/);
  assert.match(problem("core-kube-impersonate-groups: [[a]]"), /nested too deep/);
  assert.match(
    problem("webhook:\n  port: 1"),
    /key in file "f.yaml": webhook is not a flag; allowed: whole names such/,
  );
  assert.match(problem("nope: 1"), /key in file "f.yaml": nope \(--help-all lists all\)$/);
});

test("all mistakes of a file are told, and what is right is read", () => {
  const { inputs, problems } = readConfigFile("f.yaml", () => "nope: 1\nklog-v: 4\nconfig: a\nrole: [[a]]");
  assert.deepEqual([...inputs], [["klog-v", "4"]]);
  assert.equal(problems.length, 3);
});

test("an unreadable file is named with the reason", () => {
  const { problems } = readConfigFile("f.yaml", () => {
    throw new Error("EACCES: permission denied\nmore");
  });
  assert.equal(problems[0]?.message, 'cannot read --config="f.yaml": EACCES: permission denied');
});

test("the reader is told the limit of 1 MB", () => {
  let limit = 0;
  readConfigFile("f.yaml", (_path, bytesMax) => {
    limit = bytesMax;
    return "";
  });
  assert.equal(limit, 1024 * 1024);
});

test("a variable is named after its flag", () => {
  assert.equal(
    environmentName("webhook-requires-pod-name.by-cell-filter"),
    "PODSEIDON_FLAG_WEBHOOK_REQUIRES_POD_NAME_BY_CELL_FILTER",
  );
});

test("only variables with the prefix are read", () => {
  const { inputs, problems } = readEnvironment({
    PODSEIDON_FLAG_KLOG_V: "4",
    PODSEIDON_WEBHOOK_PORT: "tcp://10.0.0.1:8080",
    PODSEIDON_SERVICE_HOST: "10.0.0.1",
    KLOG_V: "9",
    PODSEIDON_FLAG_ROLE: undefined,
  });
  assert.deepEqual(problems, []);
  assert.deepEqual([...inputs], [["klog-v", "4"]]);
});

test("unknown variables with the prefix are errors that suggest the nearest one, if there is one", () => {
  const { problems } = readEnvironment({ PODSEIDON_FLAG_WEBHOK_PORT: "1", PODSEIDON_FLAG_NOPE: "1" });
  const [one, other] = problems.map(({ message }) => message);
  assert.equal(other, "unknown environment variable PODSEIDON_FLAG_NOPE (--help-all lists all flags)");
  assert.match(one ?? "", /PODSEIDON_FLAG_WEBHOK_PORT; did you mean PODSEIDON_FLAG_WEBHOOK_PORT\?/);
});

test("an empty variable counts as given", () => {
  const { inputs } = readEnvironment({ PODSEIDON_FLAG_CORE_KUBE_CONFIG: "" });
  assert.equal(inputs.get("core-kube-config"), "");
});
