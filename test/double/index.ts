/**
 * The API double: a Kubernetes API server in this process, for tests, the demo and (without the HTTP front) the simulation. Not part of the
 * product.
 *
 * - engine/       one cluster: storage, verbs, admission, watches. No sockets; time, randomness and webhook calls are injected.
 * - rest/         method + path + body to an answer of the engine. No sockets either: a simulated network stands on it.
 * - http/         the HTTP front, the default webhook client, kubeconfig files.
 * - server.ts     startApiServer: an engine behind a listener on loopback, with a few faults.
 * - controllers/  Deployment, ReplicaSet, scheduler, kubelet and garbage collector, acting through the engine.
 *
 * What it does not imitate is answered with 501 NotImplemented. Known limits: CEL rules of CRDs are not evaluated, fields of built-in
 * types are neither pruned nor fully validated, strategic merge patches and apply are refused, namespaces are never emptied.
 */
export { type ApiServer, startApiServer } from "./server.ts";
export { Engine, systemAdmin } from "./engine/engine.ts";
export { type CallWebhook } from "./engine/admission.ts";
export { type JsonObject, type KubeObject, asArray, asObject } from "./engine/object.ts";
export { type ResourceType, builtInResources } from "./engine/resources.ts";
export { isApiError } from "./engine/status.ts";
export { type WatchEvent } from "./engine/watch.ts";
export { type Authorizer, handleRest } from "./rest/rest.ts";
export { createWebhookClient } from "./http/webhook-client.ts";
export { type Controllers, startControllers } from "./controllers/index.ts";
export { permissivePodProtectorCrd, upstreamPodProtectorCrd } from "./pod-protector-crd.ts";
