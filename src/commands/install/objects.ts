/** The objects of an installation: those of manifests/, which the program carries, with the values of this one. */
import { cellLeaseName } from "../../api/cell-lease.ts";
import { asList, fieldsOf, type Json } from "../../api/json.ts";
import { ownDefinition } from "../../carried/definition.ts";
import { readCarried } from "../../carried/files.ts";
import { rendered } from "../../carried/kustomization.ts";

/** As in the manifests. */
export const systemNamespace = "podseidon-system";
export const updateTriggerNamespace = "podseidon-update-trigger";
export const webhookName = "podseidon-webhook";
export const secretNames = {
  clients: "podseidon-webhook-clients",
  workers: "podseidon-worker-kubeconfigs",
  core: "podseidon-core-kubeconfig",
} as const;

/** What API servers are to trust, as the generator publishes it in the core (docs/webhook.md#built-in). */
export const authoritiesName = "podseidon-webhook-ca";
/** By which API servers of the core's own cluster call the webhook. */
const serviceHost = "podseidon-webhook.podseidon-system.svc";

export interface CoreValues {
  readonly image: string;
  readonly callers: Callers;
  /** All that the webhook serves. */
  readonly cells: readonly string[];
  /** By which API servers of other clusters call it; undefined = by its Service alone. */
  readonly webhookHost: string | undefined;
}

export interface WorkerValues {
  readonly image: string;
  readonly cell: string;
  /** HOST or HOST:PORT. */
  readonly webhookAddress: string;
  /** Base64 of PEM; undefined = left out. */
  readonly caBundle: string | undefined;
}

export interface SingleValues {
  readonly image: string;
  readonly caBundle: string | undefined;
}

/** Those of a core, with the accounts of its cells. */
export function coreObjects({ image, callers, cells, webhookHost }: CoreValues): readonly Json[] {
  const { configs, callers: calling } = cellFlags(callers, cells);
  const names = `--generator-webhook-certificate-names=${serviceHost}`;
  const ofHost = webhookHost === undefined ? names : `${names},${webhookHost}`;
  const objects = objectsIn("core")
    .map((object) => (isWebhook(object) ? withArguments(object, [configs, ...calling]) : object))
    .map((object) => fieldsOf(withText(object, names, ofHost)));
  return [ownDefinition(), ...objects, ...cells.flatMap(cellObjects)].map((object) => withImage(object, image));
}

/** The account of a cell in its core: manifests/base/aggregator/cell-account, named after the cell. */
export function cellObjects(cell: string): readonly Json[] {
  const objects = rendered("base/aggregator/cell-account");
  const names = new Set(objects.map(nameIn));
  const renamed = (one: unknown): Json => {
    const reference = fieldsOf(one);
    return names.has(String(reference["name"]))
      ? { ...reference, name: `${String(reference["name"])}-${cell}` }
      : reference;
  };
  return objects.map((object) => ({
    ...object,
    metadata: renamed(object["metadata"]),
    ...(object["roleRef"] !== undefined && { roleRef: renamed(object["roleRef"]) }),
    ...(object["subjects"] !== undefined && { subjects: asList(object["subjects"]).map(renamed) }),
    ...(object["rules"] !== undefined && { rules: withText(object["rules"], "cell-of-nobody", cellLeaseName(cell)) }),
  }));
}

/** The ServiceAccount of a cell in its core. */
export function cellAccount(cell: string): string {
  return `podseidon-aggregator-${cell}`;
}

export function workerObjects({ image, cell, webhookAddress, caBundle }: WorkerValues): readonly Json[] {
  return objectsIn("worker").map((object) => {
    const ofCell = withText(object, "--aggregator-cell-id=CELL", `--aggregator-cell-id=${cell}`);
    const called = withText(ofCell, "https://WEBHOOK/CELL", `https://${webhookAddress}/${cell}`);
    return withAuthority(withImage(fieldsOf(called), image), caBundle);
  });
}

/** Those of a cluster that is core and worker, whose only cell is "default". */
export function singleObjects({ image, caBundle }: SingleValues): readonly Json[] {
  const objects = [ownDefinition(), ...objectsIn("single")];
  return objects.map((object) => withAuthority(withImage(object, image), caBundle));
}

/** Files for systemd, by name. */
export function systemdFiles(): ReadonlyMap<string, string> {
  const settings = ["generator", "webhook", "aggregator", "update-trigger"].map((role) => `${role}.env`);
  return filesIn("systemd", ["podseidon@.service", ...settings]);
}

/** Files for hosts of API servers, by name; the webhook is podseidon.example.com in them. */
export function apiServerFiles(): ReadonlyMap<string, string> {
  return filesIn("api-server", ["admission.yaml", "kubeconfig"]);
}

function filesIn(folder: string, names: readonly string[]): ReadonlyMap<string, string> {
  return new Map(names.map((name) => [name, readCarried(`manifests/${folder}/${name}`)]));
}

export function isWebhook({ kind, metadata }: Json): boolean {
  return kind === "Deployment" && fieldsOf(metadata)["name"] === webhookName;
}

const parts = ["core", "worker", "single"] as const;

/** With certificates that the program issues, and without the CRD. What parts share comes first, in one order. */
function objectsIn(part: (typeof parts)[number]): readonly Json[] {
  const textsIn = (one: string): readonly string[] =>
    rendered(`components/${one}`, `components/certificates/${one}`)
      .filter(({ kind }) => kind !== "CustomResourceDefinition")
      .map((object) => JSON.stringify(object));
  const texts = new Set(textsIn(part));
  const ordered = new Set([...parts.slice(0, parts.indexOf(part)).flatMap(textsIn), ...texts]);
  return [...ordered].filter((text) => texts.has(text)).map((text) => fieldsOf(JSON.parse(text)));
}

function nameIn({ metadata }: Json): string {
  return String(fieldsOf(metadata)["name"]);
}

function withArguments(deployment: Json, added: readonly string[]): Json {
  return changed(deployment, (key, value) => (key === "args" ? [...asList(value), ...added] : value));
}

function withImage(object: Json, image: string): Json {
  return object["kind"] === "Deployment" ? changed(object, (key, value) => (key === "image" ? image : value)) : object;
}

function withAuthority(object: Json, caBundle: string | undefined): Json {
  if (object["kind"] !== "ValidatingWebhookConfiguration" || caBundle === undefined) return object;
  return changed(object, (key, value) => (key === "clientConfig" ? { ...fieldsOf(value), caBundle } : value));
}

/** A copy, in which texts that are `from` are `to`. */
function withText(value: unknown, from: string, to: string): unknown {
  return JSON.parse(JSON.stringify(value), (_key, one: unknown) => (one === from ? to : one)) as unknown;
}

/** A copy. */
function changed(object: Json, change: (key: string, value: unknown) => unknown): Json {
  return fieldsOf(JSON.parse(JSON.stringify(object), change) as unknown);
}

/** The flags by which the webhook of a core knows its cells; `scripts/core-cells.ts` writes the same for kustomize. */

/** How the webhook knows who calls it (docs/install.md#api-servers-as-callers). */
export type Callers = "certificates" | "network";

export interface CellFlags {
  /** Where the kubeconfig of each cell is: a key of the Secret podseidon-worker-kubeconfigs. */
  readonly configs: string;
  /** Who may call it for which cell. The certificate of a cell's API server has the name of the cell. */
  readonly callers: readonly string[];
}

/** `cells`: all that it serves. */
export function cellFlags(callers: Callers, cells: readonly string[]): CellFlags {
  const configs = cells.map((cell) => `${cell}=/etc/podseidon/workers/${cell}`).join(",");
  const clients = cells.map((cell) => `${cell}=${cell}`).join(",");
  return {
    configs: `--webhook-worker-client-provider.map-configs=${configs}`,
    callers:
      callers === "certificates"
        ? [`--webhook-client-cells=${clients}`]
        : ["--webhook-client-ca-file=", `--webhook-allowed-cells=${cells.join(",")}`],
  };
}
