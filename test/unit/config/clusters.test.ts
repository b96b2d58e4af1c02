import assert from "node:assert/strict";
import { test } from "node:test";
import { loadGood } from "./load.ts";

test("without a map there is one core, called core, that of --core-kube-*, and it is the generator's", () => {
  const { cores, generator, webhook } = loadGood(["--role=generator", "--core-kube-config=/core"]);
  assert.deepEqual([...cores.keys()], ["core"]);
  assert.equal(cores.get("core")?.kubeConfigPath, "/core");
  assert.equal(generator.core, "core");
  assert.deepEqual([...webhook.coreUnavailable.policies], [["core", "refuse"]]);
});

test("a map names the cores, each with its address, and the other flags of --core-kube-* hold for each", () => {
  const { cores, webhook } = loadGood([
    "--role=webhook",
    "--podprotector-source-provider=map",
    "--podprotector-source-provider.map-configs=core=,east=/east",
    "--podprotector-source-provider.map-masters=east=https://east:6443",
    "--core-kube-qps=7",
    "--core-kube-target-namespace=ns",
    "--webhook-core-unavailable-policy=last-known",
    "--webhook-core-unavailable-policy.by-core=east=refuse",
  ]);
  assert.deepEqual(
    Array.from(cores, ([name, { kubeConfigPath, master, qps, namespace }]) => [
      name,
      kubeConfigPath,
      master,
      qps,
      namespace,
    ]),
    [
      ["core", "", "", 7, "ns"],
      ["east", "/east", "https://east:6443", 7, "ns"],
    ],
  );
  assert.deepEqual(
    [...webhook.coreUnavailable.policies],
    [
      ["core", "last-known"],
      ["east", "refuse"],
    ],
  );
});

test("the generator of the only core of a map needs no other word", () => {
  const argv = ["--podprotector-source-provider=map", "--podprotector-source-provider.map-configs=east=/east"];
  assert.equal(loadGood(["--role=generator", ...argv]).generator.core, "east");
});
