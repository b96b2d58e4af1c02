/**
 * What accounts may and may not do to the objects of built-in issuing (docs/security.md#rights), in the stage of
 * rights-stage.ts. That any account but the generator's could read the keys of the authorities would undo it.
 */
import { authoritySecret, servedSecret, trustedConfigMap } from "../../../src/certificates/objects.ts";
import { type AccountWrite, add, type Writer, writesOf } from "./account-write.ts";
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
  const filled = [add("/data", {})];
  return writesOf("generator", [
    ["allowed", "reads the authorities with their keys", authorityPath, { read: true }],
    ["allowed", "stores an authority", authorityPath, { patch: filled }],
    ["allowed", "stores a certificate", servedPath, { patch: filled }],
    ["allowed", "publishes authorities", trustedPath, { patch: filled }],
    ["rbac", "lists Secrets", secretsPath, { read: true }],
    ["rbac", "reads another Secret", `${secretsPath}/podseidon-core-kubeconfig`, { read: true }],
    [
      "rbac",
      "creates a Secret",
      secretsPath,
      { create: { apiVersion: "v1", kind: "Secret", metadata: { name: "evil", namespace: systemNamespace }, ...evil } },
    ],
    ["rbac", "deletes the authorities", authorityPath, { remove: { dryRun: true } }],
  ]);
}

function ofOthers(by: Writer): readonly AccountWrite[] {
  const changed = [add("/data", evil.data)];
  const isServing = by === "webhook";
  return writesOf(by, [
    ["rbac", "reads the authorities with their keys", authorityPath, { read: true }],
    ["rbac", "lists Secrets", secretsPath, { read: true }],
    ["rbac", "replaces the authorities", authorityPath, { patch: changed }],
    ["rbac", "replaces what webhooks serve", servedPath, { patch: changed }],
    ["rbac", "publishes authorities", trustedPath, { patch: changed }],
    [isServing ? "allowed" : "rbac", "reads what webhooks serve", servedPath, { read: true }],
    ["allowed", "reads what is published", trustedPath, { read: true }],
  ]);
}
