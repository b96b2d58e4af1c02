import assert from "node:assert/strict";
import { test } from "node:test";
import { changedSettings, ignoredSettings } from "../../../../src/config/index.ts";
import { load, loadGood } from "../load.ts";

const argv = ["--role=webhook", "--webhook-port=1", "--core-kube-master=https://me:secret@core:6443"];
const world = {
  env: {
    PODSEIDON_FLAG_WEBHOOK_DRY_RUN: "t",
    PODSEIDON_FLAG_CONFIG: "/f.yaml",
    PODSEIDON_FLAG_AGGREGATOR_CELL_ID: "c",
  },
  files: {
    "/f.yaml":
      "klog-v: 4\nwebhook-port: 2\n" +
      "webhook-requires-pod-name: by-cell\nwebhook-requires-pod-name.by-cell-filter: [a, b]",
  },
};
const printed = (): string => {
  const loaded = load(["--print-config", ...argv], world);
  assert(loaded.kind === "printConfig");
  return loaded.text;
};

test("each setting is printed with where it comes from", () => {
  const lines = printed().split("\n");
  assert(lines.includes("webhook-port: 1  # flag"));
  assert(lines.includes("webhook-dry-run: true  # env PODSEIDON_FLAG_WEBHOOK_DRY_RUN"));
  assert(lines.includes('klog-v: 4  # file "/f.yaml"'));
  assert(lines.includes('webhook-requires-pod-name.by-cell-filter: ["a","b"]  # file "/f.yaml"'));
  assert(lines.includes('healthz-bind-addr: "::1"  # default'));
});

test("settings of roles that do not run are not printed", () => {
  assert.doesNotMatch(printed(), /^aggregator-|^generator-/m);
});

test("passwords are hidden in the printed settings and in the log", () => {
  assert.match(printed(), /core-kube-master: "https:\/\/\*\*\*@core:6443"/);
  assert.doesNotMatch(printed(), /secret/);
  const loaded = load(argv, world);
  assert(loaded.kind === "config");
  const changed = changedSettings(loaded.effective);
  assert.equal(changed["core-kube-master"], "https://***@core:6443");
  assert.equal(changed["webhook-port"], "1");
  assert.equal(changed["healthz-port"], undefined);
});

test("passwords in a map of URLs are hidden too", () => {
  const provider = "--webhook-worker-client-provider";
  const loaded = load([
    "--print-config",
    "--role=webhook",
    `${provider}=map`,
    `${provider}.map-configs=a=`,
    `${provider}.map-masters=a=https://u:secret@a`,
  ]);
  assert(loaded.kind === "printConfig");
  assert.match(loaded.text, /map-masters: \{"a":"https:\/\/\*\*\*@a"\}/);
});

test("the printed settings can be loaded and have the same meaning", () => {
  const provider = "--webhook-worker-client-provider";
  const all = [
    "--role=generator,aggregator,webhook",
    "--aggregator-pod-label-selector=a in (b,c),!d",
    "--update-trigger-dummy-pod-annotations=a=b c,d=",
    "--aggregator-cell-id=007",
    "--webhook-handler-cold-start-delay=1500us",
    `${provider}=map`,
    `${provider}.map-configs=a=/x y,true=`,
  ];
  const loaded = load(["--print-config", ...all]);
  assert(loaded.kind === "printConfig");
  const again = loadGood(["--config=/p.yaml"], { files: { "/p.yaml": loaded.text } });
  assert.deepEqual(again, loadGood(all));
});

test("a flag without effect is printed, and named with the reason, only if it is set and the role takes it", () => {
  const given = ["--role=webhook", "--pprof-mutex-profile=1", "--klog-log-dir="];
  const world = { env: { PODSEIDON_FLAG_KLOG_VMODULE: "", PODSEIDON_FLAG_GENERATOR_MONITOR_ENABLE: "true" } };
  const printed = load(["--print-config", ...given], world);
  assert(printed.kind === "printConfig");
  assert.deepEqual(
    printed.text.split("\n").filter((line) => /^(pprof-(block|mutex)|klog|generator)-/.test(line)),
    [
      "klog-v: 0  # default",
      "pprof-mutex-profile: 1  # flag",
      'klog-vmodule: ""  # env PODSEIDON_FLAG_KLOG_VMODULE',
      'klog-log-dir: ""  # flag',
    ],
  );
  const loaded = load(given, world);
  assert(loaded.kind === "config");
  const ignored = ignoredSettings(loaded.effective, loaded.config.roles);
  assert.deepEqual(Object.keys(ignored).toSorted(), ["klog-log-dir", "klog-vmodule", "pprof-mutex-profile"]);
  assert.match(ignored["pprof-mutex-profile"] ?? "", /^The program has one thread/);
  assert("pprof-mutex-profile" in ignoredSettings(loaded.effective, new Set(["generator"])));
});
