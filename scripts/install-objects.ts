/**
 * Writes the objects of the manifests into the program, for `podseidon install`:
 *
 *     node scripts/n.mjs scripts/install-objects.ts
 *
 * A test fails while src/commands/install/objects.json is behind the manifests.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { dump } from "js-yaml";
import { type Manifest, manifestsFolder, render } from "../test/manifests/manifest-files.ts";

const objectsFile = path.join(import.meta.dirname, "../src/commands/install/objects.json");
const topologies = ["core", "worker", "single"] as const;
const systemdFiles = ["podseidon@.service", "generator.env", "webhook.env", "aggregator.env", "update-trigger.env"];

interface PlacedObject {
  /** Which installations have it as it is here. */
  readonly in: readonly string[];
  readonly object: Manifest;
}

/**
 * What the file has to hold, whatever its format. Objects that several installations share stand there once. The CRD
 * is left out: src/commands/crd has it.
 */
export function installObjects(): unknown {
  const byText = new Map<string, string[]>();
  for (const topology of topologies) {
    for (const object of renderComponent(topology)) {
      if (object.kind === "CustomResourceDefinition") continue;
      const text = JSON.stringify(object);
      byText.set(text, [...(byText.get(text) ?? []), topology]);
    }
  }
  const cell = render("base/aggregator/cell-account").map((object) => ({ in: ["cell"], object }));
  const placed = [...byText].map(([text, places]) => ({ in: places, object: JSON.parse(text) as Manifest }));
  return {
    objects: [...placed, ...cell] satisfies PlacedObject[],
    systemd: texts("systemd", systemdFiles),
    apiServer: texts("api-server", ["admission.yaml", "kubeconfig"]),
  };
}

/** A component, with certificates that the program issues, and the values that it asks for left open. */
function renderComponent(topology: string): readonly Manifest[] {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-install-"));
  try {
    const components = [topology, `certificates/${topology}`].map((name) =>
      path.relative(folder, path.join(manifestsFolder, "components", name)),
    );
    const options = { annotations: { "config.kubernetes.io/local-config": "true" } };
    const open = { name: "podseidon-cell", literals: ["cell=CELL", "webhook=WEBHOOK"], options };
    const configMapGenerator = topology === "worker" ? [open] : [];
    const kustomization = { kind: "Kustomization", components, configMapGenerator };
    writeFileSync(path.join(folder, "kustomization.yaml"), dump(kustomization));
    return render(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function texts(folder: string, names: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(path.join(manifestsFolder, folder, name), "utf8")]),
  );
}

if (import.meta.main) writeFileSync(objectsFile, `${JSON.stringify(installObjects(), null, 2)}\n`);
