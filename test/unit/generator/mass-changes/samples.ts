/** Deployments and PodProtectors as the pure parts of the mass changes see them. */
import { deployments } from "../../../../src/sources/deployment.ts";
import { readSource } from "../../../../src/sources/read-source.ts";
import { type SourceRecord } from "../../../../src/sources/source.ts";
import { type PodProtector } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { type JsonObject } from "../../../double/index.ts";

export const rule = {
  percentRounding: "at-least-one",
  singleReplica: "drainable",
  allowedManagers: ["night"],
} as const;
export const noon = (Date.parse("2026-01-01T12:00:00Z") * 1_000) as EpochMicros;
export const after = (seconds: number): EpochMicros => (noon + seconds * 1_000_000) as EpochMicros;

export function deployment(replicas: number, metadata: JsonObject = {}, spec: JsonObject = {}): SourceRecord {
  const record = readSource(deployments, {
    metadata: { name: "web", namespace: "shop", uid: "u", resourceVersion: "7", ...metadata },
    spec: { replicas, selector: { matchLabels: { app: "web" } }, ...spec },
  });
  return record!;
}

export function protector(minAvailable: number, annotations: Readonly<Record<string, string>> = {}): PodProtector {
  return {
    apiVersion: "podseidon.kubewharf.io/v1alpha1",
    kind: "PodProtector",
    metadata: { name: "deployment-web", namespace: "shop", uid: "p", resourceVersion: "1", annotations },
    spec: { minAvailable, minReadySeconds: 0, selector: { matchLabels: { app: "web" } } },
  };
}

/** managedFields of one manager. */
export function managed(manager: string, fields: JsonObject, subresource?: string): JsonObject {
  const time = "2026-01-01T12:00:00Z";
  return { manager, time, fieldsV1: fields, ...(subresource !== undefined && { subresource }) };
}
