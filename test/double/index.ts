/**
 * The API double: a Kubernetes API server in this process, for tests, demo, playground and (without the HTTP front) the
 * simulation. Not part of the product.
 *
 * - engine/: one cluster: storage, verbs, admission, watches. No sockets; time, randomness and webhook calls are
 *   injected.
 * - rest/: method + path + body to an answer of the engine. No sockets either: a simulated network stands on it.
 * - http/: the HTTP front and the default webhook client.
 * - server.ts: startApiServer, an engine behind a listener on loopback, with faults (below).
 * - controllers/: Deployment, ReplicaSet, scheduler, kubelet and garbage collector, acting through the engine.
 *
 * Faults. `startApiServer({ faults })` or `server.setFaults(script)`, where the script is a function from a request to
 * what goes wrong with it (http/faults.ts lists them: delay, reset, stall, truncate, corrupt, tooManyRequests,
 * serverError, conflict, loseResponse, watchLag, staleReplica, duplicate, historyLoss). It knows the number of the
 * request, of its connection, its method, path and query:
 *
 *   server.setFaults(({ number }) => (number === 3 ? { type: "reset" } : undefined)); // the third request
 *   server.setFaults(({ connection }) => (connection === 1 ? { type: "stall" } : undefined)); // all of a connection
 *   // The third line of each watch:
 *   server.setFaults(({ isWatch }) => (isWatch ? { type: "corrupt", afterEvents: 2 } : undefined));
 *   // A burst:
 *   server.setFaults(({ method, number }) => (method === "PUT" && number < 9 ? { type: "conflict" } : undefined));
 *   server.setFaults(() => ({ type: "delay", delayMs: 20 })); // latency
 *
 * Delays and lags pass on the injected clock. `dropWatches`, `stop` and `start` break and restart the server as a
 * whole.
 *
 * kubectl works against it (`server.writeKubeconfig`): get, watch, describe, patch, apply --validate=false, label,
 * scale, rollout, delete, drain. Its commands that send protobuf, such as `create configmap` and `auth`, do not.
 *
 * What it does not imitate is answered with 501 NotImplemented. Known limits: CEL rules of CRDs are not evaluated,
 * fields of built-in types are neither pruned nor fully validated, server-side apply is refused, namespaces are never
 * emptied.
 */
export { type ApiServer, startApiServer } from "./server.ts";
export { type Fault, type FaultScript } from "./http/faults.ts";
export { Engine, systemAdmin } from "./engine/engine.ts";
export { type CallWebhook } from "./engine/admission.ts";
export { type JsonObject, type KubeObject, asArray, asObject } from "./engine/object.ts";
export { type ResourceType, builtInResources } from "./engine/resources.ts";
export { isApiError } from "./engine/status.ts";
export { type WatchEvent } from "./engine/requests/watch.ts";
export { type Authorizer, handleRest } from "./rest/rest.ts";
export { createWebhookClient } from "./http/webhook-client.ts";
export { type ControllerOptions, type Controllers, startControllers } from "./controllers/index.ts";
export { permissivePodProtectorCrd, upstreamPodProtectorCrd } from "./pod-protector-crd.ts";
