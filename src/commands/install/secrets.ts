/** Secrets of Podseidon: how an installation writes and reads them. */
import { fieldsOf, type Json } from "../../api/json.ts";
import { type Reading } from "../clusters/reading.ts";
import { readObject, type Site } from "./apply.ts";
import { systemNamespace } from "./objects.ts";

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
