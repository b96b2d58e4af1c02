import assert from "node:assert/strict";
import { test } from "node:test";
import { roles } from "../../../src/config/flag.ts";
import { load, loadBad, loadGood, type World } from "./load.ts";

interface BadInput {
  readonly argv: string;
  readonly world?: World;
  /** What the one line has to contain: the name, what is allowed, the nearest match. */
  readonly says: readonly string[];
}

const env = (name: string, value: string): World => ({ env: { [`PODSEIDON_FLAG_${name}`]: value } });
const file = (text: string): World => ({ files: { f: text } });

const badInputs: readonly BadInput[] = [
  // roles
  { argv: "", says: ["--role is required", "--role", "generator, aggregator, webhook, update-trigger"] },
  { argv: "--role=", says: ["--role is required"] },
  { argv: "--role=webhok", says: ["--role", '"webhok"', "one or more of", "did you mean webhook?"] },
  { argv: "--role=webhook,webhook", says: ["--role", "twice"] },
  { argv: "--role=webhook,,generator", says: ["--role", "empty item"] },
  { argv: "--role=Webhook", says: ["--role", "did you mean webhook?"] },
  { argv: "--klog-v=1", world: env("ROLE", "agregator"), says: ["PODSEIDON_FLAG_ROLE", "did you mean aggregator?"] },
  { argv: "--config=f", world: file("role: [generater]"), says: ["key role", "did you mean generator?"] },
  // flags of roles that do not run
  { argv: "--role=generator --webhook-port=1", says: ["--webhook-port", "role webhook", "--role=generator"] },
  { argv: "--role=webhook --worker-kube-config=a", says: ["--worker-kube-config", "aggregator or update-trigger"] },
  {
    argv: "--role=update-trigger --core-kube-config=a",
    says: ["--core-kube-config", "generator or aggregator or webhook"],
  },
  // unknown names
  { argv: "--role=webhook --webhook-prot=1", says: ["unknown flag --webhook-prot", "did you mean --webhook-port?"] },
  { argv: "--role=webhook --pprof-enabled", says: ["unknown flag --pprof-enabled", "did you mean --pprof-enable?"] },
  { argv: "--role=webhook -v", says: ["unknown flag -v"] },
  { argv: "--role=webhook --klogV=1", says: ["unknown flag --klogV", "did you mean --klog-v?"] },
  {
    argv: "--role=webhook",
    world: env("KLOG", "1"),
    says: ["PODSEIDON_FLAG_KLOG", "did you mean PODSEIDON_FLAG_KLOG_V?"],
  },
  { argv: "--role=webhook", world: env("klog_v", "1"), says: ["PODSEIDON_FLAG_klog_v"] },
  { argv: "--role=webhook", world: env("HELP", "1"), says: ["PODSEIDON_FLAG_HELP"] },
  { argv: "--role=webhook --config=f", world: file("klogv: 1"), says: ["klogv", "did you mean klog-v?"] },
  { argv: "--role=webhook --config=f", world: file("--klog-v: 1"), says: ["--klog-v", "did you mean klog-v?"] },
  // stray, repeated and missing
  { argv: "webhook", says: ['unexpected argument "webhook"', "begin with --"] },
  { argv: "--role=webhook -- --klog-v=1", says: ['unexpected argument "--klog-v=1"'] },
  { argv: "--role=webhook --webhook-dry-run false", says: ['unexpected argument "false"', "--FLAG=false"] },
  { argv: "--role=webhook --klog-v=x --klog-v=2", says: ["--klog-v", '"x"', "a whole number from 0"] },
  { argv: "--role=aggregator --generator-monitor-enable", says: ["--generator-monitor-enable", "role generator"] },
  { argv: "--role=webhook --webhook-port", says: ["--webhook-port needs a value", "a whole number from 0 to 65535"] },
  { argv: "--role=webhook --webhook-port --klog-v=1", says: ["--webhook-port needs a value"] },
  // values
  { argv: "--role=webhook --webhook-port=http", says: ["--webhook-port", '"http"', "from 0 to 65535"] },
  { argv: "--role=webhook --webhook-port=65536", says: ["--webhook-port", "out of range", "from 0 to 65535"] },
  { argv: "--role=webhook --webhook-port=080", says: ["--webhook-port", '"080"', "decimal"] },
  { argv: "--role=webhook --webhook-dry-run=yes", says: ["--webhook-dry-run", "true or false"] },
  { argv: "--role=webhook --core-kube-qps=0", says: ["--core-kube-qps", "above 0"] },
  { argv: "--role=webhook --core-kube-burst=1.5", says: ["--core-kube-burst", "whole number"] },
  {
    argv: "--role=webhook --healthz-read-header-timeout=10",
    says: ["--healthz-read-header-timeout", "no unit", "10s"],
  },
  { argv: "--role=webhook --metrics-sample-frequency=0", says: ["--metrics-sample-frequency", "above 0"] },
  { argv: "--role=webhook --healthz-bind-addr=[::1]", says: ["--healthz-bind-addr", '"[::1]"', "IP address"] },
  { argv: "--role=webhook --core-kube-master=core:6443", says: ["--core-kube-master", "http or https URL"] },
  { argv: "--role=webhook --webhook-path-prefix=podseidon", says: ["--webhook-path-prefix", "begins with /"] },
  {
    argv: "--role=webhook --webhook-requires-pod-name=allways",
    says: ["always, by-cell, never", "did you mean always?"],
  },
  { argv: "--role=webhook --webhook-handler-health-criterion-ready-key=a//b", says: ["ready-key", "annotation key"] },
  { argv: "--role=webhook --webhook-worker-client-provider.map-configs=a", says: ["map-configs", "key=value"] },
  {
    argv: "--role=webhook --default-admission-history-config-compact-threshold=0",
    says: ["compact-threshold", "from 1"],
  },
  {
    argv: "--role=aggregator --aggregator-informer-synctime-algorithm=clocks",
    says: ['"clocks"', "observed, clock, status, managed-fields, annotation", "did you mean clock?"],
  },
  {
    argv: "--role=aggregator --aggregator-informer-synctime-algorithm.annotation-key=a//b",
    says: ["annotation-key", '"a//b"', "annotation key such as"],
  },
  {
    argv: "--role=aggregator --aggregator-pod-label-selector=a>1",
    says: ["--aggregator-pod-label-selector", "label selector"],
  },
  { argv: "--role=aggregator --aggregator-cell-id=a/b", says: ["--aggregator-cell-id", '"a/b"'] },
  {
    argv: "--role=aggregator --update-trigger-dummy-pod-namespace=A",
    says: ["--update-trigger-dummy-pod-namespace", "namespace name"],
  },
  {
    argv: "--role=aggregator --update-trigger-dummy-pod-labels=a=b,a=c",
    says: ["--update-trigger-dummy-pod-labels", "twice"],
  },
  {
    argv: "--role=webhook",
    world: env("WEBHOOK_PORT", "tcp://10.0.0.1:8080"),
    says: ["PODSEIDON_FLAG_WEBHOOK_PORT", "from 0 to 65535"],
  },
  { argv: "--role=webhook --webhook-port=1", world: env("WEBHOOK_PORT", "x"), says: ["PODSEIDON_FLAG_WEBHOOK_PORT"] },
  { argv: "--role=generator", world: env("WEBHOOK_PORT", "x"), says: ["PODSEIDON_FLAG_WEBHOOK_PORT"] },
  // files
  { argv: "--role=webhook --config=missing", says: ['--config="missing"', "no such file"] },
  { argv: "--role=webhook --config=f", world: file("a: ["), says: ['file "f" is not valid YAML'] },
  { argv: "--role=webhook --config=f", world: file("- a"), says: ['file "f" is not a map'] },
  {
    argv: "--role=webhook --config=f",
    world: file("webhook-port: [1]"),
    says: ["key webhook-port", "is not a single value"],
  },
  {
    argv: "--role=webhook --config=f",
    world: file("core-kube-impersonate-groups: {a: b}"),
    says: ["is a map", "comma-separated list"],
  },
  { argv: "--role=webhook --config=f", world: file("config: g"), says: ["a file cannot include another"] },
  { argv: "--role=webhook --config=f", world: file("klog-v: 1\nklog-v: 1"), says: ["duplicated", "line 2"] },
  // combinations; combinations.test.ts has them all
  { argv: "--role=webhook --webhook-enable=false", says: ["no listener", "--webhook-https-enable"] },
  { argv: "--role=webhook --webhook-port=8081", says: ["--healthz-port and --webhook-port", "must differ"] },
];

test("every mistake is one line that names it, says what is allowed and gives the nearest match", () => {
  assert(badInputs.length >= 40);
  for (const { argv, world = {}, says } of badInputs) {
    const message = loadBad(argv === "" ? [] : argv.split(" "), world);
    assert.match(message, /^[\x20-\x7e]+$/, argv);
    for (const part of says) assert(message.includes(part), `${argv}: "${part}" is missing in: ${message}`);
  }
});

test("a value with line breaks cannot break the line, and a password does not appear in it", () => {
  const message = loadBad(["--role=webhook", "--core-kube-master=ftp://me:secret@host\nforged line"]);
  assert.doesNotMatch(message, /\n|secret/);
});

test("the command line takes precedence over the environment, that over the file, and that over the default", () => {
  const world = {
    env: { PODSEIDON_FLAG_KLOG_V: "2", PODSEIDON_FLAG_CONFIG: "/env.yaml" },
    files: { "/env.yaml": "klog-v: 3\nhealthz-port: 33", "/flag.yaml": "klog-v: 5\nhealthz-port: 55" },
  };
  const all = loadGood(["--role=generator", "--klog-v=1"], world);
  assert.equal(all.log.verbosity, 1);
  assert.equal(all.healthz.http.port, 33);
  assert.equal(all.prometheusHTTP.http.port, 9090);
  assert.equal(loadGood(["--role=generator"], world).log.verbosity, 2);
  assert.equal(loadGood(["--role=generator", "--config=/flag.yaml"], world).healthz.http.port, 55);
  assert.equal(loadGood(["--role=generator", "--config=/flag.yaml"], { files: world.files }).log.verbosity, 5);
});

test("role and config may come from the environment, the role also from the file", () => {
  const config = loadGood([], { env: { PODSEIDON_FLAG_CONFIG: "f" }, files: { f: "role: webhook,generator" } });
  assert.deepEqual([...config.roles], ["webhook", "generator"]);
  assert(loadGood([], { env: { PODSEIDON_FLAG_ROLE: "aggregator" } }).roles.has("aggregator"));
});

test("flags of other roles are accepted from the environment and the file, which several roles may share", () => {
  loadGood(["--role=generator", "--config=f"], {
    env: { PODSEIDON_FLAG_WEBHOOK_PORT: "1" },
    files: { f: "aggregator-cell-id: a" },
  });
});

test("each role starts beside Services that have its name", () => {
  const hostile: Record<string, string> = {};
  for (const service of [
    "PODSEIDON",
    "PODSEIDON_WEBHOOK",
    "PODSEIDON_GENERATOR",
    "PODSEIDON_AGGREGATOR",
    "PODSEIDON_ROLE",
  ]) {
    hostile[`${service}_PORT`] = "tcp://10.0.0.1:8080";
    hostile[`${service}_SERVICE_HOST`] = "10.0.0.1";
    hostile[`${service}_SERVICE_PORT`] = "8080";
    hostile[`${service}_PORT_8080_TCP`] = "tcp://10.0.0.1:8080";
    hostile[`${service}_PORT_8080_TCP_ADDR`] = "10.0.0.1";
  }
  for (const role of roles)
    assert.deepEqual(loadGood([`--role=${role}`], { env: hostile }), loadGood([`--role=${role}`]), role);
});

test("--help and --version need no role, read the command line alone, and tell mistakes in it", () => {
  const world = { env: { PODSEIDON_FLAG_WEBHOOK_PORT: "x", PODSEIDON_FLAG_ROLE: "generator" } };
  assert.deepEqual(load(["--version"], world), { kind: "version" });
  assert.deepEqual(load(["--help"], world), { kind: "help", roles: new Set(), isWhole: false });
  const all = { kind: "help", roles: new Set(["webhook"]), isWhole: true };
  assert.deepEqual(load(["--role=webhook", "--help-all"], world), all);
  assert.match(loadBad(["--help", "--nope"]), /^unknown flag --nope/);
  assert.match(loadBad(["--role=webhok", "--help"]), /did you mean webhook\?$/);
});

test("the mistakes of all sources are told at once, each in a line of its own", () => {
  const lines = loadBad(["--role=webhook", "--klog-v=x", "--nope=1", "--config=f"], {
    env: { PODSEIDON_FLAG_WEBHOOK_PORT: "http", PODSEIDON_FLAG_NIX: "1" },
    files: { f: "healthz-port: -1\nwebhok-port: 1" },
  }).split("\n");
  assert.deepEqual(
    lines.map((line) => /^[^:(;]+/.exec(line)?.[0].trim()),
    [
      "unknown flag --nope",
      "unknown environment variable PODSEIDON_FLAG_NIX",
      'unknown key in file "f"',
      'key healthz-port in file "f"',
      "environment variable PODSEIDON_FLAG_WEBHOOK_PORT",
      "flag --klog-v",
    ],
  );
  const rules = loadBad(["--role=webhook,aggregator", "--webhook-enable=false", "--aggregator-settle-window=1s"]);
  assert.equal(rules.split("\n").length, 2);
});

test("a file of another program is not told to its end", () => {
  const text = Array.from({ length: 30 }, (_, index) => `key-${index}: 1`).join("\n");
  const lines = loadBad(["--role=webhook", "--config=f"], { files: { f: text } }).split("\n");
  assert.equal(lines.length, 21);
  assert.equal(lines.at(-1), "and 10 more mistakes");
});

test("nothing is suggested that is only as long as what was typed", () => {
  const unsuggested = [["--webhook-dry-run=maybe"], ["--nope"], ["--role=nothing"], ["--config=f"]];
  for (const argv of unsuggested)
    assert.doesNotMatch(loadBad(["--role=webhook", ...argv], file("nope: 1")), /did you mean/, argv.join(" "));
});

test("plain HTTP for reviews is off beyond loopback unless it is asked for, wherever that is said", () => {
  const isOn = (argv: readonly string[], env: Readonly<Record<string, string>> = {}): boolean =>
    loadGood([...https, ...argv], { env }).webhook.server.http.enable;
  const https = [
    "--role=webhook",
    "--webhook-https-enable",
    "--webhook-https-cert-file=c",
    "--webhook-https-key-file=k",
  ];
  for (const address of ["::1", "127.0.0.1", "127.0.0.9", "localhost"])
    assert.equal(isOn([`--webhook-bind-addr=${address}`]), true, address);
  for (const address of ["::", "", "0.0.0.0", "10.0.0.1", "host.example.com"]) {
    assert.equal(isOn([`--webhook-bind-addr=${address}`]), false, address);
    assert.equal(isOn([`--webhook-bind-addr=${address}`, "--webhook-enable"]), true, address);
  }
  assert.equal(isOn([], { PODSEIDON_FLAG_WEBHOOK_BIND_ADDR: "::" }), false, "as in the image");
  assert.equal(isOn([], { PODSEIDON_FLAG_WEBHOOK_BIND_ADDR: "::", PODSEIDON_FLAG_WEBHOOK_ENABLE: "true" }), true);
});
