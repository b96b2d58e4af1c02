/** The CustomResourceDefinitions of custom kinds of sources, for the API double. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { type JsonObject } from "../double/index.ts";

/** One of test/manifests/source-crds. */
export function sourceCrd(file: string): JsonObject {
  const text = readFileSync(new URL(`../manifests/source-crds/${file}`, import.meta.url), "utf8");
  return load(text) as JsonObject;
}
