import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { X509Certificate } from "node:crypto";
import { clientFilesStep } from "../../../../src/commands/install/client-files.ts";
import { createStage, type Stage } from "./empty-cluster.ts";

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
