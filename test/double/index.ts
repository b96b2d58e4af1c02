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
export { type ApiServer, type ApiServerOptions, startApiServer } from "./server.ts";
export { Engine, type EngineOptions, type RequestOptions, systemAdmin } from "./engine/engine.ts";
export { type AdmissionAttributes, type CallWebhook, type Caller } from "./engine/admission.ts";
export { type JsonObject, type KubeObject, type Metadata, asArray, asObject } from "./engine/object.ts";
export { type ResourceType, builtInResources } from "./engine/resources.ts";
export { ApiError, type Status, isApiError } from "./engine/status.ts";
export { type ListQuery, type ListResult } from "./engine/list.ts";
export { type Watch, type WatchEvent, type WatchQuery, type WatchSink } from "./engine/watch.ts";
export { type Authorizer, type RestRequest, type RestResponse, handleRest } from "./rest/rest.ts";
export { type Verb } from "./rest/route.ts";
export { createWebhookClient } from "./http/webhook-client.ts";
export { type ControllerOptions, type Controllers, startControllers } from "./controllers/index.ts";
export { permissivePodProtectorCrd, upstreamPodProtectorCrd } from "./pod-protector-crd.ts";
