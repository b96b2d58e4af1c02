import assert from "node:assert/strict";
import { test } from "node:test";
import { X509Certificate } from "node:crypto";
import { apply } from "../../../../src/commands/install/apply.ts";
import { base64, secretWith } from "../../../../src/commands/install/hand-over.ts";
import { certificateIn, certificateStep, readSecret } from "../../../../src/commands/install/webhook-certificate.ts";
import { issueServerCertificate } from "../../../../src/certificates/index.ts";
import { createStage, type Stage } from "./empty-cluster.ts";

const dayMs = 86_400_000;

async function run({ siteOf }: Stage, host: string | undefined): Promise<string | undefined> {
  return certificateStep(siteOf("core"), host).run(() => {});
}

function served({ clusters }: Stage): X509Certificate {
  return new X509Certificate(clusters.core.secret("podseidon-webhook-tls", "tls.crt") ?? "");
}

test("the certificate names the Service and the address, and is signed by the authority beside it", async () => {
  const stage = createStage();
  assert.equal(await run(stage, "podseidon.example.com"), undefined);
  const certificate = served(stage);
  for (const name of ["podseidon-webhook.podseidon-system.svc", "podseidon.example.com"])
    assert.equal(certificate.checkHost(name), name);
  const authority = new X509Certificate(stage.clusters.core.secret("podseidon-webhook-tls", "ca.crt") ?? "");
  assert.ok(certificate.verify(authority.publicKey));
  assert.deepEqual(await certificateStep(stage.siteOf("core"), "podseidon.example.com").plan(), {
    changes: [],
    unseen: [],
  });
});

test("a certificate that lacks an address, or ends soon, is made again by the same authority", async () => {
  const stage = createStage();
  await run(stage, undefined);
  const authority = stage.clusters.core.secret("podseidon-webhook-tls", "ca.crt");
  await run(stage, "10.0.0.1");
  const second = served(stage);
  assert.equal(second.checkIP("10.0.0.1"), "10.0.0.1");
  stage.clock.jumpWallClock(310 * dayMs);
  const { changes } = await certificateStep(stage.siteOf("core"), "10.0.0.1").plan();
  assert.match(changes.join(), /a new certificate, since the present one ends 20/);
  await run(stage, "10.0.0.1");
  assert.notEqual(served(stage).serialNumber, second.serialNumber);
  assert.equal(stage.clusters.core.secret("podseidon-webhook-tls", "ca.crt"), authority);
});

test("a certificate that somebody else makes is left alone, and one that does not fit is a problem", async () => {
  const stage = createStage();
  const dnsNames = ["podseidon-webhook.podseidon-system.svc.cluster.local", "podseidon-webhook.podseidon-system.svc"];
  const names = { dnsNames: [...dnsNames, "podseidon-webhook.podseidon-system", "podseidon-webhook"], ipAddresses: [] };
  const issued = await issueServerCertificate({ ...names, days: 30, now: new Date(stage.clock.epochMicros() / 1_000) });
  const data = { "ca.crt": base64(issued.caCertificate), "tls.crt": base64(issued.certificate) };
  await apply(stage.siteOf("core"), secretWith("podseidon-webhook-tls", data));
  assert.equal(await run(stage, undefined), undefined);
  assert.match((await run(stage, "a.example.com")) ?? "", /a certificate that names a\.example\.com/);
  assert.equal(stage.clusters.core.find("/secrets/podseidon-webhook-authority"), undefined);
});

test("a Secret that is not there has no values, and a text that is no certificate is none", async () => {
  assert.deepEqual(await readSecret(createStage().siteOf("core"), "x"), { ok: true, value: undefined });
  assert.equal(certificateIn("x"), undefined);
});
