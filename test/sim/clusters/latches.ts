/** The ConfigMap of a generator as people see it: what is held, and how they let it pass (docs/mass-changes.md). */
import { annotations } from "../../../src/api/v1alpha1/names.ts";
import { decodeLatches, latchesKey } from "../../../src/generator/mass-changes/latches.ts";
import { generatorStateName } from "../../../src/kube/generator-state.ts";
import { asObject, asString, type KubeObject } from "../../double/engine/object.ts";
import { builtInResources } from "../../double/engine/resources.ts";
import { type Engine } from "../../double/index.ts";

const { configMaps } = builtInResources;

const hourMs = 3_600_000;

/** What the generator's ConfigMap says is held. */
export function latchedCauses(engine: Engine): readonly string[] {
  return [...decodeLatches(asString(asObject(stateOf(engine)?.["data"])[latchesKey])).latched.keys()];
}

/** False when there is no ConfigMap, so that nothing can be held. The same words are looked at once. */
export async function approve(engine: Engine, cause: string, reason: string): Promise<boolean> {
  const until = new Date(engine.clock.epochMicros() / 1_000 + hourMs).toISOString();
  return await writeApproval(engine, JSON.stringify({ cause, until, reason }));
}

/** Whatever a person writes there. False when there is no ConfigMap. */
export async function writeApproval(engine: Engine, text: string): Promise<boolean> {
  const state = stateOf(engine);
  if (state === undefined) return false;
  const body = { metadata: { annotations: { [annotations.approve]: text } } };
  const patch = { contentType: "application/merge-patch+json", body };
  await engine.patch(configMaps, state.metadata.namespace, generatorStateName, patch);
  return true;
}

export function stateOf(engine: Engine): KubeObject | undefined {
  return engine.list(configMaps).items.find(({ metadata }) => metadata.name === generatorStateName);
}
