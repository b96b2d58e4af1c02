import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { parseEnv } from "node:util";
import { roles } from "../../src/config/flag.ts";
import { loadConfig } from "../../src/config/load-config.ts";
import { type Deployment, onlyOne, render } from "../manifests/manifest-files.ts";
import { unitCommandLine, unitExposure } from "./systemd.ts";

const folder = path.join(import.meta.dirname, "../../manifests/systemd");
const unit = readFileSync(path.join(folder, "podseidon@.service"), "utf8");
/**
 * The unit's settings; a key that comes twice would hide one of its values. The filter of system calls has two: what is
 * allowed, and what is taken from that.
 */
const settings = unit
  .split("\n")
  .filter((line) => line.includes("=") && !line.startsWith("#"))
  .map((line): [string, string] => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]);
const setting = new Map(settings);

function settingsOf(role: string) {
  const env = parseEnv(readFileSync(path.join(folder, `${role}.env`), "utf8"));
  const argv = unitCommandLine(role).slice(1);
  const readFile = (): string => assert.fail("no example names a configuration file");
  const loaded = loadConfig({ argv, env, readFile });
  if (loaded.kind !== "config") assert.fail(`${role}: ${loaded.kind === "error" ? loaded.message : loaded.kind}`);
  return { env, effective: new Map<string, { readonly value: unknown }>(loaded.effective) };
}

for (const role of roles) {
  test(`the program starts as ${role} from the unit's command line and the example environment file`, () => {
    const { effective } = settingsOf(role);
    assert.deepEqual(effective.get("role")?.value, [role]);
  });

  test(`the example of ${role} sets nothing that another variable could set by accident`, () => {
    for (const name of Object.keys(settingsOf(role).env)) assert.match(name, /^PODSEIDON_FLAG_[A-Z_]+$/);
  });
}

test("the generator leaves Podseidon's own Deployments alone, as its manifest makes it do", () => {
  const flag = "deployment-plugin-protection-selector";
  const { containers } = onlyOne<Deployment>(render("base/generator"), "Deployment").spec.template.spec;
  const argument = containers[0].args.find((arg) => arg.startsWith(`--${flag}=`));
  const variable = settingsOf("generator").env[`PODSEIDON_FLAG_${flag.toUpperCase().replaceAll("-", "_")}`];
  assert.equal(variable, "app.kubernetes.io/name!=podseidon");
  assert.equal(argument, `--${flag}=${variable}`);
});

test("all four examples can run on one host: no two listen on the same port", () => {
  const ports = roles.flatMap((role) => {
    const { effective } = settingsOf(role);
    const servers = role === "webhook" ? ["webhook", "healthz", "prometheus-http"] : ["healthz", "prometheus-http"];
    return servers.flatMap((server) => {
      const value = (flag: string): unknown => effective.get(`${server}-${flag}`)?.value;
      return [
        ...(value("enable") === true ? [value("port")] : []),
        ...(value("https-enable") === true ? [value("https-port")] : []),
      ];
    });
  });
  assert.ok(ports.length >= roles.length * 2);
  assert.equal(new Set(ports).size, ports.length, ports.join(" "));
});

test("the unit is hardened, but lets V8 write machine code", () => {
  const filters = settings.filter(([key]) => key === "SystemCallFilter").map(([, value]) => value);
  assert.deepEqual(filters, ["@system-service", "~@privileged @resources"]);
  assert.equal(settings.length - 1, setting.size, "no other key comes twice");
  assert.ok(setting.has("MemoryMax"));
  assert.ok(!setting.has("MemoryDenyWriteExecute"));
  for (const key of [
    "DynamicUser",
    "NoNewPrivileges",
    "PrivateTmp",
    "PrivateDevices",
    "ProtectHome",
    "RestrictNamespaces",
  ])
    assert.equal(setting.get(key), "yes", key);
  assert.equal(setting.get("ProtectSystem"), "strict");
  assert.equal(setting.get("CapabilityBoundingSet"), "");
});

test("the unit restarts after every end except a wrong setting", () => {
  assert.equal(setting.get("Restart"), "always");
  assert.equal(setting.get("RestartPreventExitStatus"), "2");
  assert.equal(setting.get("StartLimitIntervalSec"), "0");
});

const exposure = unitExposure();
const untold = exposure === undefined && "not run here: no systemd-analyze that reads units offline (systemd 250)";
test("systemd scores the unit 1.7 at most", { skip: untold }, () => {
  assert.ok(exposure !== undefined && exposure > 0 && exposure <= 1.7, `exposure ${exposure}`);
});
