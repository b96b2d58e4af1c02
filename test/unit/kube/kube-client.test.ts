import assert from "node:assert/strict";
import { test } from "node:test";
import { asKubeError, errorLabel, isKubeError, KubeError, resourcePath } from "../../../src/kube/kube-client.ts";
import { pods, podProtectors } from "../../../src/kube/resources.ts";

test("paths of the core group and of others, of all namespaces, of one object and of a subresource", () => {
  assert.equal(resourcePath(pods), "/api/v1/pods");
  assert.equal(resourcePath(pods, { namespace: "a", name: "b" }), "/api/v1/namespaces/a/pods/b");
  assert.equal(
    resourcePath(podProtectors, { namespace: "a", name: "b", subresource: "status" }),
    "/apis/podseidon.kubewharf.io/v1alpha1/namespaces/a/podprotectors/b/status",
  );
});

test("a name from outside cannot leave its place in the path", () => {
  assert.equal(resourcePath(pods, { namespace: "a/b", name: "../c?d" }), "/api/v1/namespaces/a%2Fb/pods/..%2Fc%3Fd");
});

test("a KubeError is recognised by its kind, and nothing else is one", () => {
  const error = new KubeError("conflict", "somebody was faster", { code: 409 });
  assert.equal(isKubeError(error), true);
  assert.equal(isKubeError(error, "notFound", "conflict"), true);
  assert.equal(isKubeError(error, "notFound"), false);
  assert.equal(isKubeError(new Error("conflict"), "conflict"), false);
});

test("what is caught is a KubeError, or a mistake that goes on as it is", () => {
  const error = new KubeError("conflict", "somebody was faster");
  assert.equal(asKubeError(error), error);
  const mistake = new TypeError("undefined is not a function");
  assert.throws(() => asKubeError(mistake), mistake);
});

test("a metric's label is the kind of a KubeError, and Unknown for anything else", () => {
  assert.equal(errorLabel(new KubeError("conflict", "somebody was faster")), "conflict");
  assert.equal(errorLabel(new TypeError("undefined is not a function")), "Unknown");
  assert.equal(errorLabel(undefined), "Unknown");
});
