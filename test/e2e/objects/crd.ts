/** Installs CustomResourceDefinitions from manifest files. */
import { readFileSync } from "node:fs";
import { load } from "js-yaml";
import { type AdminClient } from "../clusters/admin-client.ts";
import { waitFor } from "../clusters/wait.ts";

export interface Crd {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string }[];
  };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

const establishedLimitMs = 30_000;

/** Applies the definition in `file` and resolves when its objects can be listed. */
export async function applyCrd(admin: AdminClient, file: string): Promise<void> {
  await applyDefinition(admin, load(readFileSync(file, "utf8")) as Crd);
}

/** The same of a definition that is no file. */
export async function applyDefinition(admin: AdminClient, crd: Crd): Promise<void> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${crd.metadata.name}`;
  await admin.apply(path, crd);
  await waitFor(`${crd.metadata.name} is established`, establishedLimitMs, async () => {
    const { status } = await admin.get<Crd>(path);
    return status?.conditions?.some((condition) => condition.type === "Established" && condition.status === "True");
  });
  // The handler of the new resource appears a moment after the condition.
  const { group, names, versions } = crd.spec;
  await waitFor(`${crd.metadata.name} can be listed`, establishedLimitMs, async () => {
    const { code } = await admin.request("GET", `/apis/${group}/${versions[0]?.name}/${names.plural}`);
    return code === 200;
  });
}
