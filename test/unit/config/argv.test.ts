import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArguments } from "../../../src/config/argv.ts";
import { flagNames, flags } from "../../../src/config/flag-table.ts";
import { Problem } from "../../../src/config/problem.ts";

const inputs = (...argv: string[]): Record<string, unknown> => {
  const parsed = parseArguments(argv);
  assert(!(parsed instanceof Problem), parsed instanceof Problem ? parsed.message : "");
  return Object.fromEntries(parsed.inputs);
};
const problem = (...argv: string[]): string => {
  const parsed = parseArguments(argv);
  assert(parsed instanceof Problem);
  return parsed.message;
};

test("values arrive exactly as they were written", () => {
  for (const value of [
    "007",
    "0x10",
    "1e3",
    "+5",
    "12345678901234567890",
    "",
    "-1",
    "-abc",
    "a=b",
    "true",
    "no-x",
    "a\nb",
    "\u0001",
    "--x",
    "ü",
  ]) {
    assert.deepEqual(inputs(`--core-kube-user-agent=${value}`), { "core-kube-user-agent": value });
    if (value.startsWith("--")) continue;
    assert.deepEqual(inputs("--core-kube-user-agent", value), { "core-kube-user-agent": value });
  }
});

test("a switch needs no value and does not take the next argument", () => {
  assert.deepEqual(inputs("--webhook-dry-run"), { "webhook-dry-run": "true" });
  assert.deepEqual(inputs("--webhook-dry-run=false"), { "webhook-dry-run": "false" });
  assert.equal(problem("--webhook-dry-run", "false"), 'unexpected argument "false": write --FLAG=false');
});

test("a flag whose name begins with that of another flag is never mistaken for it, in either order", () => {
  const raw = (name: (typeof flagNames)[number], value: string): string =>
    flags[name].type.shape === "switch" ? "true" : value;
  let pairs = 0;
  for (const short of flagNames) {
    for (const long of flagNames) {
      if (short === long || !long.startsWith(short)) continue;
      pairs += 1;
      const given = { [short]: raw(short, "x"), [long]: raw(long, "y") };
      const [one, other] = [`--${short}=${given[short]}`, `--${long}=${given[long]}`];
      assert.deepEqual(inputs(one, other), given, `${short} before ${long}`);
      assert.deepEqual(inputs(other, one), given, `${long} before ${short}`);
    }
  }
  assert(pairs >= 20, "the table has flags with a dot below another flag");
});

test("a repeated list or map adds up; of any other repeated flag the last value counts", () => {
  assert.deepEqual(inputs("--core-kube-impersonate-groups=a", "--core-kube-impersonate-groups", "b,c"), {
    "core-kube-impersonate-groups": "a,b,c",
  });
  assert.deepEqual(inputs("--klog-v=1", "--healthz-port=1", "--klog-v", "2", "--klog-v=3"), {
    "klog-v": "3",
    "healthz-port": "1",
  });
  assert.deepEqual(inputs("--webhook-dry-run", "--webhook-dry-run=false"), { "webhook-dry-run": "false" });
  assert.deepEqual(inputs("--core-kube-config=a", "--core-kube-config="), { "core-kube-config": "" });
});

test("a value that a later one overrides must be valid too", () => {
  assert.equal(
    problem("--webhook-port=http", "--webhook-port=1"),
    'flag --webhook-port: "http" is not a whole number in decimal notation; allowed: a whole number from 0 to 65535',
  );
});

test("other spellings of a flag are unknown, not silently the same", () => {
  for (const argument of [
    "--klogV=1",
    "--klog_v=1",
    "--KLOG-V=1",
    "-klog-v=1",
    "---klog-v=1",
    "--no-webhook-dry-run",
    "--=1",
    "-v",
    "--__proto__=1",
    "--constructor=1",
    "--role.x=1",
  ]) {
    assert.match(problem(argument), /^unknown flag /, argument);
  }
});

test("the nearest flag is suggested for a misspelled one, even when its value is a separate argument", () => {
  assert.equal(
    problem("--wehbook-port", "80"),
    "unknown flag --wehbook-port; did you mean --webhook-port? (--help lists all)",
  );
});

test("a missing value is not filled with the next flag", () => {
  assert.match(
    problem("--webhook-port", "--webhook-dry-run"),
    /^flag --webhook-port needs a value: --webhook-port=PORT/,
  );
  assert.match(problem("--config"), /^flag --config needs a value/);
});

test("positional arguments are refused, also after a double dash and when they are empty", () => {
  assert.match(problem("webhook"), /^unexpected argument "webhook"/);
  assert.match(problem("--", "--role=webhook"), /^unexpected argument "--role=webhook"/);
  assert.match(problem(""), /^unexpected argument ""/);
  assert.match(problem("-"), /^unexpected argument "-"/);
});

test("help and version take precedence over mistakes, but only before a double dash", () => {
  for (const argv of [
    ["--help", "--bogus"],
    ["x", "-h"],
  ]) {
    const parsed = parseArguments(argv);
    assert(!(parsed instanceof Problem) && parsed.action === "help");
  }
  const version = parseArguments(["--version"]);
  assert(!(version instanceof Problem) && version.action === "version");
  assert(parseArguments(["--", "--help"]) instanceof Problem);
});

test("print-config is a switch", () => {
  const action = (...argv: string[]): string => {
    const parsed = parseArguments(argv);
    return parsed instanceof Problem ? parsed.message : parsed.action;
  };
  assert.equal(action("--print-config"), "print-config");
  assert.equal(action("--print-config=false"), "run");
  assert.match(action("--print-config=yes"), /allowed: true or false/);
  assert.equal(action("--print-config", "--print-config=false"), "run");
  assert.equal(action("--print-config=false", "--print-config"), "print-config");
  assert.match(action("--print-config=yes", "--print-config"), /"yes" is invalid; allowed: true or false/);
});

test("an absurd number of arguments is refused", () => {
  assert.match(problem(...Array.from({ length: 10_001 }, () => "--klog-v=1")), /at most 10000 are allowed/);
});
