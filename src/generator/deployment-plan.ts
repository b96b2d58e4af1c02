/** Which PodProtector a Deployment wants, and under which name (docs/generator.md#names). Pure. */
import { hash } from "node:crypto";
import { type DeploymentFacts } from "../api/deployment.ts";
import { type ObjectKey, objectKey } from "../api/object-key.ts";
import { annotations, apiVersion, finalizer, sourceLabels } from "../api/v1alpha1/names.ts";
import { type OwnerReference, type PodProtector, type PodProtectorSpec } from "../api/v1alpha1/pod-protector.ts";
import { floorOf, type FloorRule } from "./floor.ts";

/** What the generator keeps in force. Fields of the spec that people may tune are not in it. */
export interface WantedProtector {
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly finalizer: string;
  readonly ownerReference: OwnerReference;
  readonly spec: Pick<PodProtectorSpec, "minAvailable" | "minReadySeconds" | "selector">;
}

/** Longest label value and longest object name that Kubernetes accepts. */
const labelValueLengthMax = 63;
const objectNameLengthMax = 253;
const namePrefix = "deployment-";
/** Hexadecimal digits of the hash: a million shortened names are all different with a probability above 0.998. */
const digestLength = 12;

/** What says that an object is this generator's. */
const marks = { [annotations.generated]: "true" } as const;

export function planForDeployment(deployment: DeploymentFacts, rule: FloorRule): WantedProtector {
  return {
    name: protectorNameOf(deployment.name),
    namespace: deployment.namespace,
    labels: sourceLabelsOf(deployment.name),
    annotations: marks,
    finalizer,
    ownerReference: {
      apiVersion: "apps/v1",
      kind: "Deployment",
      name: deployment.name,
      uid: deployment.uid,
      controller: true,
    },
    spec: {
      minAvailable: floorOf(deployment, rule).minAvailable,
      minReadySeconds: Math.max(0, deployment.minReadySeconds),
      selector: deployment.selector,
    },
  };
}

/** The name of the PodProtector that a Deployment gets. */
export function protectorNameOf(deploymentName: string): string {
  return shortened(`${namePrefix}${deploymentName}`, objectNameLengthMax);
}

/** The labels that lead from a generated PodProtector to its Deployment. */
export function sourceLabelsOf(deploymentName: string): Readonly<Record<string, string>> {
  return {
    [sourceLabels.name]: shortened(deploymentName, labelValueLengthMax),
    [sourceLabels.group]: "apps",
    [sourceLabels.kind]: "Deployment",
    [sourceLabels.resource]: "deployments",
  };
}

/**
 * Whether the PodProtector was generated for the Deployment of that name: it has the derived name, and the source
 * labels or, if these were removed, the finalizer. The name is what tells: people may copy labels to an object of their
 * own.
 */
export function isGeneratedFor({ metadata }: PodProtector, deploymentName: string): boolean {
  const { name, labels = {}, finalizers = [] } = metadata;
  if (name !== protectorNameOf(deploymentName)) return false;
  if (finalizers.includes(finalizer)) return true;
  return Object.entries(sourceLabelsOf(deploymentName)).every(([key, value]) => labels[key] === value);
}

/**
 * The name of the Deployment that a PodProtector was generated for; undefined for a hand-made one. The owner reference
 * has the whole name, where the label and the object's own name may have been shortened.
 */
export function deploymentNameOf(protector: PodProtector): string | undefined {
  const { name, labels = {}, ownerReferences = [] } = protector.metadata;
  const owner = ownerReferences.find(({ kind, apiVersion: at }) => kind === "Deployment" && at.startsWith("apps/"));
  // A long name may have been shortened, and what was cut off is lost.
  const isWhole = name.length < objectNameLengthMax - digestLength;
  const derived = isWhole && name.startsWith(namePrefix) ? name.slice(namePrefix.length) : undefined;
  return [owner?.name, labels[sourceLabels.name], derived].find(
    (candidate) => candidate !== undefined && isGeneratedFor(protector, candidate),
  );
}

/** The key of the Deployment that a PodProtector was generated for; undefined for a hand-made one. */
export function sourceKeyOf(protector: PodProtector): ObjectKey | undefined {
  const name = deploymentNameOf(protector);
  return name === undefined ? undefined : objectKey(protector.metadata.namespace, name);
}

/** The text if it fits, else a stable and unique shortening: its beginning and a hash of the whole. */
function shortened(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  const digest = hash("sha256", text, "hex").slice(0, digestLength);
  const head = text.slice(0, lengthMax - digestLength - 1).replace(/[-._]+$/, "");
  return `${head}-${digest}`;
}

/** apiVersion and kind of a new object. */
export const protectorTypeMeta = { apiVersion, kind: "PodProtector" } as const;
