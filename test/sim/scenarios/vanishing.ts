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
