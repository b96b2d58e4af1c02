/**
 * Installations as kustomize renders them, each with the values that it was made of. Whatever else renders objects from
 * manifests/ (the chart in test/chart, a command) is held to the same objects by `assertSameObjects`.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { dump } from "js-yaml";
import { coreCellFiles } from "../../scripts/core-cells.ts";
import { type Manifest, manifestsFolder, render } from "./manifest-files.ts";

export interface Installation {
  readonly name: string;
  readonly topology: "single" | "core" | "worker";
  /** Of a worker. */
  readonly cell?: string;
  readonly webhookAddress?: string;
  /** Of a core. */
  readonly cells?: readonly string[];
  /** Base64; of a cluster with a webhook configuration. */
  readonly caBundle?: string | undefined;
  /** Folders of manifests/ that the kustomization has as further resources. */
  readonly folders?: readonly string[];
  /** The webhook's certificate is issued by the program. */
  readonly isIssued?: boolean;
}

const caBundle = "Y2VydGlmaWNhdGU=";
const worker = { topology: "worker", cell: "worker-1", webhookAddress: "podseidon.example.com", caBundle } as const;

export const installations: readonly Installation[] = [
  { name: "one cluster", topology: "single", caBundle },
  { name: "a core of two cells", topology: "core", cells: ["worker-1", "worker-2"] },
  { name: "a worker", ...worker },
  { name: "one cluster that issues its certificate", topology: "single", isIssued: true },
  {
    name: "a core of two cells that issues its certificate",
    topology: "core",
    cells: ["worker-1", "b"],
    isIssued: true,
  },
  { name: "a worker of a core that issues", ...worker, caBundle: undefined, isIssued: true },
  {
    name: "one cluster with all that is optional",
    topology: "single",
    caBundle,
    folders: ["base/generator-sources", "network-policies", "monitoring"],
  },
  {
    name: "a core with all that is optional",
    topology: "core",
    cells: ["a.b"],
    folders: ["base/generator-sources", "network-policies", ...["processes", "core", "dashboards"].map(monitoring)],
  },
  {
    name: "a worker with all that is optional",
    ...worker,
    folders: ["network-policies", ...["processes", "worker"].map(monitoring)],
  },
];

function monitoring(part: string): string {
  return `monitoring/${part}`;
}

/** In a folder of its own outside of the repository, as the installation guide has it. */
export function renderedByKustomize(installation: Installation): readonly Manifest[] {
  const folder = mkdtempSync(path.join(os.tmpdir(), "podseidon-installation-"));
  try {
    for (const [name, content] of filesOf(installation, folder)) {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), content);
    }
    return render(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function filesOf(installation: Installation, folder: string): ReadonlyMap<string, string> {
  const {
    topology,
    cell,
    webhookAddress,
    cells = [],
    caBundle: authority,
    folders = [],
    isIssued = false,
  } = installation;
  const from = (place: string): string => path.relative(folder, path.join(manifestsFolder, place));
  const patch = dump([0, 1, 2].map((index) => ({ ...addition(index), value: authority })));
  const kustomization = {
    kind: "Kustomization",
    resources: folders.map(from),
    components: [
      from(`components/${topology}`),
      ...(isIssued ? [from(`components/certificates/${topology}`)] : []),
      ...(topology === "core" ? ["cells"] : []),
    ],
    configMapGenerator: cell === undefined ? [] : [cellConfigMap(cell, webhookAddress ?? "")],
    patches: authority === undefined ? [] : [{ target: configuration, patch }],
  };
  const ofCells = topology === "core" ? coreCellFiles(path.join(folder, "cells"), cells) : new Map<string, string>();
  return new Map([
    ["kustomization.yaml", dump(kustomization)],
    ...[...ofCells].map(([name, content]) => [path.join("cells", name), content] as const),
  ]);
}

const configuration = { kind: "ValidatingWebhookConfiguration", name: "podseidon" };

function addition(index: number) {
  return { op: "add", path: `/webhooks/${index}/clientConfig/caBundle` };
}

function cellConfigMap(cell: string, webhook: string) {
  return {
    name: "podseidon-cell",
    literals: [`cell=${cell}`, `webhook=${webhook}`],
    options: { annotations: { "config.kubernetes.io/local-config": "true" } },
  };
}

/** In whatever order. Names the objects that are missing, too many, or different. */
export function assertSameObjects(actual: readonly Manifest[], expected: readonly Manifest[]): void {
  const byName = (objects: readonly Manifest[]) =>
    new Map(
      objects.map((object) => [`${object.kind} ${object.metadata.namespace ?? ""}/${object.metadata.name}`, object]),
    );
  const [ours, theirs] = [byName(actual), byName(expected)];
  assert.equal(ours.size, actual.length, "no object comes twice");
  assert.deepEqual([...ours.keys()].toSorted(), [...theirs.keys()].toSorted());
  for (const [name, object] of ours) assert.deepEqual(object, theirs.get(name), name);
}
