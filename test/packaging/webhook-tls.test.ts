import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import path from "node:path";
import { test } from "node:test";
import { load } from "js-yaml";
import { applyPatch, type Operation } from "rfc6902";
import { ArgumentError } from "../../scripts/command-line.ts";
import { CertificateRequestError, issueServerCertificate } from "../../src/certificates/index.ts";
import { caBundlePatchYaml, parseCommandLine, secretYaml, serviceDnsNames } from "../../scripts/webhook-tls.ts";
import { type Deployment, manifestsFolder, onlyOne, readManifests, render } from "../manifests/manifest-files.ts";

const now = new Date("2026-11-20T12:00:00Z");
const dnsNames = serviceDnsNames("podseidon-system", "podseidon-webhook");
const issued = await issueServerCertificate({ dnsNames, ipAddresses: [], days: 30, now });

test("the certificate is for the name by which API servers call the Service", () => {
  const host = "podseidon-webhook.podseidon-system.svc";
  assert.equal(new X509Certificate(issued.certificate).checkHost(host), host);
});

test("the Secret is the one that the webhook's pods mount, with the keys that their arguments name", () => {
  const secret = load(secretYaml("podseidon-system", "podseidon-webhook-tls", issued)) as {
    metadata: { name: string; namespace: string };
    data: Record<string, string>;
  };
  const { metadata, spec } = onlyOne<Deployment>(render("base/webhook"), "Deployment");
  const [volume] = spec.template.spec.volumes ?? [];
  assert.equal(volume?.secret.secretName, secret.metadata.name);
  assert.equal(metadata.namespace, secret.metadata.namespace);
  const [container] = spec.template.spec.containers;
  for (const key of ["tls.crt", "tls.key"])
    assert.ok(
      container.args.some((argument) => argument.endsWith(`/${key}`)),
      key,
    );
  assert.equal(Buffer.from(secret.data["tls.crt"] ?? "", "base64").toString(), issued.certificate);
  assert.equal(Buffer.from(secret.data["tls.key"] ?? "", "base64").toString(), issued.privateKey);
});

test("the patch puts the authority into the webhook configuration of the manifests", () => {
  const [configuration] = readManifests(
    path.join(manifestsFolder, "base/admission/validating-webhook-configuration.yaml"),
  );
  const failures = applyPatch(configuration, load(caBundlePatchYaml(issued)) as Operation[]);
  const { webhooks } = configuration as unknown as { webhooks: { clientConfig: { caBundle?: string } }[] };
  assert.deepEqual(
    failures,
    webhooks.map(() => null),
  );
  for (const { clientConfig } of webhooks)
    assert.equal(Buffer.from(clientConfig.caBundle ?? "", "base64").toString(), issued.caCertificate);
});

test("the command line's values become a request", () => {
  const names = ["--namespace=n", "--service=s", "--dns=example.com", "--dns=*.example.org", "--ip=::1", "--days=7"];
  assert.deepEqual(parseCommandLine(names), {
    namespace: "n",
    secret: "podseidon-webhook-tls",
    out: undefined,
    dnsNames: ["s.n.svc", "s.n.svc.cluster.local", "s.n", "s", "example.com", "*.example.org"],
    ipAddresses: ["::1"],
    days: 7,
  });
});

for (const [args, message] of [
  [["--service=s"], /--namespace is required/],
  [["--namespace=n"], /--service is required/],
  [["--namespace=N", "--service=s"], /--namespace: "N" is not a Kubernetes name/],
  [["--namespace=n", "--service=s", "--days=x"], /--days: "x" is not a whole number/],
  [["--namespace=n", "--service=s", "--days=-1"], /--days: "-1" is not a whole number/],
  [["--namespace=n", "--service=s", "--out="], /--out/],
  [["--namespace=n", "--service=s", "--secret=A"], /"A" is not a DNS name/],
  [["--namespace=n", "--service=s", "--wat"], /--wat/],
  [["--namespace=n", "--service=s", "stray"], /stray/],
] as const) {
  test(`the command line "${args.join(" ")}" is refused with its reason`, () => {
    assert.throws(
      () => parseCommandLine(args),
      (error) =>
        (error instanceof ArgumentError || error instanceof CertificateRequestError) && message.test(error.message),
    );
  });
}
