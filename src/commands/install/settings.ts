/**
 * What an installation was made with, in a ConfigMap of its core: workers that come later, and runs that say nothing
 * else, have the same values. And its Secrets, how they are written and read.
 */
import { fieldsOf, type Json } from "../../api/json.ts";
import { Problem } from "../../config/reading/problem.ts";
import { type Reading } from "../clusters/reading.ts";
import { readObject, type Site } from "./apply.ts";
import { type Callers, secretNames, systemNamespace } from "./objects.ts";
import { type InstallOptions } from "./options.ts";

const name = "podseidon-installation";

export interface Settings {
  readonly image: string;
  /** By which workers call the webhook; undefined in a cluster that is core and worker. */
  readonly webhookAddress: string | undefined;
  readonly callers: Callers;
}

/**
 * What the options say, and else what was said before. A Problem = something is not known, or cannot be read.
 * `coreCommand`: how a person installs the core.
 */
export async function readSettings(
  core: Site,
  options: InstallOptions,
  coreCommand: string,
): Promise<Settings | Problem> {
  const read = await readObject(core, settingsObject({ image: "", webhookAddress: undefined, callers: "network" }));
  if (!read.ok) return new Problem(read.problem);
  const before = fieldsOf(read.value?.["data"]);
  const { part } = options;
  const isSingle = textOf(before["webhookAddress"]) === undefined;
  // Its webhook would serve other callers from then on, and refuse those that it has.
  if (read.value !== undefined && isSingle !== (part === "single"))
    return new Problem(
      `${core.client.cluster} is installed as ${isSingle ? "single" : "core"}, and its webhook cannot be both; ` +
        "look at --core, or run uninstall first",
    );
  const image = options.image ?? textOf(before["image"]);
  if (part === "worker" && read.value === undefined)
    return new Problem(`${core.client.cluster}: nothing is installed here as a core; first run: ${coreCommand}`);
  if (image === undefined)
    return new Problem("option --image is required the first time: where the clusters pull Podseidon from");
  const webhookAddress = options.webhookAddress ?? textOf(before["webhookAddress"]);
  if (part !== "single" && webhookAddress === undefined)
    return new Problem(
      "option --webhook-address is required the first time: HOST or HOST:PORT by which workers call it",
    );
  const callers = options.callers ?? (before["callers"] === "network" ? "network" : "certificates");
  return { image, webhookAddress, callers };
}

export function settingsObject({ image, webhookAddress, callers }: Settings): Json {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: systemNamespace, labels: { "app.kubernetes.io/name": "podseidon" } },
    data: { image, callers, ...(webhookAddress !== undefined && { webhookAddress }) },
  };
}

/** The cells whose clusters the webhook of the core has kubeconfigs for. */
export async function readCells(core: Site): Promise<readonly string[] | Problem> {
  const secret = await readSecret(core, secretNames.workers);
  if (!secret.ok) return new Problem(secret.problem);
  return [...(secret.value?.keys() ?? [])].filter((key) => !key.endsWith(".token")).toSorted();
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** With these keys (base64), of those that it may have. */
export function secretWith(name: string, data: Readonly<Record<string, string>>): Json {
  const labels = { "app.kubernetes.io/name": "podseidon" };
  return { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: systemNamespace, labels }, data };
}

export function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** The texts of a Secret; undefined = there is none. Rejects only for programmer errors. */
export async function readSecret(site: Site, name: string): Promise<Reading<ReadonlyMap<string, string> | undefined>> {
  const read = await readObject(site, secretWith(name, {}));
  if (!read.ok || read.value === undefined) return read.ok ? { ok: true, value: undefined } : read;
  const data = Object.entries(fieldsOf(read.value["data"]));
  return { ok: true, value: new Map(data.map(([key, value]) => [key, textIn(value)])) };
}

function textIn(value: unknown): string {
  return Buffer.from(String(value), "base64").toString("utf8");
}
