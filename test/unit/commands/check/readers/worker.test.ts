import assert from "node:assert/strict";
import { createServer, type Server } from "node:https";
import { type AddressInfo } from "node:net";
import { test } from "node:test";
import { gateWarning, releaseWarning } from "../../../../../src/api/gate-warning.ts";
import { parseTime } from "../../../../../src/api/micro-time.ts";
import { issueServerCertificate } from "../../../../../src/certificates/index.ts";
import { type EntryFacts } from "../../../../../src/commands/check/facts.ts";
import { readServed } from "../../../../../src/commands/check/readers/served-certificate.ts";
import { readTokens } from "../../../../../src/commands/check/readers/tokens.ts";
import { listEntries } from "../../../../../src/commands/check/readers/webhook-entries.ts";
import { readWorker, type WorkerQuestion } from "../../../../../src/commands/check/readers/worker.ts";
import { type KubeRequest } from "../../../../../src/kube/kube-client.ts";
import { type Manifest, onlyOne, render } from "../../../../manifests/manifest-files.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";

const signalOfServedCertificate = new AbortController().signal;
const issued = await issueServerCertificate({ dnsNames: [], ipAddresses: ["127.0.0.1"], days: 100, now: new Date() });
const { certificate: cert, privateKey: key, caCertificate } = issued;

const { signal } = new AbortController();
const list = (...items: readonly object[]): object => ({ metadata: { resourceVersion: "1" }, items });
const service = { namespace: "podseidon-system", name: "podseidon-webhook", path: "/a" };
const nodeLease = {
  metadata: {
    name: "node-1",
    managedFields: [{ time: "2026-01-01T00:00:00Z", fieldsV1: { "f:spec": { "f:renewTime": {} } } }],
  },
  spec: { holderIdentity: "node-1", renewTime: "2026-01-01T08:00:00.000000Z" },
};
const configuration = {
  metadata: { name: "podseidon", labels: { "app.kubernetes.io/name": "podseidon" } },
  webhooks: [{ name: "x", clientConfig: { service }, rules: [{ operations: ["DELETE"], resources: ["pods"] }] }],
};

function aggregator(name: string, ...args: readonly string[]): object {
  const spec = { serviceAccountName: "podseidon-aggregator", containers: [{ args }] };
  const labels = { "app.kubernetes.io/component": "aggregator" };
  return { metadata: { name, labels }, spec: { template: { spec } } };
}

/** What is asked, and the facts that are read. */
async function read(deployments: readonly object[], more: Partial<WorkerQuestion> = {}) {
  const client = createScriptedKubeClient();
  client.onRequest = ({ path, method, onWarnings }: KubeRequest) => {
    if (path.endsWith("/validatingwebhookconfigurations")) return list(configuration);
    if (path.endsWith("/deployments")) return list(...deployments);
    if (path.endsWith("/kube-node-lease/leases")) return list(nodeLease, { spec: {} });
    if (path.endsWith("/namespaces/kube-system")) return { metadata: { uid: "u" } };
    if (path.endsWith("/serviceaccounts")) return list({ metadata: { name: "podseidon-aggregator" } });
    if (path.endsWith("/subjectaccessreviews")) return { status: { allowed: false } };
    if (method === "DELETE") onWarnings?.([gateWarning("a"), releaseWarning("0.1.0 (abc)")]);
    return {};
  };
  const question = {
    name: "a",
    isNamed: true,
    client,
    systemNamespace: "podseidon-system",
    dummyPod: undefined,
    ...more,
  };
  const clock = createVirtualClock();
  const facts = await readWorker(question, { clock, signal });
  assert.equal(clock.pendingTimers, 0);
  const deleted = client.requests.filter(({ method }) => method === "DELETE").map(({ path }) => path);
  assert.ok(client.requests.every(({ method, query }) => method !== "DELETE" || query?.["dryRun"] === "All"));
  return { facts, deleted };
}

test("a worker is asked by a dry-run deletion of the dummy pod that its aggregators' flags name", async () => {
  const flags = ["--update-trigger-dummy-pod-namespace=quiet", "--update-trigger-dummy-pod-name=dummy"];
  const { facts, deleted } = await read([aggregator("one", ...flags), aggregator("two", ...flags)]);
  assert.deepEqual(deleted, ["/api/v1/namespaces/quiet/pods/dummy"]);
  assert.deepEqual([...facts.gates], [["quiet/dummy", { kind: "other-cell", cell: "a" }]]);
  assert.deepEqual(facts.webhookReleases, ["0.1.0 (abc)"]);
  assert.deepEqual(facts.clusterUID, { ok: true, value: "u" });
  const [renewedAt, writtenAt] = [parseTime("2026-01-01T08:00:00Z"), parseTime("2026-01-01T00:00:00Z")];
  assert.deepEqual(facts.nodes, { ok: true, value: [{ name: "node-1", holder: "node-1", renewedAt, writtenAt }] });
});

test("without flags the dummy pod is that of the manifests, or the one that a person names", async () => {
  const usual = "/api/v1/namespaces/podseidon-update-trigger/pods/podseidon-update-trigger";
  assert.deepEqual((await read([])).deleted, [usual]);
  const dummyPod = { namespace: "n", name: "p" };
  assert.deepEqual((await read([aggregator("one")], { dummyPod })).deleted, ["/api/v1/namespaces/n/pods/p"]);
});

test("a Service is not called from here, which is said", async () => {
  const { facts } = await read([]);
  const url = "https://podseidon-webhook.podseidon-system.svc/a";
  assert.deepEqual(
    [...facts.served],
    [[url, { ok: false, why: "a Service cannot be reached from here", isPrivate: true }]],
  );
});

test("rights are those of the accounts that are there, as their flags need them", async () => {
  const { facts } = await read([
    aggregator(
      "blue",
      "--aggregator-leader-elector-name=podseidon-aggregator-blue",
      "--worker-kube-target-namespace=team",
    ),
  ]);
  assert.ok(facts.rights.ok);
  const rights = facts.rights.value.map(({ account, right }) => `${account} ${right}`);
  assert.ok(rights.includes("podseidon-aggregator list pods in team"), rights.join("\n"));
  assert.ok(
    rights.includes(
      "podseidon-aggregator update leases.coordination.k8s.io podseidon-aggregator-blue in podseidon-system",
    ),
  );
  assert.ok(!rights.some((right) => right.startsWith("podseidon-webhook")));
});

const signalOfWebhookEntries = new AbortController().signal;

async function entriesOf(...items: readonly object[]): Promise<readonly EntryFacts[]> {
  const client = createScriptedKubeClient();
  client.onRequest = () => ({ metadata: { resourceVersion: "1" }, items });
  return listEntries(client, signalOfWebhookEntries);
}

const manifest = (overlay: string): Manifest => onlyOne(render(overlay), "ValidatingWebhookConfiguration");

test("of the manifests' configuration one entry is the main one, and the address of its Service is read", async () => {
  const entries = await entriesOf(manifest("overlays/single-cluster"));
  assert.deepEqual(
    entries.map(({ isMain }) => isMain),
    [true, false, false],
  );
  const [main] = entries;
  assert.equal(main?.url, "https://podseidon-webhook.podseidon-system.svc/default");
  assert.equal(main?.isService, true);
  assert.equal(main?.cell, "default");
  assert.equal(main?.failurePolicy, "Fail");
  assert.deepEqual(main?.rules, ["DELETE pods", "CREATE pods/eviction"]);
  assert.equal(main?.hasObjectSelector, false);
});

test("of a worker's configuration the cell is the end of the URL", async () => {
  const [main] = await entriesOf(manifest("overlays/worker"));
  assert.equal(main?.url, "https://podseidon.example.com/worker-1");
  assert.equal(main?.cell, "worker-1");
  assert.equal(main?.isService, false);
});

const rule = { operations: ["*"], resources: ["*/*"] };
const foreign = {
  metadata: { name: "foreign" },
  webhooks: [{ name: "a.example.com", clientConfig: { url: "https://a" }, rules: [rule] }],
};

test("configurations of others are left out, those that carry our label or our domain are not", async () => {
  assert.deepEqual(await entriesOf(foreign, { metadata: { name: "empty" } }), []);
  const labelled = { ...foreign, metadata: { name: "x", labels: { "app.kubernetes.io/name": "podseidon" } } };
  assert.equal((await entriesOf(labelled)).length, 1);
});

test("wildcards ask about everything, and a rule about other things is no main entry", async () => {
  const metadata = { name: "x", labels: { "app.kubernetes.io/name": "podseidon" } };
  const clientConfig = { url: "https://a/%77orker-1?x=/y", caBundle: Buffer.from("pem").toString("base64") };
  const selector = { objectSelector: { matchLabels: { a: "b" } } };
  const [all, other] = await entriesOf({
    metadata,
    webhooks: [
      { name: "a", clientConfig, rules: [rule], ...selector },
      { name: "b", clientConfig, rules: [{ operations: ["UPDATE"], resources: ["pods/status"] }] },
    ],
  });
  assert.ok(all?.isMain === true && all.rules.includes("DELETE pods") && all.rules.includes("CREATE pods/eviction"));
  assert.deepEqual([all.cell, all.caBundle, all.hasObjectSelector], ["worker-1", "pem", true]);
  assert.equal(other?.isMain, false);
});

/** A webhook on loopback, for as long as `body` runs. */
async function serving(status: number | "hang-up", body: (url: string) => Promise<void>): Promise<void> {
  const server: Server = createServer({ cert, key }, (request, response) => {
    if (status === "hang-up") request.socket.destroy();
    else response.writeHead(status).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  try {
    await body(`https://127.0.0.1:${(server.address() as AddressInfo).port}/worker-1`);
  } finally {
    server.closeAllConnections();
    await new Promise((resolve) => void server.close(resolve));
  }
}

test("a certificate of the authorities is trusted, and read with its times and the answer to a stranger", () =>
  serving(401, async (url) => {
    const clock = createVirtualClock();
    const read = await readServed(url, caCertificate, { clock, signal: signalOfServedCertificate });
    assert.ok(read.ok);
    assert.equal(read.value.distrust, undefined);
    assert.equal(read.value.status, 401);
    const days = (read.value.validTo - read.value.validFrom) / 86_400_000_000;
    assert.ok(days > 99 && days < 102, String(days));
    assert.equal(clock.pendingTimers, 0);
  }));

test("a certificate of another authority is shown, with the reason why it is not trusted", () =>
  serving(405, async (url) => {
    const other = await issueServerCertificate({ dnsNames: ["x"], ipAddresses: [], days: 1, now: new Date() });
    const read = await readServed(url, other.caCertificate, {
      clock: createVirtualClock(),
      signal: signalOfServedCertificate,
    });
    assert.ok(read.ok && read.value.distrust !== undefined);
    assert.equal(read.value.status, 405);
  }));

test("a certificate for another name is not trusted", () =>
  serving(405, async (url) => {
    const read = await readServed(url.replace("127.0.0.1", "localhost"), caCertificate, {
      clock: createVirtualClock(),
      signal: signalOfServedCertificate,
    });
    assert.match(read.ok ? String(read.value.distrust) : "", /ALTNAME|altnames|does not match/i);
  }));

test("a webhook that hangs up has shown its certificate before", () =>
  serving("hang-up", async (url) => {
    const read = await readServed(url, caCertificate, {
      clock: createVirtualClock(),
      signal: signalOfServedCertificate,
    });
    assert.ok(read.ok);
    assert.deepEqual([read.value.distrust, read.value.status], [undefined, undefined]);
  }));

test("an address that nobody answers at, or that is none, cannot be reached from here", async () => {
  const reader = { clock: createVirtualClock(), signal: signalOfServedCertificate };
  for (const url of ["https://127.0.0.1:1/worker-1", "nonsense"]) {
    const read = await readServed(url, caCertificate, reader);
    assert.match(read.ok ? "" : read.why, /^it cannot be reached from here/, url);
  }
});

const signalOfTokens = new AbortController().signal;

test("the notes on accounts are read, and accounts without one have handed out no token", async () => {
  const client = createScriptedKubeClient();
  const noted = (name: string, text: string) => ({
    metadata: { name, annotations: { "podseidon.kubewharf.io/handed-token": text } },
  });
  client.onRequest = () => ({
    metadata: { resourceVersion: "1" },
    items: [
      noted("a", "2026-01-01T00:00:00Z/2026-01-08T00:00:00Z"),
      noted("b", "some day"),
      { metadata: { name: "default" } },
    ],
  });
  const [from, to] = [parseTime("2026-01-01T00:00:00Z"), parseTime("2026-01-08T00:00:00Z")];
  assert.deepEqual(
    await readTokens(client, "podseidon-system", { clock: createVirtualClock(), signal: signalOfTokens }),
    {
      ok: true,
      value: [
        { account: "a", validity: { from, to } },
        { account: "b", validity: undefined },
      ],
    },
  );
});
