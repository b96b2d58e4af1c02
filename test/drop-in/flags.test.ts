/** The command line of upstream: every one of its flags, and the arguments that its chart gives. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArguments } from "../../src/config/reading/argv.ts";
import { ignoredSettings } from "../../src/config/pages/effective.ts";
import { flagNames, flags, isFlagName, type FlagName } from "../../src/config/flag-table.ts";
import { load, loadBad, loadGood } from "../unit/config/load.ts";
import { chartArguments, plainWebhookArguments, updateTriggerArguments } from "./chart-arguments.ts";
import upstreamFlags from "./upstream-flags.json" with { type: "json" };

/** Valid values of each of upstream's types, in the spellings that Go reads. */
const valuesOfType: Readonly<Record<string, readonly string[]>> = {
  bool: ["true", "false", "TRUE", "False", "t", "F", "1", "0"],
  string: ["x"],
  strings: ["", "x", "x,y"],
  map: ["", "x=1", "x=1,y=2"],
  selector: ["", "x=1", "x in (y,z),!w", "x!=y"],
  duration: ["100ms", "10s", "1m30s", "1.5h", "500us"],
  int: ["1", "+1"],
  int32: ["1", "2147483647"],
  uint16: ["0", "65535"],
  uint64: ["0", "1800"],
  float: ["1", "0.5", ".5", "1e1"],
  Level: ["0", "4", "10"],
  severity: ["0", "3", "INFO", "warning", "Error", "FATAL"],
  moduleSpec: ["", "x=1", "x=1,y*=2,"],
  traceLocation: ["", "main.go:12"],
};

/** Where not every string is a value. */
function valuesOf(name: string, type: string): readonly string[] {
  if (name.endsWith("-master")) return ["", "https://example.com:6443", "http://127.0.0.1:8001"];
  if (name.endsWith("map-masters")) return ["", "x=https://example.com:6443"];
  if (name.endsWith("map-configs")) return ["", "x=", "x=/kube/x,y=/kube/y"];
  if (name === "webhook-path-prefix") return ["", "/x"];
  if (name === "podprotector-source-provider") return ["core-only"];
  if (name === "webhook-requires-pod-name") return ["always", "by-cell", "never"];
  if (name === "webhook-worker-client-provider") return ["map", "none", "single"];
  if (name === "aggregator-informer-synctime-algorithm") return ["clock", "status"];
  return valuesOfType[type] ?? assert.fail(`no values of the type ${type}`);
}

function read(name: FlagName, ...argv: readonly string[]): unknown {
  const { inputs, problems } = parseArguments(argv);
  assert.deepEqual(problems, []);
  const input = inputs.get(name);
  assert(input !== undefined, argv.join(" "));
  const value = flags[name].type.parse(input);
  assert(value.ok, `${argv.join(" ")}: ${value.ok ? "" : value.problem}`);
  return value.value;
}

const knownFlags = upstreamFlags.map(({ name, type, default: text, programs }) => {
  assert(isFlagName(name), `--${name} is not a flag`);
  return { name, type, text, programs };
});

test("each flag of one of upstream's programs is one of the role that does its work", () => {
  for (const { name, programs } of knownFlags) {
    const takers: readonly string[] = flags[name].group.roles;
    assert.deepEqual([...new Set(programs).difference(new Set(takers))], [], `--${name}`);
  }
});

test("each of upstream's 148 flags reads the values of its type, in both spellings of a value", () => {
  assert.equal(new Set(knownFlags.map(({ name }) => name)).size, 148);
  for (const { name, type } of knownFlags) {
    for (const value of valuesOf(name, type)) {
      const joined = read(name, `--${name}=${value}`);
      if (type !== "bool") assert.deepEqual(read(name, `--${name}`, value), joined, name);
    }
    if (type === "bool") assert.equal(read(name, `--${name}`), true, name);
  }
});

test("of a flag of upstream that is given twice, the last value counts, unless it is a list or map", () => {
  for (const { name, type } of knownFlags) {
    if (type === "strings" || type === "map") continue;
    const values = valuesOf(name, type);
    const [first = "", last = first] = [values[0], values.at(-1)];
    assert.deepEqual(read(name, `--${name}=${first}`, `--${name}=${last}`), read(name, `--${name}=${last}`), name);
  }
});

test("defaults are upstream's, except for those that docs/compatibility.md#changed-defaults lists", () => {
  const changed = [
    "aggregator-informer-synctime-algorithm",
    // Empty: upstream's name for the cell default, another one for each other cell.
    "aggregator-leader-elector-name",
    "default-admission-history-config-aggregation-rate",
    "generator-worker-concurrency",
    "pprof-enable",
    "update-trigger-enable",
    // klog shows a line that is not set as ":0", and does not read it.
    "klog-log-backtrace-at",
  ];
  for (const { name, text } of knownFlags) {
    if (changed.includes(name) || /-(qps|burst)$/.test(name)) continue;
    assert.deepEqual(flags[name].type.parse(text), { ok: true, value: flags[name].default }, name);
  }
});

test("the flags without effect are upstream's, and only rates of pprof, klog and resyncs have none", () => {
  const names = flagNames.filter((name) => flags[name].ignored !== undefined);
  for (const name of names) {
    assert(knownFlags.some((upstream) => upstream.name === name));
    assert.match(flags[name].ignored ?? "", /^[A-Z].*\.$/);
  }
  assert.equal(names.filter((name) => name.startsWith("pprof-")).length, 2);
  assert.equal(names.filter((name) => name.startsWith("klog-")).length, 14);
  const others = names.filter((name) => !/^(pprof|klog)-/.test(name));
  assert.deepEqual(others, ["aggregator-pod-relist-period"]);
});

test("values of upstream that would mean another behaviour are refused, with what is allowed", () => {
  const message = (role: string, flag: string): string => {
    const loaded = load([`--role=${role}`, flag]);
    return loaded.kind === "error" ? loaded.message : `loaded as ${loaded.kind}`;
  };
  assert.equal(
    message("aggregator", "--aggregator-pod-informer-shards=2"),
    'flag --aggregator-pod-informer-shards: "2" is out of range; allowed: only 1: one informer lists 100,000 pods in ' +
      "two seconds, and several have no common version to settle by",
  );
  assert.match(
    message("webhook", "--podprotector-source-provider=multi"),
    /"multi" is invalid; allowed: one of core-only, map/,
  );
  assert.match(message("webhook", "--pprof-port=65536"), /--pprof-port: "65536" is out of range/);
});

const argumentSets: readonly (readonly [keyof typeof chartArguments, readonly string[]])[] = [
  ["generator", chartArguments.generator],
  ["aggregator", chartArguments.aggregator],
  ["aggregator", [...chartArguments.aggregator, ...updateTriggerArguments]],
  ["webhook", chartArguments.webhook],
  ["webhook", [...plainWebhookArguments, "--webhook-enable"]],
];

test("the one set of arguments of upstream's chart that opens plain HTTP to everybody has to say so", () => {
  assert.match(
    loadBad(["--role=webhook", ...plainWebhookArguments]),
    /^the webhook has no listener: .*\(HTTP on --webhook-bind-addr=::, beyond loopback, is off unless /,
  );
});

test("the arguments of upstream's chart are accepted unchanged, with the role from the environment", () => {
  for (const [role, argv] of argumentSets) {
    const env = { PODSEIDON_FLAG_ROLE: role };
    const loaded = load(argv, { env });
    assert(loaded.kind === "config", loaded.kind === "error" ? loaded.message : loaded.kind);
    assert.deepEqual([...loaded.config.roles], [role]);
    assert.equal(loaded.config.cores.get("core")?.userAgent, `podseidon-${role}`);
    const ignored = Object.keys(ignoredSettings(loaded.effective, loaded.config.roles)).toSorted();
    assert.deepEqual(ignored, ["pprof-block-profile", "pprof-mutex-profile"]);
    assert.equal(loaded.config.pprof.http.enable, true);
  }
});

test("the settings that --print-config shows for them mean the same as a file", () => {
  for (const [role, argv] of argumentSets) {
    const env = { PODSEIDON_FLAG_ROLE: role };
    const printed = load([...argv, "--print-config"], { env });
    assert(printed.kind === "printConfig");
    assert.deepEqual(loadGood(["--config=f"], { files: { f: printed.text } }), loadGood(argv, { env }));
  }
});
