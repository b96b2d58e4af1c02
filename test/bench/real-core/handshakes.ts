/**
 * What TLS handshakes cost a webhook behind a real API server, which keeps 25 idle connections and opens a new one for
 * each call beyond them: with an RSA and with an ECDSA certificate, and with the calls split over several entries of
 * the webhook configuration by the last character of the pod's name.
 */
import "reflect-metadata";
import * as x509 from "@peculiar/x509";
import { type ChildProcess } from "node:child_process";
import { webcrypto } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { type AdminClient } from "../../e2e/clusters/admin-client.ts";
import { deletePods } from "../../e2e/objects/deletions.ts";
import { createNamespace, createPods } from "../../e2e/objects/pods.ts";
import { waitFor } from "../../e2e/clusters/wait.ts";
// `import type` leaves nothing behind; an inline `type` would still run the server in this process.
import type { HandshakeCounts } from "./handshake-server.ts";
import { type RealCore } from "./real-core.ts";
import { ask, messageOf, startChild } from "../processes/child.ts";
import { quantile, type Row } from "../row.ts";

const namespace = "handshakes";
const podsCount = 300;
const inFlight = 96;
const rounds = 5;
const startLimitMs = 30_000;
const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
/** How the last characters, here digits, are split over the entries; the last entry takes the rest. */
const splits: Readonly<Record<number, readonly string[]>> = { 1: [], 2: ["01234"], 4: ["012", "34", "567"] };

const algorithms = {
  RSA: { name: "RSASSA-PKCS1-v1_5", modulusLength: 2048, publicExponent: new Uint8Array([1, 0, 1]), hash: "SHA-256" },
  ECDSA: { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" },
} as const;
type Key = keyof typeof algorithms;

interface Variant {
  readonly key: Key;
  readonly entries: 1 | 2 | 4;
  /** In what the addresses of the entries differ. */
  readonly by: "path" | "port";
}

const variants: readonly Variant[] = [
  { key: "RSA", entries: 1, by: "path" },
  { key: "RSA", entries: 2, by: "path" },
  { key: "RSA", entries: 4, by: "path" },
  { key: "ECDSA", entries: 1, by: "path" },
  { key: "ECDSA", entries: 2, by: "path" },
  { key: "ECDSA", entries: 4, by: "path" },
  { key: "ECDSA", entries: 2, by: "port" },
  { key: "ECDSA", entries: 4, by: "port" },
];

interface Webhook {
  readonly child: ChildProcess;
  readonly ports: readonly number[];
  readonly caPem: string;
}

interface Sample {
  readonly handshakesPerReview: number;
  readonly cpuMicrosPerReview: number;
  readonly reviewsPerDeletion: number;
}

export async function measureHandshakes(core: RealCore, say: (line: string) => void): Promise<Row[]> {
  const { admin } = core;
  const directory = mkdtempSync(path.join(os.tmpdir(), "podseidon-handshakes-"));
  const webhooks = { RSA: await startWebhook(directory, "RSA"), ECDSA: await startWebhook(directory, "ECDSA") };
  const samples = new Map<Variant, Sample[]>(variants.map((variant) => [variant, []]));
  try {
    await createNamespace(admin, namespace);
    // In turns, so that what else the machine does hits all.
    for (let round = 0; round <= rounds; round += 1) {
      for (const [index, variant] of variants.entries()) {
        say(`handshakes: ${nameOf(variant)}, ${round === 0 ? "warm-up" : `round ${round} of ${rounds}`}`);
        const sample = await deleteAll(admin, webhooks[variant.key], variant, `r${round}v${index}`);
        if (round > 0) samples.get(variant)?.push(sample);
      }
    }
  } finally {
    for (const { child } of Object.values(webhooks)) child.disconnect();
    await admin.remove(`/api/v1/namespaces/${namespace}`);
    rmSync(directory, { recursive: true, force: true });
  }
  return rowsOf(samples);
}

/** One pass of the same deletions through this webhook. */
async function deleteAll(admin: AdminClient, webhook: Webhook, variant: Variant, namePrefix: string): Promise<Sample> {
  const labels = { app: "handshakes" };
  const names = await createPods(admin, { namespace, count: podsCount + 1, namePrefix, labels, ready: false });
  const [probe = "", ...rest] = names;
  const name = `handshakes-${namePrefix}`;
  await admin.apply(`${configurations}/${name}`, configurationOf(name, webhook, variant));
  try {
    const reviewsBefore = (await countsOf(webhook)).reviews;
    await waitFor("the webhook is called", startLimitMs, async () => {
      await deletePods(admin, { namespace, names: [probe], concurrency: 1, how: "delete", dryRun: true });
      return (await countsOf(webhook)).reviews > reviewsBefore;
    });
    const before = await countsOf(webhook);
    const how = { namespace, names: rest, concurrency: inFlight, how: "delete", gracePeriodSeconds: 0 } as const;
    const attempts = await deletePods(admin, how);
    const failed = attempts.find(({ code }) => code !== 200);
    if (failed !== undefined) throw new Error(`a deletion failed: ${failed.code} ${failed.message}`);
    const after = await countsOf(webhook);
    const reviews = after.reviews - before.reviews;
    return {
      handshakesPerReview: (after.handshakes - before.handshakes) / reviews,
      cpuMicrosPerReview: (after.cpuMicros - before.cpuMicros) / reviews,
      reviewsPerDeletion: reviews / rest.length,
    };
  } finally {
    await admin.remove(`${configurations}/${name}`);
  }
}

function configurationOf(name: string, { ports, caPem }: Webhook, { entries, by }: Variant): object {
  const split = splits[entries] ?? [];
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "ValidatingWebhookConfiguration",
    metadata: { name },
    webhooks: Array.from({ length: entries }, (_, index) => ({
      name: `entry-${index}.handshakes.example.com`,
      clientConfig: {
        url: `https://127.0.0.1:${ports[by === "port" ? index : 0]}/${by === "port" ? "c1" : `c${index}`}`,
        caBundle: Buffer.from(caPem).toString("base64"),
      },
      rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["pods"] }],
      namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
      matchConditions: entries === 1 ? [] : [{ name: "share", expression: shareOf(split, index) }],
      failurePolicy: "Fail",
      sideEffects: "NoneOnDryRun",
      admissionReviewVersions: ["v1"],
    })),
  };
}

/** By the name in oldObject: a deletecollection has none in the request. */
function shareOf(split: readonly string[], index: number): string {
  const endsWithOneOf = (characters: string): string => `oldObject.metadata.name.matches('[${characters}]$')`;
  const own = split[index];
  return own === undefined ? `!${endsWithOneOf(split.join(""))}` : endsWithOneOf(own);
}

async function startWebhook(directory: string, key: Key): Promise<Webhook> {
  const { cert, privateKey } = await issue(key);
  const files = [path.join(directory, `${key}.crt`), path.join(directory, `${key}.key`)] as const;
  writeFileSync(files[0], cert);
  writeFileSync(files[1], privateKey, { mode: 0o600 });
  const child = startChild(new URL("handshake-server.ts", import.meta.url), [...files, "4"]);
  const { ports } = await messageOf<{ ports: readonly number[] }>(child, startLimitMs);
  return { child, ports, caPem: cert };
}

/** Signed by itself, for 127.0.0.1. */
async function issue(key: Key): Promise<{ readonly cert: string; readonly privateKey: string }> {
  x509.cryptoProvider.set(webcrypto);
  const keys = await webcrypto.subtle.generateKey(algorithms[key], true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: "CN=handshakes",
    keys,
    signingAlgorithm: algorithms[key],
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 86_400_000),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.SubjectAlternativeNameExtension([{ type: "ip", value: "127.0.0.1" }]),
    ],
  });
  const exported = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: certificate.toString("pem"), privateKey: x509.PemConverter.encode(exported, "PRIVATE KEY") };
}

function countsOf({ child }: Webhook): Promise<HandshakeCounts> {
  return ask(child, "counts", startLimitMs);
}

function rowsOf(samples: ReadonlyMap<Variant, readonly Sample[]>): Row[] {
  const median = (variant: Variant, figure: keyof Sample): number =>
    quantile(samples.get(variant)?.map((sample) => sample[figure]) ?? [], 0.5);
  const [base] = variants;
  if (base === undefined) return [];
  const cpuOfBase = median(base, "cpuMicrosPerReview");
  return variants.map((variant) => {
    const cpu = median(variant, "cpuMicrosPerReview");
    const text = (of: Variant): string =>
      `${median(of, "handshakesPerReview").toFixed(2)} handshakes and ` +
      `${(median(of, "cpuMicrosPerReview") / 1_000).toFixed(2)} ms of CPU a review`;
    return {
      what: `reviews of ${podsCount} deletions, ${inFlight} in flight: ${nameOf(variant)}`,
      figure: text(variant),
      comparedWith: `${nameOf(base)}: ${text(base)}; ratio by CPU`,
      ratio: cpuOfBase / cpu,
      besides: [`${median(variant, "reviewsPerDeletion").toFixed(1)} reviews a deletion`],
    };
  });
}

function nameOf({ key, entries, by }: Variant): string {
  return entries === 1 ? `${key}, one entry` : `${key}, ${entries} entries by ${by}`;
}
