/** The generator of the Go original, as far as a Deployment that stays: its finalizer, and an unmarked PodProtector. */
import { objectKey } from "../../../src/api/object-key.ts";
import { parseResourceVersion } from "../../../src/api/resource-version.ts";
import { finalizer, sourceLabels } from "../../../src/api/v1alpha1/names.ts";
import { type Stored } from "../../../src/kube/informer.ts";
import { type KubeClient, resourcePath } from "../../../src/kube/kube-client.ts";
import { podProtectors } from "../../../src/kube/resources.ts";
import { createInformer } from "../../../src/kube/watch/index.ts";
import { type Component, createBackground } from "../../../src/lifecycle/component.ts";
import { connectCores, type Runtime } from "../../../src/roles/runtime.ts";
import { asObject, type KubeObject } from "../../double/engine/object.ts";

const deployments = { group: "apps", version: "v1", resource: "deployments" };
const retryMs = 1_000;

interface Source extends Stored {
  readonly object: KubeObject;
}

export async function createOriginalGenerator(runtime: Runtime): Promise<Component[]> {
  const [core] = await connectCores(runtime);
  if (core === undefined) throw new Error("an original generator has one core");
  const { clock, rng, logger, metrics } = runtime;
  const informer = createInformer<Source>({
    client: core.client,
    resource: deployments,
    namespace: undefined,
    name: "deployments",
    decode(raw) {
      const object = { apiVersion: "apps/v1", kind: "Deployment", ...(raw as object) } as KubeObject;
      const { namespace = "", name, uid, resourceVersion } = object.metadata;
      const version = parseResourceVersion(resourceVersion);
      return version && { key: objectKey(namespace, name), uid, resourceVersion: version, object };
    },
    clock,
    rng,
    logger,
    metrics,
  });
  const reconcile = (key: Source["key"]): void => {
    const source = informer.get(key);
    if (source !== undefined)
      protect(core.client, source.object).catch(() => clock.setTimer(retryMs, () => reconcile(key)));
  };
  informer.subscribe({ onEvent: ({ object: { key } }) => void clock.setTimer(0, () => reconcile(key)) });
  return [createBackground("original-generator", (signal) => informer.run(signal))];
}

/** The whole Deployment is written back with the finalizer first. */
async function protect(client: KubeClient, source: KubeObject): Promise<void> {
  const { namespace = "", name, uid, finalizers = [] } = source.metadata;
  if (!finalizers.includes(finalizer)) {
    const body = { ...source, metadata: { ...source.metadata, finalizers: [...finalizers, finalizer] } };
    await client.request({ method: "PUT", path: resourcePath(deployments, { namespace, name }), body });
  }
  const { replicas, minReadySeconds = 0, selector, strategy } = asObject(source.spec);
  const { maxUnavailable } = asObject(asObject(strategy)["rollingUpdate"]);
  const body = {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: {
      name: `deployment-${name}`,
      finalizers: [finalizer],
      labels: {
        [sourceLabels.name]: name,
        [sourceLabels.group]: "apps",
        [sourceLabels.kind]: "Deployment",
        [sourceLabels.resource]: "deployments",
      },
      ownerReferences: [{ apiVersion: "apps/v1", kind: "Deployment", name, uid, controller: true }],
    },
    spec: { minAvailable: Math.max(0, Number(replicas) - Number(maxUnavailable)), minReadySeconds, selector },
  };
  await client.request({ method: "POST", path: resourcePath(podProtectors, { namespace }), body }).catch(() => {});
}
