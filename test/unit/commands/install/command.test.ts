import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { asList, fieldsOf, type Json } from "../../../../src/api/json.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { argumentsOf, createStage, type Stage } from "./empty-cluster.ts";

const image = "--image=images.example.com/podseidon:1";
const address = "--webhook-address=podseidon.example.com";
const core = ["core", "--core=core", image, address] as const;
const worker = (name: string): readonly string[] => ["worker", "--core=core", `--worker=${name}=${name}`];
const configuration = "/validatingwebhookconfigurations/podseidon";

function caBundles(found: Json | undefined): readonly unknown[] {
  return asList(found?.["webhooks"]).map((entry) => fieldsOf(fieldsOf(entry)["clientConfig"])["caBundle"]);
}

/** A core whose webhook answers every worker, without client certificates. */
async function coreOfNetwork(stage: Stage): Promise<void> {
  const ran = await stage.install(...core, "--callers=network", "--yes");
  assert.equal(ran.exitCode, 0, ran.problem ?? "");
}

test("one cluster is installed by one command, its webhook configuration last", async () => {
  const stage = createStage();
  const { core: cluster } = stage.clusters;
  cluster.answersAs = "default";
  const { exitCode, problem, stdout } = await stage.install("single", image, "--yes");
  assert.equal(exitCode, 0, problem ?? "");
  assert.match(stdout, /^step 4: done$/m);
  assert.match(stdout, /^Deletions are guarded$/m);
  assert.match(cluster.writes.at(-1) ?? "", /POST .*validatingwebhookconfigurations$/);
  const ca = Buffer.from("authority").toString("base64");
  assert.deepEqual(caBundles(cluster.find(configuration)), [ca, ca, ca]);
});

test("a plan says what would be made, and changes nothing", async () => {
  const stage = createStage();
  const dry = await stage.install("single", image, "--dry-run");
  assert.equal(dry.exitCode, 0);
  assert.match(dry.stdout, /^1\. Make the CRD of PodProtectors\n {3}create CustomResourceDefinition/);
  assert.match(dry.stdout, /create Deployment podseidon-system\/podseidon-generator,/);
  const unconfirmed = await stage.install("single", image);
  assert.equal(unconfirmed.exitCode, 2);
  assert.match(unconfirmed.problem ?? "", /nothing was changed\. To carry this out, add --yes/);
  assert.deepEqual(stage.clusters.core.writes, []);
});

test("run again, it changes nothing and needs no option that was given before", async () => {
  const stage = createStage();
  stage.clusters.core.answersAs = "default";
  await stage.install("single", image, "--yes");
  stage.clusters.core.writes.length = 0;
  const dry = await stage.install("single", "--dry-run");
  assert.match(dry.stdout, /Everything is in place/);
  assert.equal((await stage.install("single", "--yes")).exitCode, 0);
  assert.deepEqual(stage.clusters.core.writes, []);
});

test("a core and two workers take three commands where the network says who calls", async () => {
  const stage = createStage();
  const { core: cluster, w1, w2 } = stage.clusters;
  await coreOfNetwork(stage);
  assert.equal(cluster.find("/deployments/podseidon-webhook"), undefined, "it has nobody to serve yet");
  for (const [name, one] of [["w1", w1] as const, ["w2", w2] as const]) {
    one.answersAs = name;
    const { exitCode, problem, stdout } = await stage.install(...worker(name), "--yes");
    assert.equal(exitCode, 0, problem ?? "");
    assert.match(stdout.replaceAll(/\s+/g, " "), new RegExp(`token of podseidon-aggregator-${name} ends 2026-01-08T`));
    assert.equal(
      one.secret("podseidon-core-kubeconfig", "token"),
      `token of podseidon-aggregator-${name} for 604800 s`,
    );
    assert.match(
      one.secret("podseidon-core-kubeconfig", "kubeconfig") ?? "",
      /server: https:\/\/core\.example\.com:6443/,
    );
    assert.match(cluster.secret("podseidon-worker-kubeconfigs", name) ?? "", new RegExp(`tokenFile: ${name}\\.token`));
    assert.equal(fieldsOf(asList(one.find(configuration)?.["webhooks"])[0])["failurePolicy"], "Fail");
  }
  const args = argumentsOf(cluster.find("/deployments/podseidon-webhook"));
  assert.ok(args.includes("--webhook-allowed-cells=w1,w2"), args.join(" "));
  assert.ok(cluster.find("/serviceaccounts/podseidon-aggregator-w2") !== undefined);
});

test("two workers that are installed at once are both served, whoever writes last", async () => {
  const stage = createStage();
  const { core: cluster, w1, w2 } = stage.clusters;
  await coreOfNetwork(stage);
  w1.answersAs = "w1";
  w2.answersAs = "w2";
  const request = cluster.request.bind(cluster);
  cluster.request = async (asked) => {
    // All of the second worker's between the first one's look at the cells and its write.
    if (asked.path.endsWith("/deployments") && asked.method === "POST") {
      cluster.request = request;
      assert.equal((await stage.install(...worker("w2"), "--yes")).exitCode, 0);
      throw new KubeError("alreadyExists", "409");
    }
    return request(asked);
  };
  const first = await stage.install(...worker("w1"), "--yes");
  assert.equal(first.exitCode, 0, first.problem ?? "");
  const args = argumentsOf(cluster.find("/deployments/podseidon-webhook"));
  assert.ok(args.includes("--webhook-allowed-cells=w1,w2"), args.join(" "));
});

test("a core is not made a single cluster by a slip, nor the other way round", async () => {
  const stage = createStage();
  await coreOfNetwork(stage);
  const before = stage.clusters.core.writes.length;
  const slip = await stage.install("single", image, "--yes");
  assert.deepEqual([slip.exitCode, stage.clusters.core.writes.length], [1, before]);
  assert.match(
    slip.problem ?? "",
    /^install: core is installed as core, and its webhook cannot be both; look at --core/,
  );
  const other = createStage();
  other.clusters.core.answersAs = "default";
  await other.install("single", image, "--yes");
  for (const part of [core, [...worker("w1"), address]])
    assert.match((await other.install(...part, "--yes")).problem ?? "", /core is installed as single, and its webhook/);
});

test("with client certificates it writes files for the API servers, stops, and goes on when run again", async () => {
  const stage = createStage();
  const { core: cluster, w1 } = stage.clusters;
  await stage.install(...core, "--yes");
  const folder = path.join(mkdtempSync(path.join(os.tmpdir(), "podseidon-client-")), "w1");
  try {
    const first = await stage.install(...worker("w1"), `--out=${folder}`, "--yes");
    assert.equal(first.exitCode, 1);
    assert.match(first.problem ?? "", /put the files of .* on their hosts/);
    assert.match(first.stdout, /^ {2}podseidon install worker --core=core --worker=w1=w1 --out=\S+ --yes$/m);
    assert.equal(w1.find("/validatingwebhookconfigurations/podseidon"), undefined);
    assert.equal(w1.find("/validatingwebhookconfigurations/podseidon-trial"), undefined);
    const names = readdirSync(folder).toSorted();
    assert.deepEqual(names, ["admission.yaml", "client-ca.crt", "client.crt", "client.key", "kubeconfig"]);
    assert.equal(statSync(path.join(folder, "client.key")).mode & 0o077, 0);
    const authority = readFileSync(path.join(folder, "client-ca.crt"), "utf8");
    assert.equal(cluster.secret("podseidon-webhook-clients", "ca.crt"), authority);
    w1.answersAs = "w1";
    const second = await stage.install(...worker("w1"), `--out=${folder}`, "--yes");
    assert.equal(second.exitCode, 0, second.problem ?? "");
    assert.equal(cluster.secret("podseidon-webhook-clients", "ca.crt"), authority, "it is kept");
    assert.ok(w1.find("/validatingwebhookconfigurations/podseidon") !== undefined);
  } finally {
    rmSync(path.dirname(folder), { recursive: true });
  }
});

test("a webhook that does not answer guards nothing: the run ends with the reason, and nothing refuses", async () => {
  const stage = createStage();
  const { exitCode, problem, stdout, stderr } = await stage.install("single", image, "--yes");
  assert.equal(exitCode, 1);
  assert.match(problem ?? "", /step 4 is not done: core: the API server gets no answer from the webhook: .*refused/);
  assert.match(stdout, /What is done stays\. To go on:\n {2}podseidon install single --image=\S+ --yes\n/);
  assert.match(stderr[0] ?? "", /^step 4: waiting: /);
  assert.equal(stage.clusters.core.find("validatingwebhookconfigurations/podseidon"), undefined);
  assert.equal(stage.clusters.core.find("validatingwebhookconfigurations/podseidon-trial"), undefined);
});

test("a generator that publishes no authority is the reason when deletions are not guarded", async () => {
  const stage = createStage();
  stage.clusters.core.publishes = false;
  const { exitCode, problem } = await stage.install("single", image, "--yes");
  assert.equal(exitCode, 1);
  assert.match(problem ?? "", /step 4 is not done: core: the generator has published no authority in ConfigMap/);
});

test("a right that is missing is named, and ends the run before what rests on it", async () => {
  const stage = createStage();
  stage.clusters.core.forbidden = /^POST .*clusterroles$/;
  const { exitCode, problem } = await stage.install("single", image, "--yes");
  assert.equal(exitCode, 1);
  assert.match(problem ?? "", /core: you may not create clusterroles\.rbac\.authorization\.k8s\.io .*cluster-admin/);
  assert.equal(stage.clusters.core.find("/deployments/podseidon-generator"), undefined);
});

test("what must be known the first time is asked for by its flag", async () => {
  const stage = createStage();
  assert.match((await stage.install("single", "--yes")).problem ?? "", /--image is required the first time/);
  assert.match((await stage.install("core", image, "--yes")).problem ?? "", /--webhook-address is required/);
  assert.match(
    (await stage.install(...worker("w1"), "--yes")).problem ?? "",
    /as a core; first run: podseidon install core --core=core --image=IMAGE --webhook-address=HOST --yes/,
  );
  assert.match((await stage.install("all")).problem ?? "", /"all" is unknown; allowed: core, worker, single, systemd/);
});

test("programs get the plan and what came of it as JSON", async () => {
  const stage = createStage();
  stage.clusters.core.answersAs = "default";
  const { stdout } = await stage.install("single", image, "--yes", "-o", "json");
  const { part, steps, results } = JSON.parse(stdout) as {
    part: string;
    steps: readonly unknown[];
    results: unknown[];
  };
  assert.deepEqual([part, steps.length, results.length], ["single", 4, 4]);
});
