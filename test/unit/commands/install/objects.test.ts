import assert from "node:assert/strict";
import { test } from "node:test";
import { type Json } from "../../../../src/api/json.ts";
import {
  cellFlags,
  coreObjects,
  singleObjects,
  systemdFiles,
  workerObjects,
} from "../../../../src/commands/install/objects.ts";
import {
  assertSameObjects,
  type Installation,
  installations,
  renderedByKustomize,
} from "../../../manifests/installations.ts";
import { type Deployment, type Manifest, onlyOne } from "../../../manifests/manifest-files.ts";

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
