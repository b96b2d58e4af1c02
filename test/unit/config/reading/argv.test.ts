import assert from "node:assert/strict";
import { test } from "node:test";
import { parseArguments } from "../../../../src/config/reading/argv.ts";
import { flagNames, flags } from "../../../../src/config/flag-table.ts";

const inputs = (...argv: string[]): Record<string, unknown> => {
  const { inputs, problems } = parseArguments(argv);
  assert.deepEqual(problems, []);
  return Object.fromEntries(inputs);
};
const problem = (...argv: string[]): string => {
  const { problems } = parseArguments(argv);
  assert(problems.length > 0);
  return problems.map(({ message }) => message).join("\n");
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
    "unknown flag --wehbook-port; did you mean --webhook-port? (--help-all lists all)",
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

test("help and version are actions, but only before a double dash, and mistakes beside them are told", () => {
  const actionOf = (...argv: string[]): string => parseArguments(argv).action;
  assert.equal(actionOf("--help"), "help");
  assert.equal(actionOf("-h"), "help");
  assert.equal(actionOf("--role=webhook", "--help-all"), "help-all");
  assert.equal(actionOf("--version"), "version");
  assert.equal(actionOf("--", "--help"), "run");
  assert.equal(problem("--help", "--nope"), "unknown flag --nope (--help-all lists all)");
  assert.match(problem("x", "-h"), /^unexpected argument "x"/);
  assert.match(problem("--help=yes"), /--help takes no value/);
});

test("every unknown flag is told", () => {
  assert.equal(problem("--one", "--two").split("\n").length, 2);
});

test("print-config is a switch", () => {
  const action = (...argv: string[]): string => {
    const { action, problems } = parseArguments(argv);
    return problems[0]?.message ?? action;
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
