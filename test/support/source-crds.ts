/** The CustomResourceDefinitions of custom kinds of sources, for the API double. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { type JsonObject } from "../double/index.ts";

interface Definition extends JsonObject {
  readonly spec: JsonObject & { readonly versions: readonly (JsonObject & { readonly subresources: JsonObject })[] };
}

/** As in test/manifests/source-crds, but without the subresource scale, which the double has for built-in kinds. */
export function sourceCrd(file: string): JsonObject {
  const text = readFileSync(new URL(`../manifests/source-crds/${file}`, import.meta.url), "utf8");
  const crd = load(text) as Definition;
  const versions = crd.spec.versions.map(({ subresources, ...version }) => {
    const { scale: _, ...others } = subresources;
    return { ...version, subresources: others };
  });
  return { ...crd, spec: { ...crd.spec, versions } };
}
