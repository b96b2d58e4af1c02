/**
 * Writes the CRD of the manifests into the program, for `podseidon check` and `podseidon restore crd`:
 *
 *     node scripts/n.mjs scripts/definition-json.ts
 *
 * A test fails while src/commands/crd/definition.json is behind the manifest.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";

const manifestFile = fileURLToPath(new URL("../manifests/base/crd/podprotectors.yaml", import.meta.url));
const definitionFile = fileURLToPath(new URL("../src/commands/crd/definition.json", import.meta.url));

/** What the file has to hold, whatever its format. */
export function manifestDefinition(): unknown {
  return load(readFileSync(manifestFile, "utf8"));
}

if (import.meta.main) writeFileSync(definitionFile, `${JSON.stringify(manifestDefinition(), null, 2)}\n`);
