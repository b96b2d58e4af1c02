/** How PodProtectors come to vanish: what a generator notes of them, and what becomes of their CRD. */
import { digestOfUID } from "../../../src/accounting/history/uid-digest.ts";
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { encodeReleases, generatorStateName, releasedKey } from "../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { builtInResources, permissivePodProtectorCrd } from "../../double/index.ts";
import { namespace } from "../world.ts";
import { type Run } from "./stage.ts";

/** The default of --cell-lease-namespace. */
const stateNamespace = "default";

/** mark NAME generated|released: the annotation that a generator sets. */
export const mark: Run = async (stage, args) => {
  const name = args.word("the name");
  const key = args.word("the mark") === "released" ? annotations.released : annotations.generated;
  const { sources } = stage.world;
  // By a person, as far as the generator of this world is concerned.
  if (key === annotations.released) sources.meddled(namespace, sourceOf(name), "release");
  const body = { metadata: { annotations: { [key]: "" } } };
  const patch = { contentType: "application/merge-patch+json", body };
  await stage.during(stage.world.core.server.engine.patch(stage.world.protectors, namespace, name, patch));
};

function sourceOf(protector: string): string {
  return protector.replace(/^deployment-/, "");
}

/** let-go NAME: its generator notes in its list that it is released. */
export const letGo: Run = async (stage, args) => {
  const { engine } = stage.world.core.server;
  const uid = engine.find(stage.world.protectors, namespace, args.word("the name"))?.metadata.uid ?? "";
  const released = encodeReleases([{ digest: digestOfUID(uid), releasedAt: 0 as EpochMicros, cause: "deleted" }]);
  await stage.during(
    engine.create(builtInResources.configMaps, stateNamespace, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: generatorStateName },
      data: { [releasedKey]: released },
    }),
  );
};

/** owners install|end|gone: the CRD of the kind that workloads belong to; "end": its deletion waits for an object. */
export const changeOwners: Run = async (stage, args) => {
  const { engine } = stage.world.core.server;
  const type = builtInResources.customResourceDefinitions;
  const name = "shops.shops.example.com";
  const act = args.word("what becomes of them");
  if (act === "install") {
    const schema = { openAPIV3Schema: { type: "object" } };
    const versions = [{ name: "v1", served: true, storage: true, schema }];
    const spec = {
      group: "shops.example.com",
      scope: "Namespaced",
      names: { plural: "shops", kind: "Shop" },
      versions,
    };
    await stage.during(engine.installCrd({ metadata: { name }, spec }));
    return;
  }
  const shops = engine.registry.all().find(({ kind }) => kind === "Shop");
  if (shops === undefined) throw args.error("there are no owners");
  if (act === "gone") {
    const body = { metadata: { finalizers: null } };
    const patch = { contentType: "application/merge-patch+json", body };
    await stage.during(engine.patch(shops, namespace, "kept", patch));
    return;
  }
  const shop = {
    apiVersion: "shops.example.com/v1",
    kind: "Shop",
    metadata: { name: "kept", finalizers: ["example.com/kept"] },
  };
  await stage.during(engine.create(shops, namespace, shop));
  await stage.during(engine.delete(type, undefined, name));
};

/** crd delete|install: in the core, with all PodProtectors; and as it was, without them. */
export const crd: Run = async (stage, args) => {
  const { engine } = stage.world.core.server;
  const definition = permissivePodProtectorCrd();
  const isDeleted = args.word("what becomes of it") === "delete";
  const { name } = definition["metadata"] as { readonly name: string };
  await stage.during<unknown>(
    isDeleted
      ? engine.delete(builtInResources.customResourceDefinitions, undefined, name)
      : engine.installCrd(definition),
  );
};
