import assert from "node:assert/strict";
import { test } from "node:test";
import { fieldsOf } from "../../../../src/api/json.ts";
import {
  type HandOver,
  handOverStep,
  isOfThisMachine,
  readAddress,
} from "../../../../src/commands/install/hand-over.ts";
import { Problem } from "../../../../src/config/reading/problem.ts";
import { createStage, kubeconfig } from "./empty-cluster.ts";

const reads = (text: string) => ({
  environment: { KUBECONFIG: "/kube/config" },
  readFile(file: string) {
    if (file === "/kube/config") return text;
    if (file === "/kube/ca.crt") return "authority";
    throw new Error(file);
  },
});

function withCluster(cluster: object): string {
  const contexts = [{ name: "a", context: { cluster: "x" } }];
  return JSON.stringify({ "current-context": "a", contexts, clusters: [{ name: "x", cluster }] });
}

function handOver(stage: ReturnType<typeof createStage>, authority: string | undefined): HandOver {
  return {
    title: "Give access",
    from: stage.siteOf("core"),
    account: "podseidon-aggregator-w1",
    address: { server: "https://core:6443", authority },
    to: stage.siteOf("w1"),
    secret: "podseidon-core-kubeconfig",
    key: "kubeconfig",
    tokenKey: "token",
    seconds: 3_600,
  };
}

test("the address is that of the context, or the one that is given, with the context's authority", () => {
  const at = (text: string, given?: string) => readAddress(undefined, undefined, given, reads(text));
  assert.deepEqual(at(kubeconfig), { server: "https://core.example.com:6443", authority: "ca" });
  assert.deepEqual(at(kubeconfig, "https://other"), { server: "https://other", authority: "ca" });
  const file = withCluster({ server: "https://x", "certificate-authority": "ca.crt" });
  assert.deepEqual(at(file), { server: "https://x", authority: "authority" });
  assert.deepEqual(at(withCluster({ server: "https://x" })), { server: "https://x", authority: undefined });
});

test("an address that cannot be handed over is a problem that names the context", () => {
  const at = (cluster: object): string => {
    const found = readAddress(undefined, undefined, undefined, reads(withCluster(cluster)));
    return found instanceof Problem ? found.message : "";
  };
  assert.match(at({}), /the context "a" names no cluster with a server/);
  assert.match(at({ server: "http://x" }), /"http:\/\/x": it is no https URL/);
  assert.match(at({ server: "https://x", "certificate-authority": "no.crt" }), /"\/kube\/no\.crt", which cannot be/);
});

test("a run makes the Secret, says when the token ends, and renews it when run again", async () => {
  const stage = createStage();
  const step = handOverStep(handOver(stage, "authority"));
  const said: string[] = [];
  assert.equal(await step.run((line) => said.push(line)), undefined);
  assert.match(said.join(), /ends 2026-01-08T00:00:00Z; to renew it, run this again/);
  const { w1 } = stage.clusters;
  assert.equal(w1.secret("podseidon-core-kubeconfig", "token"), "token of podseidon-aggregator-w1 for 3600 s");
  const text = w1.secret("podseidon-core-kubeconfig", "kubeconfig") ?? "";
  assert.match(text, /certificate-authority-data: YXV0aG9yaXR5\n/);
  assert.match(text, /tokenFile: token\n/);
  assert.equal(await step.run(() => {}), undefined);
});

test("when the token ends is noted on its account, where it can be read without reading a Secret", async () => {
  const stage = createStage();
  assert.equal(await handOverStep(handOver(stage, "authority")).run(() => {}), undefined);
  const { annotations } = fieldsOf(stage.clusters.core.find("/podseidon-aggregator-w1")?.["metadata"]);
  const note = String(fieldsOf(annotations)["podseidon.kubewharf.io/handed-token"]);
  assert.match(note, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\/2026-01-08T00:00:00Z$/);
});

test("without an authority in the kubeconfig that of the cluster itself is taken", async () => {
  const stage = createStage();
  const path = "/api/v1/namespaces/podseidon-system/configmaps/kube-root-ca.crt";
  stage.clusters.core.objects.set(path, { data: { "ca.crt": "root" } });
  assert.equal(await handOverStep(handOver(stage, undefined)).run(() => {}), undefined);
  assert.match(stage.clusters.w1.secret("podseidon-core-kubeconfig", "kubeconfig") ?? "", /data: cm9vdA==\n/);
});

test("an address of this machine alone is pointed out, with the option that names another", async () => {
  const stage = createStage();
  const local = { ...handOver(stage, "x"), address: { server: "https://127.0.0.1:6443", authority: "x" } };
  const { changes } = await handOverStep(local).plan();
  assert.match(changes.join(), /mind that https:\/\/127\.0\.0\.1:6443 is an address of this machine: --core-server/);
  assert.ok(isOfThisMachine({ server: "https://[::1]:1", authority: undefined }));
  assert.ok(!isOfThisMachine({ server: "https://core:6443", authority: undefined }));
});

test("a token that may not be made is a problem that names the right", async () => {
  const stage = createStage();
  stage.clusters.core.forbidden = /token$/;
  assert.match((await handOverStep(handOver(stage, "x")).run(() => {})) ?? "", /may not create serviceaccounts\/token/);
});
