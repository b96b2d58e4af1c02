/**
 * Reads manifests/ for tests: the objects of a YAML file, and a kustomization rendered as far as ours go (resources,
 * components, ConfigMaps, JSON patches, kustomize.ts), so that `make test` needs no kubectl. `make e2e` renders with
 * the real one.
 */
import { existsSync, readFileSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { load, loadAll } from "js-yaml";
import { type Config } from "../../src/config/index.ts";
import { loadGood } from "../unit/config/load.ts";
import { applyPatch, type Operation } from "rfc6902";
import { replaceIn, type Replacement, withSuffix } from "./kustomize.ts";

export const manifestsFolder = path.join(import.meta.dirname, "../../manifests");

export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    /** Of what an API server stores. */
    readonly uid?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
}

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}
export interface Role extends Manifest {
  readonly rules: readonly PolicyRule[];
}
export interface RoleBinding extends Manifest {
  readonly roleRef: { readonly kind: string; readonly name: string };
  readonly subjects: readonly { readonly kind: string; readonly name: string; readonly namespace: string }[];
}

interface SecurityContext {
  readonly runAsUser?: number;
  readonly runAsGroup?: number;
  readonly runAsNonRoot?: boolean;
  readonly seccompProfile?: { readonly type: string };
  readonly allowPrivilegeEscalation?: boolean;
  readonly readOnlyRootFilesystem?: boolean;
  readonly capabilities?: { readonly drop: readonly string[] };
}
interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}
export interface Container {
  readonly image: string;
  readonly args: readonly string[];
  readonly env?: readonly { readonly name: string; readonly value: string }[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly resources: { readonly requests: object; readonly limits: object };
  readonly securityContext: SecurityContext;
}
export interface Deployment extends Manifest {
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly serviceAccountName: string;
        readonly priorityClassName?: string;
        readonly securityContext: SecurityContext;
        readonly topologySpreadConstraints: readonly {
          readonly topologyKey: string;
          readonly whenUnsatisfiable: string;
        }[];
        readonly containers: readonly [Container];
        readonly volumes?: readonly {
          readonly name: string;
          readonly secret: { readonly secretName: string; readonly defaultMode: number };
        }[];
      };
    };
  };
}

interface Kustomization {
  readonly kind: "Kustomization" | "Component";
  readonly resources?: readonly string[];
  readonly components?: readonly string[];
  readonly nameSuffix?: string;
  readonly generatorOptions?: { readonly labels: Readonly<Record<string, string>> };
  readonly configMapGenerator?: readonly {
    readonly name: string;
    readonly namespace?: string;
    readonly files?: readonly string[];
    readonly literals?: readonly string[];
    readonly options?: { readonly annotations: Readonly<Record<string, string>> };
  }[];
  readonly patches?: readonly {
    readonly target: { readonly kind: string; readonly name: string };
    readonly patch: string;
  }[];
  readonly replacements?: readonly Replacement[];
}

/** All files below `folder` with this ending, as absolute paths. The chart is templates, for test/chart. */
export function filesBelow(folder: string, ending: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(ending) && !name.startsWith("chart/"))
    .map((name) => path.join(folder, name))
    .toSorted();
}

/** The objects of a YAML file. What an alias repeats is a copy, as kubectl has it: a patch changes one of them. */
export function readManifests(file: string): Manifest[] {
  return JSON.parse(JSON.stringify(loadAll(readFileSync(file, "utf8")))) as Manifest[];
}

/** The one object of a kind in a list. Throws when there is none or more than one. */
export function onlyOne<M extends Manifest>(manifests: readonly Manifest[], kind: M["kind"], name?: string): M {
  const found = manifests.filter(
    (manifest) => manifest.kind === kind && (name === undefined || manifest.metadata.name === name),
  );
  if (found.length !== 1) throw new Error(`${found.length} objects are a ${kind} ${name ?? ""}`);
  return found[0] as M;
}

/**
 * The objects of the kustomization in `folder` (relative to manifests/, or absolute). Throws when a reference leads
 * nowhere, an object comes twice, a patch meets no object, or a patch does not fit.
 */
export function render(folder: string): Manifest[] {
  return added([], path.resolve(manifestsFolder, folder), "Kustomization").filter(
    ({ metadata }) => metadata.annotations?.["config.kubernetes.io/local-config"] === undefined,
  );
}

export function readKustomization(root: string): Kustomization {
  return load(readFileSync(path.join(root, "kustomization.yaml"), "utf8")) as Kustomization;
}

/** `before`, for which a component has patches, and the objects of the kustomization or component in `root`. */
function added(before: readonly Manifest[], root: string, kind: Kustomization["kind"]): Manifest[] {
  const kustomization = readKustomization(root);
  if (kustomization.kind !== kind) throw new Error(`${root} is not a ${kind}`);
  const resources = (kustomization.resources ?? []).flatMap((resource) => {
    const target = path.join(root, resource);
    if (!existsSync(target)) throw new Error(`${root} refers to ${resource}, which does not exist`);
    return statSync(target).isDirectory() ? added([], target, "Kustomization") : readManifests(target);
  });
  let objects = [...before, ...resources, ...generatedConfigMaps(root, kustomization)];
  for (const component of kustomization.components ?? [])
    objects = added(objects, path.join(root, component), "Component");
  const identities = objects.map(({ kind: of, metadata }) => `${of} ${metadata.namespace ?? ""}/${metadata.name}`);
  const twice = identities.find((identity, index) => identities.indexOf(identity) !== index);
  if (twice !== undefined) throw new Error(`${root} has ${twice} twice`);
  for (const { target, patch } of kustomization.patches ?? []) {
    const operations = load(patch) as Operation[];
    const failures = applyPatch(onlyOne(objects, target.kind, target.name), operations).filter(
      (error) => error !== null,
    );
    if (failures.length > 0) throw new Error(`${root}: a patch of ${target.kind} ${target.name} does not fit`);
  }
  if (kustomization.nameSuffix !== undefined) objects = withSuffix(objects, kustomization.nameSuffix);
  for (const replacement of kustomization.replacements ?? []) replaceIn(objects, replacement);
  return objects;
}

function generatedConfigMaps(root: string, { configMapGenerator = [], generatorOptions }: Kustomization): Manifest[] {
  return configMapGenerator.map(({ name, namespace, files = [], literals = [], options }) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name,
      ...(namespace !== undefined && { namespace }),
      labels: generatorOptions?.labels ?? {},
      ...(options !== undefined && { annotations: options.annotations }),
    },
    data: Object.fromEntries([
      ...files.map((file) => [file, readFileSync(path.join(root, file), "utf8")]),
      ...literals.map((literal) => [literal.replace(/=.*$/, ""), literal.replace(/^[^=]*=/, "")]),
    ]),
  }));
}

/** What the program makes of the arguments of a Deployment. */
export function configOf(objects: readonly Manifest[], name: string): Config {
  return loadGood(onlyOne<Deployment>(objects, "Deployment", name).spec.template.spec.containers[0].args);
}
