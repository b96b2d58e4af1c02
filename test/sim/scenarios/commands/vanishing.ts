/** How PodProtectors come to vanish: what a generator notes of them, and what becomes of their CRD. */
import { digestOfUID } from "../../../../src/accounting/history/uid-digest.ts";
import { annotations, sourceLabels } from "../../../../src/api/v1alpha1/names.ts";
import { encodeReleases, generatorStateName, type Release } from "../../../../src/kube/generator-state.ts";
import { type EpochMicros } from "../../../../src/util/clock.ts";
import { builtInResources, permissivePodProtectorCrd } from "../../../double/index.ts";
import { namespace } from "../../clusters/namespaces.ts";
import { type Arguments } from "./arguments.ts";
import { type Run, type Stage } from "./stage.ts";

/** The default of --cell-lease-namespace. */
const stateNamespace = "default";

/** mark NAME generated|released|original: the annotation that a generator sets, or what the Go original sets. */
export const mark: Run = async (stage, args) => {
  const name = args.word("the name");
  const kind = args.word("the mark");
  const { sources } = stage.world.core;
  // By a person, as far as the generator of this world is concerned.
  if (kind === "released") sources.meddled(namespace, name, "release");
  const key = kind === "released" ? annotations.released : annotations.generated;
  const body =
    kind === "original"
      ? { metadata: { labels: { [sourceLabels.kind]: "Deployment" } } }
      : { metadata: { annotations: { [key]: "" } } };
  const patch = { contentType: "application/merge-patch+json", body };
  await stage.during(stage.core.server.engine.patch(stage.core.protectors, namespace, name, patch));
};

/** erase NAME: a person deletes it; strip NAME: a person takes its finalizers off. */
export const erase: Run = async (stage, args) => {
  const { engine } = stage.core.server;
  await stage.during(engine.delete(stage.core.protectors, namespace, meddledWith(stage, args)));
};

export const strip: Run = async (stage, args) => {
  const patch = { contentType: "application/merge-patch+json", body: { metadata: { finalizers: null } } };
  const { engine } = stage.core.server;
  await stage.during(engine.patch(stage.core.protectors, namespace, meddledWith(stage, args), patch));
};

/** By nobody's wish but the person's: the checker of sources is told of a loss. */
function meddledWith(stage: Stage, args: Arguments): string {
  const name = args.word("the name");
  stage.core.sources.meddled(namespace, name, "loss");
  return name;
}

/**
 * releases N [dropped=M]: the generator's list of releases has so many entries, of a moment ago, and as many have left
 * it before; 0: a person deletes it.
 */
export const fillReleases: Run = async (stage, args) => {
  const { engine } = stage.core.server;
  const { configMaps } = builtInResources;
  const count = Number(args.word("how many"));
  const dropped = args.number("dropped", 0);
  if (engine.find(configMaps, stateNamespace, generatorStateName) !== undefined)
    await stage.during(engine.delete(configMaps, stateNamespace, generatorStateName));
  if (count === 0) return;
  const releasedAt = engine.clock.epochMicros();
  const releases = Array.from({ length: count }, (_, index): Release => {
    const digest = digestOfUID(`another ${index}`);
    return { digest, releasedAt, cause: "deleted", number: dropped + index + 1, namespace: `shop-${index % 7}` };
  });
  await stage.during(createState(stage, encodeReleases(releases, { newest: dropped + count, dropped })));
};

function createState(stage: Stage, data: ReturnType<typeof encodeReleases>): Promise<unknown> {
  return stage.core.server.engine.create(builtInResources.configMaps, stateNamespace, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: generatorStateName },
    data,
  });
}

/** let-go NAME: its generator notes in its list that it is released. */
export const letGo: Run = async (stage, args) => {
  const { engine } = stage.core.server;
  const uid = engine.find(stage.core.protectors, namespace, args.word("the name"))?.metadata.uid ?? "";
  const release = { digest: digestOfUID(uid), releasedAt: 0 as EpochMicros, cause: "deleted", number: 1, namespace };
  await stage.during(createState(stage, encodeReleases([release], { newest: 1, dropped: 0 })));
};

/** owners install|end|gone: the CRD of the kind that workloads belong to; "end": its deletion waits for an object. */
export const changeOwners: Run = async (stage, args) => {
  const { engine } = stage.core.server;
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
  const { engine } = stage.core.server;
  const definition = permissivePodProtectorCrd();
  const isDeleted = args.word("what becomes of it") === "delete";
  const { name } = definition["metadata"] as { readonly name: string };
  // Those with finalizers are there as long as these are.
  stage.core.sources.meddled(namespace, "deployment-web", "loss");
  await stage.during<unknown>(
    isDeleted
      ? engine.delete(builtInResources.customResourceDefinitions, undefined, name)
      : engine.installCrd(definition),
  );
};
