import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { loadAll } from "js-yaml";
import { type Json } from "../../../../src/api/json.ts";
import {
  cellFlags,
  coreObjects,
  singleObjects,
  systemdFiles,
  workerObjects,
} from "../../../../src/commands/install/objects.ts";
import { coreSteps, singleSteps, workerSteps } from "../../../../src/commands/install/part-steps.ts";
import {
  assertSameObjects,
  type Installation,
  installations,
  renderedByKustomize,
} from "../../../manifests/installations.ts";
import { type Deployment, type Manifest, onlyOne } from "../../../manifests/manifest-files.ts";
import { argumentsOf, createStage } from "./empty-cluster.ts";

const settings = { image: "x", webhookAddress: "a.example.com", callers: "certificates" } as const;
const noAddress = { server: "https://x", authority: "x" };

test("a core starts its webhook with the first cell, and keeps the cells that it serves", async () => {
  const stage = createStage();
  const core = stage.siteOf("core");
  for (const step of coreSteps(core, settings, [])) assert.equal(await step.run(() => {}), undefined, step.title);
  assert.equal(stage.clusters.core.find("/deployments/podseidon-webhook"), undefined);
  assert.ok(stage.clusters.core.find("/deployments/podseidon-generator") !== undefined);
  for (const step of coreSteps(core, settings, ["a", "b"])) assert.equal(await step.run(() => {}), undefined);
  const args = argumentsOf(stage.clusters.core.find("/deployments/podseidon-webhook"));
  assert.ok(args.includes("--webhook-client-cells=a=a,b=b"), args.join(" "));
});

test("accounts come before tokens, tokens before what runs, and the webhook configuration is last", () => {
  const { siteOf } = createStage();
  const plan = {
    core: siteOf("core"),
    worker: siteOf("w1"),
    settings,
    cell: "w1",
    cells: ["a"],
    coreAddress: noAddress,
    workerAddress: noAddress,
    tokenSeconds: 3_600,
    folder: "podseidon-w1",
  };
  const titles = workerSteps(plan).map(({ title }) => title.split(" ").slice(0, 4).join(" "));
  assert.deepEqual(titles, [
    "Make the account of",
    "Make namespaces, accounts, rights",
    "Give the aggregator access",
    "Give the webhook access",
    "Make a client certificate",
    "Let the webhook of",
    "Start the aggregator",
    "Wait until the webhook",
  ]);
  const ofNetwork = workerSteps({ ...plan, settings: { ...settings, callers: "network" } });
  assert.equal(ofNetwork.length, titles.length - 1, "no certificate is made");
});

test("one cluster has its webhook configuration last, too", () => {
  const titles = singleSteps(createStage().siteOf("core"), settings).map(({ title }) => title);
  assert.equal(titles.length, 4);
  assert.match(titles.at(-1) ?? "", /^Wait until the webhook answers/);
});

const image = "podseidon.invalid/podseidon:0.1.0";
const issuedFor = "--generator-webhook-certificate-names=podseidon-webhook.podseidon-system.svc";
const manifests = (objects: readonly Json[]): readonly Manifest[] => objects as unknown as readonly Manifest[];

test("what the parts of an installation share comes first, in the order of a core", () => {
  const texts = (objects: readonly Json[]): readonly string[] => objects.map((object) => JSON.stringify(object));
  const core = texts(coreObjects({ image, callers: "certificates", cells: [], webhookHost: undefined }));
  const single = texts(singleObjects({ image, caBundle: undefined }));
  const shared = core.filter((text) => single.includes(text));
  assert.ok(shared.length > 20);
  assert.deepEqual(single.slice(0, shared.length), shared);
});

function objectsOf({ topology, cell = "", cells = [], webhookAddress = "", caBundle }: Installation): readonly Json[] {
  switch (topology) {
    case "core":
      return coreObjects({ image, callers: "certificates", cells, webhookHost: undefined });
    case "worker":
      return workerObjects({ image, cell, webhookAddress, caBundle });
    case "single":
      return singleObjects({ image, caBundle });
    default:
      return topology satisfies never;
  }
}

for (const installation of installations.filter(
  ({ folders = [], isIssued }) => folders.length === 0 && isIssued !== true,
)) {
  test(`install and kustomize have the same objects for ${installation.name}`, () => {
    assertSameObjects(manifests(objectsOf(installation)), renderedByKustomize({ ...installation, isIssued: true }));
  });
}

test("every Deployment has the image that is given", () => {
  const objects = singleObjects({ image: "example.com/podseidon:1", caBundle: undefined });
  const images = ["podseidon-generator", "podseidon-aggregator", "podseidon-webhook"].map(
    (name) => onlyOne<Deployment>(manifests(objects), "Deployment", name).spec.template.spec.containers[0].image,
  );
  assert.deepEqual(
    images,
    Array.from({ length: 3 }, () => "example.com/podseidon:1"),
  );
});

test("where the network says who calls, the webhook asks for no client certificates and serves the cells alone", () => {
  const objects = manifests(coreObjects({ image, callers: "network", cells: ["a", "b"], webhookHost: "x.org" }));
  const { args } = onlyOne<Deployment>(objects, "Deployment", "podseidon-webhook").spec.template.spec.containers[0];
  assert.deepEqual(args.slice(-2), ["--webhook-client-ca-file=", "--webhook-allowed-cells=a,b"]);
  assert.ok(!args.some((arg) => arg.startsWith("--webhook-client-cells")));
  const generator = onlyOne<Deployment>(objects, "Deployment", "podseidon-generator").spec.template.spec.containers[0];
  assert.ok(generator.args.includes(`${issuedFor},x.org`), "the certificate has the address of the webhook");
});

test("values of one installation do not stay for the next", () => {
  const first = JSON.stringify(workerObjects({ image: "a", cell: "one", webhookAddress: "x", caBundle: "Yg==" }));
  workerObjects({ image: "b", cell: "two", webhookAddress: "y", caBundle: undefined });
  assert.equal(
    JSON.stringify(workerObjects({ image: "a", cell: "one", webhookAddress: "x", caBundle: "Yg==" })),
    first,
  );
});

test("the unit and the environment file of every role are carried", () => {
  assert.deepEqual([...systemdFiles().keys()].toSorted(), [
    "aggregator.env",
    "generator.env",
    "podseidon@.service",
    "update-trigger.env",
    "webhook.env",
  ]);
});

test("each cell has a kubeconfig of its name, and a client certificate of its name where certificates tell", () => {
  const { configs, callers } = cellFlags("certificates", ["a", "b"]);
  assert.equal(
    configs,
    "--webhook-worker-client-provider.map-configs=a=/etc/podseidon/workers/a,b=/etc/podseidon/workers/b",
  );
  assert.deepEqual(callers, ["--webhook-client-cells=a=a,b=b"]);
});

test("where the network tells who calls, no certificate is asked for, and the cells are named", () => {
  assert.deepEqual(cellFlags("network", ["a", "b"]).callers, [
    "--webhook-client-ca-file=",
    "--webhook-allowed-cells=a,b",
  ]);
});

const imageOfPrint = "--image=images.example.com/podseidon:1";

async function printed(...argv: readonly string[]): Promise<readonly string[]> {
  const stage = createStage();
  const { exitCode, stdout, problem } = await stage.install(...argv, "-o", "yaml");
  assert.equal(exitCode, 0, problem ?? "");
  assert.deepEqual(
    Object.values(stage.clusters).flatMap(({ writes }) => writes),
    [],
  );
  return (loadAll(stdout) as readonly { readonly kind: string }[]).map(({ kind }) => kind);
}

test("each part is printed in an order in which it can be applied, without a cluster", async () => {
  const single = await printed("single", imageOfPrint);
  assert.deepEqual([single[0], single.at(-1)], ["CustomResourceDefinition", "ValidatingWebhookConfiguration"]);
  const core = await printed("core", imageOfPrint, "--cells=a,b");
  assert.equal(core.filter((kind) => kind === "ServiceAccount").length, 4);
  const worker = await printed("worker", imageOfPrint, "--cells=a", "--webhook-address=x.example.com");
  assert.equal(worker.at(-1), "ValidatingWebhookConfiguration");
});

test("what cannot be printed without is asked for", async () => {
  const problem = async (...argv: readonly string[]) => (await createStage().install(...argv, "-o", "yaml")).problem;
  assert.match((await problem("single")) ?? "", /--image is required/);
  assert.match((await problem("core", imageOfPrint)) ?? "", /--cells is required: the names of all cells/);
  assert.match((await problem("worker", imageOfPrint)) ?? "", /--cells is required: the name of this cell/);
  assert.match(
    (await problem("worker", imageOfPrint, "--cells=a,b")) ?? "",
    /--cells: "a,b" is more than one cell; allowed: the name of this worker's cell/,
  );
  assert.match((await problem("worker", imageOfPrint, "--cells=a")) ?? "", /--webhook-address is required/);
});

const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-systemd-"));
after(() => rmSync(folder, { recursive: true }));

test("unit and environment files are printed with where they belong", async () => {
  const { exitCode, stdout } = await createStage().install("systemd", "--cells=w1");
  assert.equal(exitCode, 0);
  assert.match(stdout, /^# \/etc\/systemd\/system\/podseidon@\.service$/m);
  assert.match(stdout, /^# \/etc\/podseidon\/aggregator\.env$/m);
  assert.match(stdout, /^PODSEIDON_FLAG_AGGREGATOR_CELL_ID=w1$/m);
});

test("they are written into a folder, and a dry run writes none", async () => {
  const out = path.join(folder, "out");
  const dry = await createStage().install("systemd", `--out=${out}`, "--dry-run");
  assert.match(dry.stdout, /^would write .*aggregator\.env, for \/etc\/podseidon\/aggregator\.env$/m);
  assert.ok(!existsSync(out));
  const { exitCode } = await createStage().install("systemd", `--out=${out}`);
  assert.equal(exitCode, 0);
  assert.equal(readdirSync(out).length, 5);
  assert.match(readFileSync(path.join(out, "podseidon@.service"), "utf8"), /^ExecStart=/m);
});

test("a second cell, and a folder that cannot be made, are problems", async () => {
  const { problem = "" } = await createStage().install("systemd", "--cells=a,b");
  assert.match(problem, /--cells: "a,b" is more than one cell; allowed: that of the aggregator on this host/);
  const file = path.join(folder, "out", "webhook.env", "below");
  assert.match((await createStage().install("systemd", `--out=${file}`)).problem ?? "", /cannot write/);
});
