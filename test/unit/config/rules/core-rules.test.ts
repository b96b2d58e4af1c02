import assert from "node:assert/strict";
import { test } from "node:test";
import { load, loadGood } from "../load.ts";

const map = "--podprotector-source-provider=map";
const two = [map, "--podprotector-source-provider.map-configs=east=/east,west=/west"];

const impossible: readonly (readonly [string, readonly string[], RegExp])[] = [
  ["webhook", [map], /requires at least one core in --podprotector-source-provider\.map-configs$/],
  ["webhook", [...two, "--core-kube-config=/core"], /--core-kube-config is allowed only with .*=core-only; name that/],
  ["aggregator", [...two, "--core-kube-master=http://x"], /--core-kube-master is allowed only with .*=core-only/],
  ["webhook", [two[1] ?? ""], /map-configs is allowed only with --podprotector-source-provider=map, but it is core-/],
  ["webhook", ["--podprotector-source-provider.map-masters=a=http://x"], /map-masters is allowed only with/],
  [
    "webhook",
    [...two, "--podprotector-source-provider.map-masters=north=http://x"],
    /map-masters contains the core north, but .*map-configs does not; allowed: east, west$/,
  ],
  [
    "webhook",
    [map, "--podprotector-source-provider.map-configs=east=/same,west=/same"],
    /map-configs: east and west are the same cluster; name it once$/,
  ],
  ["generator", two, /several cores are configured: set --generator-core .*; allowed: east, west$/],
  [
    "generator",
    [...two, "--generator-core=north"],
    /--generator-core is north, which is not configured; allowed: east/,
  ],
  ["generator", ["--generator-core=east"], /--generator-core is east, which is not configured; allowed: core$/],
  [
    "webhook",
    [...two, "--webhook-core-unavailable-policy.by-core=north=refuse"],
    /by-core contains the core north, which is not configured; allowed: east, west$/,
  ],
  ["webhook", [...two, "--webhook-core-unavailable-policy.by-core=east=maybe"], /"maybe", which is not one of refuse/],
  [
    "webhook",
    [map, "--podprotector-source-provider.map-configs=East=/x"],
    /"East", which is not a valid name of a core/,
  ],
];

test("flags about cores that contradict each other are refused, and the message says what is allowed", () => {
  for (const [role, argv, message] of impossible) {
    const loaded = load([`--role=${role}`, ...argv]);
    assert.match(loaded.kind === "error" ? loaded.message : `loaded as ${loaded.kind}`, message);
  }
});

test("a generator may be given the flags of the other roles once it is told which core is its own", () => {
  assert.equal(loadGood(["--role=generator", ...two, "--generator-core=west"]).generator.core, "west");
});
