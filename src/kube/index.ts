/**
 * The Kubernetes client layer: contracts (kube-client.ts, informer.ts), requests over HTTP (transport/), lists and
 * watches (watch/), leader election (leader-election/) and Events (event-recorder.ts).
 */
export * from "./kube-client.ts";
export * from "./informer.ts";
export * from "./event-recorder.ts";
export { createInformer, listBarrier } from "./watch/index.ts";
export * from "./leader-election/index.ts";
