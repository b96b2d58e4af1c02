import assert from "node:assert/strict";
import { test } from "node:test";
import { hostOf, type Part, readInstallOptions } from "../../../../src/commands/install/options.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";

function read(part: Part, options: Readonly<Record<string, string>>) {
  return readInstallOptions(part, new Map(Object.entries(options).map(([name, value]) => [name, [value]])));
}

function problemOf(part: Part, options: Readonly<Record<string, string>>): string {
  const found = read(part, options);
  return found instanceof Problem ? found.message : "";
}

test("every mistake names the option, the value and what is allowed", () => {
  const mistakes: readonly (readonly [Part, Readonly<Record<string, string>>, RegExp])[] = [
    ["core", { output: "xml" }, /--output: "xml" is unknown; allowed: table, json or yaml/],
    ["core", { callers: "all" }, /--callers: "all" is unknown; allowed: certificates or network/],
    ["core", { image: "a b" }, /--image: "a b" is no reference of an image; allowed: a reference such as/],
    ["core", { image: "podseidon.invalid/podseidon:0.1.0" }, /is what no registry has/],
    ["core", { "webhook-address": "https://x" }, /--webhook-address: "https:\/\/x" is no address .*; allowed: HOST/],
    ["core", { "webhook-address": "x:70000" }, /"x:70000" is no address .*with a port from 1 to 65535/],
    ["systemd", { output: "yaml" }, /--output means nothing for systemd; it is for core, worker, single/],
    ["worker", { "core-server": "http://x", worker: "a=b" }, /--core-server: "http:\/\/x" is no https URL; allowed:/],
    [
      "worker",
      { "token-lifetime": "5m", worker: "a=b" },
      /--token-lifetime: "5m" is out of range; allowed: a duration/,
    ],
    ["worker", { "token-lifetime": "soon", worker: "a=b" }, /"soon" is no duration/],
    ["worker", {}, /give one --worker CELL=CONTEXT at a time/],
    ["worker", { worker: "A_b=c" }, /the cell "A_b" is no name for an account; allowed: lower-case/],
    ["worker", { worker: "a.token=c" }, /not ending in \.token/],
    ["core", { cells: "a", image: "x" }, /--cells goes with -o yaml/],
    ["core", { cells: "a,a", output: "yaml" }, /--cells: "a" stands twice; allowed: each name once/],
    ["core", { cells: "a,", output: "yaml" }, /--cells: "" is no name of a cell/],
    ["single", { "webhook-address": "x" }, /--webhook-address means nothing for single; it is for core, worker/],
    ["core", { worker: "a=b" }, /--worker means nothing for core; it is for worker/],
  ];
  for (const [part, options, expected] of mistakes) assert.match(problemOf(part, options), expected);
});

test("a token is for a week unless it is said", () => {
  const [usual, long] = [
    read("worker", { worker: "a=b" }),
    read("worker", { worker: "a=b", "token-lifetime": "720h" }),
  ];
  assert.ok(!(usual instanceof Problem) && !(long instanceof Problem));
  assert.deepEqual([usual.tokenSeconds, usual.cell, long.tokenSeconds], [604_800, "a", 2_592_000]);
});

test("the host of an address is found with and without a port", () => {
  const hosts = ["a.example.com", "a.example.com:8443", "10.0.0.1:1", "[fd00::1]:443", "[fd00::1]"].map(hostOf);
  assert.deepEqual(hosts, ["a.example.com", "a.example.com", "10.0.0.1", "fd00::1", "fd00::1"]);
  for (const bad of ["", "a b", "a:0", "a:70000", "[10.0.0.1]", "A.example.com", "300.0.0.1", "a/b", "-a"])
    assert.equal(hostOf(bad), undefined, bad);
});
