/**
 * Built-in issuing of the webhook's certificate (docs/webhook.md#built-in), and what docs/security.md says after a leak
 * of a key, step by step as it stands there, while deletions are reviewed.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { X509Certificate } from "node:crypto";
import { fileURLToPath } from "node:url";
import { servedSecret, trustedConfigMap } from "../../../../src/certificates/objects.ts";
import { readCertificates } from "../../../../src/util/pem-certificates.ts";
import { commandBlocksOf } from "../../../pages/command-blocks.ts";
import { type KubeObject } from "../../clusters/admin-client.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { startDryReviews } from "../../installed/dry-reviews.ts";
import { installFleet, type ManifestInstallation } from "../../installed/manifest-installation.ts";
import { kubectlOrFail } from "../../overlay.ts";
import { createNamespace } from "../../objects/pods.ts";
import { ProtectionProof } from "../../installed/protection-proof.ts";
import { systemNamespace } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { shownBy } from "../../installed/manifest-pods.ts";
import { second, waitFor } from "../../clusters/wait.ts";

/** The issuer looks once a minute, webhooks and aggregators every ten seconds. */
const issuedLimitMs = 150 * second;
const keptLimitMs = 60 * second;
const page = "docs/security.md";
const heading = "### After a leak of the webhook's key";

export const issuedCertificateCases = e2eCases({
  "certificate: issued by the program itself, and rotated under load as after a leak: no review fails": [
    900 * second,
    run,
    { isLong: true },
  ],
});

async function run(context: CaseContext): Promise<Figures> {
  const [core, worker] = [await context.cluster("core"), await context.cluster("worker-1")];
  const installation = await installFleet(context, core, worker, { isIssued: true });
  const trust = new Trust(installation);
  const [first = "", ...more] = await trust.kept("the first authority", (published) => published.length === 1);
  assert.deepEqual(more, []);
  // Two PodProtectors of a proof in one namespace would be one too many.
  const proven = `${context.namespace}-proven`;
  for (const { admin } of [core, worker]) {
    for (const name of [context.namespace, proven]) await createNamespace(admin, name);
  }
  const reviews = await startDryReviews(context, { core, worker });
  const proof = new ProtectionProof(context, { core, worker, namespace: proven });
  await proof.begin();
  await proof.deletions();

  const [newAuthority, newCertificate, oldForgotten] = leakSteps();
  const step = async (args: readonly string[]): Promise<void> => {
    await kubectlOrFail(context, core, ...args);
  };
  const startMs = performance.now();
  // The authority stays: what is signed anew is trusted already.
  const old = await trust.shown();
  await step(newCertificate);
  const renewed = await trust.shownAnew(old);
  assert.deepEqual(await trust.kept("the same authority", (published) => published.length === 1), [first]);
  const leafMs = Math.round(performance.now() - startMs);

  await step(newAuthority);
  const both = await trust.kept("both authorities", (published) => published.length === 2);
  assert.ok(both.includes(first), "the old authority stays trusted");
  assert.equal(await trust.shown(), renewed, "nothing is signed by it before every caBundle has it");
  await step(newCertificate);
  await trust.shownAnew(renewed);
  await proof.deletions();
  assert.deepEqual(await trust.kept("both authorities", () => true), both);
  await step(oldForgotten);
  const [newest = "", ...others] = await trust.kept("the new authority", (published) => published.length === 1);
  assert.deepEqual(others, []);
  assert.ok(newest !== first && both.includes(newest), "the old authority is trusted no more");
  await proof.deletions();
  const rotationMs = Math.round(performance.now() - startMs);

  const { admitted, refused, failed } = await reviews.stop();
  assert.deepEqual(failed, []);
  assert.ok(admitted > 0 && refused > 0);
  await trust.checkProblems();
  await core.admin.remove(
    `/apis/podseidon.kubewharf.io/v1alpha1/namespaces/${context.namespace}/podprotectors/guarded`,
  );
  await proof.end();
  await installation.remove(context);
  return {
    replicas: installation.webhooks.length,
    reviewsAdmitted: admitted,
    reviewsRefused: refused,
    failed: failed.length,
    deletions: 3,
    leafMs,
    rotationMs,
  };
}

/** The arguments of kubectl in the three steps of the page. */
function leakSteps(): readonly [readonly string[], readonly string[], readonly string[]] {
  const text = readFileSync(fileURLToPath(new URL(`../../../../${page}`, import.meta.url)), "utf8");
  const section = text.slice(text.indexOf(heading)).split(/\n##+ /)[0] ?? "";
  const steps = commandBlocksOf(page, section).map((block) => {
    const [program, ...rest] = Array.from(
      block.text.matchAll(/'([^']*)'|(\S+)/g),
      ([, quoted, word = ""]) => quoted ?? word,
    );
    assert.equal(program, "kubectl", block.text);
    return rest;
  });
  const [newAuthority, newCertificate, oldForgotten, ...more] = steps;
  assert.ok(newAuthority && newCertificate && oldForgotten && more.length === 0, `${steps.length} steps in ${page}`);
  return [newAuthority, newCertificate, oldForgotten];
}

interface Configuration extends KubeObject {
  readonly webhooks: readonly { readonly clientConfig: { readonly caBundle?: string } }[];
}

interface StoredData extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** What is published, what the worker's API server trusts, and what replicas show. */
class Trust {
  readonly #core: Cluster;
  readonly #worker: Cluster;
  readonly #installation: ManifestInstallation;

  constructor(installation: ManifestInstallation) {
    this.#core = installation.core;
    this.#worker = installation.worker;
    this.#installation = installation;
  }

  /**
   * Resolves when the core publishes authorities that are `wanted`, and every caBundle of the worker is equal to that.
   * To their fingerprints.
   */
  async kept(what: string, wanted: (published: readonly string[]) => boolean): Promise<readonly string[]> {
    const path = `/api/v1/namespaces/${systemNamespace}/configmaps/${trustedConfigMap.name}`;
    const published = async (): Promise<string> => {
      return (await this.#core.admin.get<StoredData>(path)).data?.["ca.crt"] ?? "";
    };
    const isWanted = async (): Promise<boolean> => wanted(fingerprints(await published()));
    await waitFor(`the core publishes ${what}`, issuedLimitMs, isWanted);
    await waitFor(`the worker trusts ${what}`, keptLimitMs, async () => {
      const bundles = await this.#caBundles();
      const text = await published();
      return bundles.length > 0 && bundles.every((bundle) => bundle === text);
    });
    return fingerprints(await published());
  }

  async #caBundles(): Promise<readonly string[]> {
    const path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/podseidon";
    const { webhooks } = await this.#worker.admin.get<Configuration>(path);
    return webhooks.map(({ clientConfig }) => Buffer.from(clientConfig.caBundle ?? "", "base64").toString());
  }

  /** The fingerprint that all replicas show. */
  async shown(): Promise<string> {
    const [first = "", ...others] = await Promise.all(this.#installation.webhooks.map(shownBy));
    assert.ok(others.length > 0 && others.every((other) => other === first), "all replicas show the same");
    return first;
  }

  /** Resolves when every replica shows what is issued, and that is another one than `old`. */
  async shownAnew(old: string): Promise<string> {
    const path = `/api/v1/namespaces/${systemNamespace}/secrets/${servedSecret.name}`;
    const issued = await waitFor("a new certificate is issued", issuedLimitMs, async () => {
      const { data = {} } = await this.#core.admin.get<StoredData>(path);
      const pem = Buffer.from(data["tls.crt"] ?? "", "base64");
      const fingerprint = pem.length > 0 && new X509Certificate(pem).fingerprint256;
      return fingerprint !== old && fingerprint;
    });
    for (const webhook of this.#installation.webhooks) {
      const what = `${webhook.process.name} shows the new certificate`;
      await waitFor(what, keptLimitMs, async () => (await shownBy(webhook)) === issued);
    }
    return issued;
  }

  /** No process has seen anything that a person would have to look at. */
  async checkProblems(): Promise<void> {
    for (const pod of this.#installation.pods) {
      const metrics = await pod.metrics();
      for (const name of ["generator_certificate_issuer_problem", "aggregator_ca_bundle_problem"])
        assert.equal(metrics.value(name) ?? 0, 0, `${pod.process.name}: ${name}`);
    }
  }
}

const fingerprints = (pem: string): readonly string[] =>
  readCertificates(pem).map(({ fingerprint256 }) => fingerprint256);
