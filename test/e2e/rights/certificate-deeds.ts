/**
 * What accounts may and may not do to the objects of built-in issuing (docs/security.md#rights), in the stage of
 * rights-stage.ts. That any account but the generator's could read the keys of the authorities would undo it.
 */
import { authoritySecret, servedSecret, trustedConfigMap } from "../../../src/certificates/objects.ts";
import { type AccountWrite, add, type Writer } from "./account-write.ts";
import { systemNamespace } from "../clusters/role-accounts.ts";

const secretsPath = `/api/v1/namespaces/${systemNamespace}/secrets`;
const authorityPath = `${secretsPath}/${authoritySecret.name}`;
const servedPath = `${secretsPath}/${servedSecret.name}`;
const trustedPath = `/api/v1/namespaces/${systemNamespace}/configmaps/${trustedConfigMap.name}`;
const others: readonly Writer[] = ["webhook", "aggregator", "aggregator-worker-1"];
const evil = { data: { "tls.key": "ZXZpbA==" } };

export function certificateDeeds(): readonly AccountWrite[] {
  return [...ofGenerator(), ...others.flatMap(ofOthers)];
}

function ofGenerator(): readonly AccountWrite[] {
  const by = "generator";
  const filled = [add("/data", {})];
  return [
    { by, verdict: "allowed", what: "reads the authorities with their keys", path: authorityPath, read: true },
    { by, verdict: "allowed", what: "stores an authority", path: authorityPath, patch: filled },
    { by, verdict: "allowed", what: "stores a certificate", path: servedPath, patch: filled },
    { by, verdict: "allowed", what: "publishes authorities", path: trustedPath, patch: filled },
    { by, verdict: "rbac", what: "lists Secrets", path: secretsPath, read: true },
    { by, verdict: "rbac", what: "reads another Secret", path: `${secretsPath}/podseidon-core-kubeconfig`, read: true },
    {
      by,
      verdict: "rbac",
      what: "creates a Secret",
      path: secretsPath,
      create: { apiVersion: "v1", kind: "Secret", metadata: { name: "evil", namespace: systemNamespace }, ...evil },
    },
    { by, verdict: "rbac", what: "deletes the authorities", path: authorityPath, remove: { dryRun: true } },
  ];
}

function ofOthers(by: Writer): readonly AccountWrite[] {
  const changed = [add("/data", evil.data)];
  const isServing = by === "webhook";
  return [
    { by, verdict: "rbac", what: "reads the authorities with their keys", path: authorityPath, read: true },
    { by, verdict: "rbac", what: "lists Secrets", path: secretsPath, read: true },
    { by, verdict: "rbac", what: "replaces the authorities", path: authorityPath, patch: changed },
    { by, verdict: "rbac", what: "replaces what webhooks serve", path: servedPath, patch: changed },
    { by, verdict: "rbac", what: "publishes authorities", path: trustedPath, patch: changed },
    { by, verdict: isServing ? "allowed" : "rbac", what: "reads what webhooks serve", path: servedPath, read: true },
    { by, verdict: "allowed", what: "reads what is published", path: trustedPath, read: true },
  ];
}
