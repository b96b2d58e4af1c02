import assert from "node:assert/strict";
import { test } from "node:test";
import { environmentName } from "../../../src/config/reading/environment.ts";
import { roles } from "../../../src/config/flag.ts";
import { flagNames, flags, isFlagName, isUsedBy } from "../../../src/config/flag-table.ts";

test("every default is a value that the flag itself accepts and reads back", () => {
  for (const name of flagNames) {
    if (name === "role") continue; // required: its default is no choice
    const { type, default: value } = flags[name];
    assert.deepEqual(type.parse(type.format(value)), { ok: true, value }, name);
  }
});

test("no two flags share an environment variable", () => {
  assert.equal(new Set(flagNames.map(environmentName)).size, flagNames.length);
});

test("every flag belongs to a role and has a help that is a sentence", () => {
  for (const name of flagNames) {
    assert(flags[name].group.roles.length > 0, name);
    assert.match(flags[name].help, /^[A-Z/].*\.$/, name);
  }
});

test("flags of one group stand together, so that headings are not repeated", () => {
  const titles = flagNames
    .map((name) => flags[name].group.title)
    .filter((title, index, all) => title !== all[index - 1]);
  assert.equal(new Set(titles).size, titles.length);
});

test("names of properties of Object are not flags", () => {
  assert(isFlagName("role"));
  for (const name of ["constructor", "__proto__", "toString"]) assert(!isFlagName(name));
});

test("a flag is used by the roles of its group", () => {
  assert(isUsedBy("webhook-port", new Set(["generator", "webhook"])));
  assert(!isUsedBy("webhook-port", new Set(["generator"])));
  for (const role of roles) assert(isUsedBy("healthz-port", new Set([role])));
});
