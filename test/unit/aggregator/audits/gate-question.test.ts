import assert from "node:assert/strict";
import { test } from "node:test";
import { askGate } from "../../../../src/aggregator/audits/gate-question.ts";
import { gateWarning, releaseWarning } from "../../../../src/api/gate-warning.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";

const pod = { namespace: "quiet", name: "dummy" };
const marked = { kind: "Pod", metadata: { annotations: { "podseidon.kubewharf.io/update-trigger-time": "" } } };

test("the question is one dry-run deletion, with the limits of whoever asks", async () => {
  const worker = createScriptedKubeClient();
  worker.onRequest = ({ onWarnings }) => {
    onWarnings?.([gateWarning("a")]);
    return marked;
  };
  assert.deepEqual(await askGate(worker, pod, "a", { timeoutMs: 7 }), { kind: "ok" });
  assert.deepEqual(await askGate(worker, pod, "b", {}), { kind: "other-cell", cell: "a" });
  const [first] = worker.requests;
  assert.deepEqual(
    [first?.method, first?.path, first?.query, first?.timeoutMs],
    ["DELETE", "/api/v1/namespaces/quiet/pods/dummy", { dryRun: "All" }, 7],
  );
});

test("the release of the webhook that answers is told beside the finding", async () => {
  const worker = createScriptedKubeClient();
  const told: string[] = [];
  const onRelease = (release: string): void => void told.push(release);
  worker.onRequest = ({ onWarnings }) => {
    onWarnings?.([gateWarning("a")]);
    return marked;
  };
  assert.deepEqual(await askGate(worker, pod, "a", { onRelease }), { kind: "ok" });
  assert.deepEqual(told, [], "one of an earlier release does not tell");
  worker.onRequest = ({ onWarnings }) => {
    onWarnings?.(["another's", gateWarning("a"), releaseWarning("0.1.0 (abc)")]);
    return marked;
  };
  assert.deepEqual(await askGate(worker, pod, "a", { onRelease }), { kind: "ok" });
  assert.deepEqual(told, ["0.1.0 (abc)"]);
});

test("what an answer without our warning means depends on the pod and on the failure", async () => {
  const worker = createScriptedKubeClient();
  worker.onRequest = () => marked;
  assert.deepEqual(await askGate(worker, pod, "a", {}), { kind: "missing" });
  worker.onRequest = () => ({ kind: "Pod", metadata: {} });
  assert.equal(((await askGate(worker, pod, "a", {})) as { kind: string }).kind, "unknown");
  const failing = async (error: KubeError): Promise<unknown> => {
    worker.onRequest = () => {
      throw error;
    };
    const found = await askGate(worker, pod, "a", {});
    return found === "no pod" ? found : found.kind;
  };
  assert.equal(await failing(new KubeError("notFound", "404")), "no pod");
  assert.equal(await failing(new KubeError("forbidden", "403")), "unknown");
  const failed = 'failed calling webhook "podseidon.kubewharf.io": refused';
  assert.equal(await failing(new KubeError("serverError", failed)), "unreachable");
});
