/** A CustomResourceDefinition with a scale subresource, as operators of databases and the like have it. */
import { type JsonObject } from "./engine/object.ts";

export interface ScaledCrdOptions {
  readonly version?: string;
  readonly group?: string;
  /** Undefined = the Scale has no selector. */
  readonly labelSelectorPath?: string | undefined;
  readonly hasScale?: boolean;
}

/** `databases.example.com`: the replicas are in spec.members, the selector is written to status.selector. */
export function scaledCrd(options: ScaledCrdOptions = {}): JsonObject {
  const { version = "v1", group = "example.com", hasScale = true } = options;
  const labelSelectorPath = "labelSelectorPath" in options ? options.labelSelectorPath : ".status.selector";
  const scale = {
    specReplicasPath: ".spec.members",
    statusReplicasPath: ".status.members",
    ...(labelSelectorPath === undefined ? {} : { labelSelectorPath }),
  };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `databases.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind: "Database", listKind: "DatabaseList", plural: "databases", singular: "database" },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {}, ...(hasScale ? { scale } : {}) },
          schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
        },
      ],
    },
  };
}

export function databaseBody(name: string, spec: JsonObject = { members: 5 }, metadata: JsonObject = {}): JsonObject {
  return {
    apiVersion: "example.com/v1",
    kind: "Database",
    metadata: { name, namespace: "default", ...metadata },
    spec,
  };
}
