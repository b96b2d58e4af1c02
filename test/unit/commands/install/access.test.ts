import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { fieldsOf } from "../../../../src/api/json.ts";
import { apply } from "../../../../src/commands/install/apply.ts";
import { clientFilesStep } from "../../../../src/commands/install/client-files.ts";
import {
  type HandOver,
  handOverStep,
  isOfThisMachine,
  readAddress,
} from "../../../../src/commands/install/hand-over.ts";
import { type InstallOptions, readInstallOptions } from "../../../../src/commands/install/options.ts";
import {
  base64,
  readCells,
  readSecret,
  readSettings,
  secretWith,
  settingsObject,
} from "../../../../src/commands/install/settings.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { createStage, kubeconfig, type Stage } from "./empty-cluster.ts";

const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-client-files-"));
after(() => rmSync(folder, { recursive: true }));

function stepOf({ siteOf }: Stage, cell: string, address = "podseidon.example.com", to = path.join(folder, cell)) {
  const counts = { written: 0 };
  const written = (): void => void (counts.written += 1);
  return {
    counts,
    step: clientFilesStep({ core: siteOf("core"), cell, webhookAddress: address, folder: to, written }),
  };
}

test("each cell has a certificate of its own, and the webhook trusts the authorities of all", async () => {
  const stage = createStage();
  for (const cell of ["a", "b"]) {
    const { step, counts } = stepOf(stage, cell);
    assert.equal(await step.run(() => {}), undefined);
    assert.equal(counts.written, 1);
    assert.equal(new X509Certificate(readFileSync(path.join(folder, cell, "client.crt"))).subject, `CN=${cell}`);
  }
  const authorities = ["a", "b"].map((cell) => readFileSync(path.join(folder, cell, "client-ca.crt"), "utf8"));
  assert.equal(stage.clusters.core.secret("podseidon-webhook-clients", "ca.crt"), authorities.join(""));
  const again = stepOf(stage, "a");
  assert.deepEqual(await again.step.plan(), { changes: [], unseen: [] });
  assert.equal(await again.step.run(() => {}), undefined);
  assert.equal(again.counts.written, 0);
});

test("a certificate that ends soon gets a successor, and both are trusted", async () => {
  const stage = createStage();
  await stepOf(stage, "c").step.run(() => {});
  stage.clock.jumpWallClock(310 * 86_400_000);
  const { step, counts } = stepOf(stage, "c");
  assert.equal(await step.run(() => {}), undefined);
  assert.equal(counts.written, 1);
  const text = stage.clusters.core.secret("podseidon-webhook-clients", "ca.crt") ?? "";
  assert.equal(text.match(/BEGIN CERTIFICATE/g)?.length, 2);
});

test("the kubeconfig of the API servers names the webhook, its port only if that is not 443", async () => {
  for (const [address, name] of [
    ["a.example.com:443", "a.example.com"],
    ["a.example.com:8443", '"a.example.com:8443"'],
  ] as const) {
    await stepOf(createStage(), "d", address).step.run(() => {});
    assert.ok(readFileSync(path.join(folder, "d", "kubeconfig"), "utf8").includes(`- name: ${name}\n`), address);
  }
});

test("a folder that cannot be written is a problem, and nothing is trusted by then", async () => {
  const stage = createStage();
  const file = path.join(folder, "file");
  writeFileSync(file, "");
  const { step } = stepOf(stage, "e", undefined, path.join(file, "below"));
  assert.match((await step.run(() => {})) ?? "", /cannot write into .*file\/below/);
  assert.deepEqual(stage.clusters.core.writes, []);
});

const reads = (text: string) => ({
  environment: { KUBECONFIG: "/kube/config" },
  readFile(file: string) {
    if (file === "/kube/config") return text;
    if (file === "/kube/ca.crt") return "authority";
    throw new Error(file);
  },
});

function withCluster(cluster: object): string {
  const contexts = [{ name: "a", context: { cluster: "x" } }];
  return JSON.stringify({ "current-context": "a", contexts, clusters: [{ name: "x", cluster }] });
}

function handOver(stage: ReturnType<typeof createStage>, authority: string | undefined): HandOver {
  return {
    title: "Give access",
    from: stage.siteOf("core"),
    account: "podseidon-aggregator-w1",
    address: { server: "https://core:6443", authority },
    to: stage.siteOf("w1"),
    secret: "podseidon-core-kubeconfig",
    key: "kubeconfig",
    tokenKey: "token",
    seconds: 3_600,
  };
}

test("the address is that of the context, or the one that is given, with the context's authority", () => {
  const at = (text: string, given?: string) => readAddress(undefined, undefined, given, reads(text));
  assert.deepEqual(at(kubeconfig), { server: "https://core.example.com:6443", authority: "ca" });
  assert.deepEqual(at(kubeconfig, "https://other"), { server: "https://other", authority: "ca" });
  const file = withCluster({ server: "https://x", "certificate-authority": "ca.crt" });
  assert.deepEqual(at(file), { server: "https://x", authority: "authority" });
  assert.deepEqual(at(withCluster({ server: "https://x" })), { server: "https://x", authority: undefined });
});

test("an address that cannot be handed over is a problem that names the context", () => {
  const at = (cluster: object): string => {
    const found = readAddress(undefined, undefined, undefined, reads(withCluster(cluster)));
    return found instanceof Problem ? found.message : "";
  };
  assert.match(at({}), /the context "a" names no cluster with a server/);
  assert.match(at({ server: "http://x" }), /"http:\/\/x": it is no https URL/);
  assert.match(at({ server: "https://x", "certificate-authority": "no.crt" }), /"\/kube\/no\.crt", which cannot be/);
});

test("a run makes the Secret, says when the token ends, and renews it when run again", async () => {
  const stage = createStage();
  const step = handOverStep(handOver(stage, "authority"));
  const said: string[] = [];
  assert.equal(await step.run((line) => said.push(line)), undefined);
  assert.match(said.join(), /ends 2026-01-08T00:00:00Z; to renew it, run this again/);
  const { w1 } = stage.clusters;
  assert.equal(w1.secret("podseidon-core-kubeconfig", "token"), "token of podseidon-aggregator-w1 for 3600 s");
  const text = w1.secret("podseidon-core-kubeconfig", "kubeconfig") ?? "";
  assert.match(text, /certificate-authority-data: YXV0aG9yaXR5\n/);
  assert.match(text, /tokenFile: token\n/);
  assert.equal(await step.run(() => {}), undefined);
});

test("when the token ends is noted on its account, where it can be read without reading a Secret", async () => {
  const stage = createStage();
  assert.equal(await handOverStep(handOver(stage, "authority")).run(() => {}), undefined);
  const { annotations } = fieldsOf(stage.clusters.core.find("/podseidon-aggregator-w1")?.["metadata"]);
  const note = String(fieldsOf(annotations)["podseidon.kubewharf.io/handed-token"]);
  assert.match(note, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\/2026-01-08T00:00:00Z$/);
});

test("without an authority in the kubeconfig that of the cluster itself is taken", async () => {
  const stage = createStage();
  const path = "/api/v1/namespaces/podseidon-system/configmaps/kube-root-ca.crt";
  stage.clusters.core.objects.set(path, { data: { "ca.crt": "root" } });
  assert.equal(await handOverStep(handOver(stage, undefined)).run(() => {}), undefined);
  assert.match(stage.clusters.w1.secret("podseidon-core-kubeconfig", "kubeconfig") ?? "", /data: cm9vdA==\n/);
});

test("an address of this machine alone is pointed out, with the option that names another", async () => {
  const stage = createStage();
  const local = { ...handOver(stage, "x"), address: { server: "https://127.0.0.1:6443", authority: "x" } };
  const { changes } = await handOverStep(local).plan();
  assert.match(changes.join(), /mind that https:\/\/127\.0\.0\.1:6443 is an address of this machine: --core-server/);
  assert.ok(isOfThisMachine({ server: "https://[::1]:1", authority: undefined }));
  assert.ok(!isOfThisMachine({ server: "https://core:6443", authority: undefined }));
});

test("a token that may not be made is a problem that names the right", async () => {
  const stage = createStage();
  stage.clusters.core.forbidden = /token$/;
  assert.match((await handOverStep(handOver(stage, "x")).run(() => {})) ?? "", /may not create serviceaccounts\/token/);
});

function options(given: Readonly<Record<string, string>>): InstallOptions {
  const read = readInstallOptions("core", new Map(Object.entries(given).map(([name, value]) => [name, [value]])));
  assert.ok(!(read instanceof Problem));
  return read;
}

test("what was said before holds until something else is said", async () => {
  const site = createStage().siteOf("core");
  const first = { image: "a", webhookAddress: "x", callers: "network" } as const;
  await apply(site, settingsObject(first));
  assert.deepEqual(await readSettings(site, options({}), "install core"), first);
  assert.deepEqual(await readSettings(site, options({ image: "b" }), "install core"), { ...first, image: "b" });
});

test("the cells of a core are those that it has a kubeconfig for", async () => {
  const site = createStage().siteOf("core");
  assert.deepEqual(await readCells(site), []);
  await apply(site, secretWith("podseidon-worker-kubeconfigs", { b: "", "b.token": "", a: "", "a.token": "" }));
  assert.deepEqual(await readCells(site), ["a", "b"]);
});

test("settings that may not be read are a problem", async () => {
  const stage = createStage();
  stage.clusters.core.forbidden = /./;
  const site = stage.siteOf("core");
  for (const read of [await readSettings(site, options({}), "install core"), await readCells(site)])
    assert.match(read instanceof Problem ? read.message : "", /you may not get/);
});

test("what is written into a Secret is read, beside what was in it before", async () => {
  const site = createStage().siteOf("core");
  assert.deepEqual(await readSecret(site, "x"), { ok: true, value: undefined });
  await apply(site, secretWith("x", { a: base64("ä") }));
  await apply(site, secretWith("x", { b: base64("2") }));
  const read = await readSecret(site, "x");
  assert.deepEqual(read.ok && [...(read.value ?? [])], [
    ["a", "ä"],
    ["b", "2"],
  ]);
});
