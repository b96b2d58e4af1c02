/**
 * The CustomResourceDefinition of PodProtectors of this release, which the program carries so that it can say what
 * another one lacks, and can make it again.
 */
import { load } from "js-yaml";
import { asList, asObject, fieldsOf, type Json } from "../api/json.ts";
import { cellLeaseAnnotations } from "../api/cell-lease.ts";
import { readCarried } from "./files.ts";

const version = "v1alpha1";

/** As the manifest has it. */
export function ownDefinition(): Json {
  return fieldsOf(load(readCarried("manifests/base/crd/podprotectors.yaml")));
}

/** The release that a CRD is of, such as "0.1.0"; undefined = it does not say. */
export function releaseOf(crd: unknown): string | undefined {
  const annotations = fieldsOf(fieldsOf(fieldsOf(crd)["metadata"])["annotations"]);
  const release = annotations[cellLeaseAnnotations.productVersion];
  return typeof release === "string" ? release : undefined;
}

/** When somebody has deleted it, and its objects keep it. */
export function isTerminating(crd: unknown): boolean {
  return fieldsOf(fieldsOf(crd)["metadata"])["deletionTimestamp"] !== undefined;
}

/**
 * Fields of our objects that an API server with this CRD drops ("prunes") from what is written: "spec.targets". Of a
 * field that is dropped as a whole, those below are not named.
 */
export function droppedFields(crd: unknown): readonly string[] {
  const theirs = servedVersion(crd);
  if (theirs === undefined) return ["all of them: version v1alpha1 is not served"];
  const hasStatus = fieldsOf(theirs["subresources"])["status"] !== undefined;
  const { openAPIV3Schema: schema } = fieldsOf(theirs["schema"]);
  const ours = fieldsOf(fieldsOf(servedVersion(ownDefinition())?.["schema"])["openAPIV3Schema"]);
  return [...(hasStatus ? [] : ["the subresource status"]), ...dropped(ours, fieldsOf(schema), "")];
}

/** Whether the schemas are the same, descriptions aside. */
export function isOwnSchema(crd: unknown): boolean {
  return schemaText(crd) === schemaText(ownDefinition());
}

function servedVersion(crd: unknown): Json | undefined {
  const versions = asList(fieldsOf(fieldsOf(crd)["spec"])["versions"]).map(fieldsOf);
  return versions.find(({ name, served }) => name === version && served === true);
}

function dropped(ours: Json, theirs: Json, path: string): readonly string[] {
  if (theirs["x-kubernetes-preserve-unknown-fields"] === true) return [];
  const [properties, known] = [fieldsOf(ours["properties"]), fieldsOf(theirs["properties"])];
  const ofProperties = Object.entries(properties).flatMap(([name, schema]) => {
    const at = path === "" ? name : `${path}.${name}`;
    const other = asObject(known[name]);
    return other === undefined ? [at] : dropped(fieldsOf(schema), other, at);
  });
  const ofItems = ours["items"] === undefined ? [] : dropped(fieldsOf(ours["items"]), fieldsOf(theirs["items"]), path);
  const isMap = ours["additionalProperties"] !== undefined && theirs["additionalProperties"] === undefined;
  return [...ofProperties, ...ofItems, ...(isMap ? [path] : [])];
}

/** With sorted keys: an API server gives them back in an order of its own. */
function schemaText(crd: unknown): string {
  return JSON.stringify(servedVersion(crd)?.["schema"] ?? null, (key, value: unknown) => {
    if (key === "description") return undefined;
    const object = asObject(value);
    return object === undefined
      ? value
      : Object.fromEntries(Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  });
}
