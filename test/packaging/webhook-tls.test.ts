import assert from "node:assert/strict";
import { X509Certificate, createPrivateKey } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo } from "node:net";
import path from "node:path";
import { test } from "node:test";
import { connect, createServer } from "node:tls";
import { load } from "js-yaml";
import { applyPatch, type Operation } from "rfc6902";
import { ArgumentError } from "../../scripts/command-line.ts";
import { issueServerCertificate } from "../../scripts/tls-certificates.ts";
import { caBundlePatchYaml, parseCommandLine, secretYaml, serviceDnsNames } from "../../scripts/webhook-tls.ts";
import { type Deployment, manifestsFolder, onlyOne, readManifests, render } from "../manifests/manifest-files.ts";

const now = new Date("2026-11-20T12:00:00Z");
const request = {
  dnsNames: serviceDnsNames("podseidon-system", "podseidon-webhook"),
  ipAddresses: ["127.0.0.1", "::1"],
  days: 30,
  now,
};
const issued = await issueServerCertificate(request);
const ca = new X509Certificate(issued.caCertificate);
const server = new X509Certificate(issued.certificate);

test("the server certificate is signed by the authority, which is nothing else than an authority", () => {
  assert.ok(server.verify(ca.publicKey));
  assert.ok(server.checkIssued(ca));
  assert.deepEqual([ca.ca, server.ca], [true, false]);
  assert.ok(server.checkPrivateKey(createPrivateKey(issued.privateKey)));
  assert.ok(!ca.checkPrivateKey(createPrivateKey(issued.privateKey)));
});

test("the server certificate is for the Service's name in API servers' calls, and for each extra address", () => {
  assert.equal(server.checkHost("podseidon-webhook.podseidon-system.svc"), "podseidon-webhook.podseidon-system.svc");
  assert.equal(server.checkHost("other.podseidon-system.svc"), undefined);
  assert.equal(server.checkIP("127.0.0.1"), "127.0.0.1");
  assert.equal(server.checkIP("::1"), "::1");
  assert.equal(server.checkIP("127.0.0.2"), undefined);
});

test("both certificates are valid from an hour ago until the asked number of days has passed", () => {
  for (const certificate of [ca, server]) {
    assert.equal(certificate.validFromDate.toISOString(), "2026-11-20T11:00:00.000Z");
    assert.equal(certificate.validToDate.toISOString(), "2026-12-20T12:00:00.000Z");
  }
});

test("a TLS client that trusts the authority can talk to a server with this certificate", async (t) => {
  const fresh = await issueServerCertificate({ ...request, now: new Date() });
  const listener = createServer({ cert: fresh.certificate, key: fresh.privateKey }, (socket) => socket.end("hello"));
  t.after(() => listener.close());
  listener.listen(0, "127.0.0.1");
  await once(listener, "listening");
  const { port } = listener.address() as AddressInfo;
  const servername = "podseidon-webhook.podseidon-system.svc";
  const client = connect({ host: "127.0.0.1", port, servername, ca: fresh.caCertificate });
  t.after(() => client.destroy());
  const [data] = await once(client, "data", { signal: AbortSignal.timeout(60_000) });
  assert.equal(String(data), "hello");
  assert.ok(client.authorized);
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
      (error) => error instanceof ArgumentError && message.test(error.message),
    );
  });
}

for (const [what, change] of [
  ["no name at all", { dnsNames: [], ipAddresses: [] }],
  ["a name with a space", { dnsNames: ["a b"] }],
  ["a wildcard inside a name", { dnsNames: ["a.*.b"] }],
  ["an address that is none", { ipAddresses: ["1.2.3"] }],
  ["zero days", { days: 0 }],
  ["half a day", { days: 0.5 }],
  ["more than ten years", { days: 3651 }],
] as const) {
  test(`a certificate for ${what} is refused`, async () => {
    await assert.rejects(async () => issueServerCertificate({ ...request, ...change }), ArgumentError);
  });
}
