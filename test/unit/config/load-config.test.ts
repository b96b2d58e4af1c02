import assert from "node:assert/strict";
import { test } from "node:test";
import { roles } from "../../../src/config/flag.ts";
import { load, loadBad, loadGood, type World } from "./load.ts";

const file = (text: string): World => ({ files: { f: text } });

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
