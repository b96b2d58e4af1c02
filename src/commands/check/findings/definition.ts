/** The CRD of PodProtectors: whether it is there, and keeps what the roles write. */
import { droppedFields, isOwnSchema, isTerminating, releaseOf } from "../../../carried/definition.ts";
import { type CoreFacts } from "../facts.ts";
import { counted, fail, type Finding, namesText, ok, unchecked, warn } from "../finding.ts";

const lost = "docs/disasters.md#the-crd-is-lost";
const apply = {
  cure: "apply the CRD of the release that runs",
  command: "kubectl apply -k manifests/base/crd",
  page: "docs/upgrading.md#a-crd-that-drops-fields",
};

/** Whether it is gone, or will be with the last of its objects. */
export function isLost({ definition }: Pick<CoreFacts, "definition">): boolean {
  return definition.ok && (definition.value === undefined || isTerminating(definition.value));
}

/** `release`: of the generator that runs, such as "0.1.0"; undefined = it is not known. `own`: of this program. */
export function definitionFindings(
  { definition }: Pick<CoreFacts, "definition">,
  release: string | undefined,
  own: string,
): readonly Finding[] {
  if (!definition.ok) return [unchecked("crd", "the CRD of PodProtectors", definition.why)];
  const crd = definition.value;
  if (crd === undefined) {
    const remedy = {
      cure: "do not restart webhooks; stop the generator, and make it again from the newest file that you have",
      command: "podseidon restore crd --file=FILE",
      page: lost,
    };
    return [fail("crd", "there is no CRD of PodProtectors: no object of theirs exists", remedy)];
  }
  if (isTerminating(crd)) {
    const remedy = {
      cure: "do not restart webhooks; stop the generator, and bring it back with all objects",
      command: "podseidon restore crd",
      page: lost,
    };
    return [fail("crd", "somebody has deleted the CRD of PodProtectors; finalizers alone keep the objects", remedy)];
  }
  const dropped = droppedFields(crd);
  if (dropped.length > 0) {
    const text = `the CRD drops ${counted(dropped.length, "field")} of this release: ${namesText(dropped)}`;
    return [fail("crd-prunes", text, apply)];
  }
  const theirs = releaseOf(crd);
  // Of a generator of another release than this program we do not know what schema it wants.
  const isForeign = theirs === undefined ? release === own && !isOwnSchema(crd) : theirs !== release;
  if (release !== undefined && isForeign) {
    const which = theirs === undefined ? "another release" : `release ${theirs}`;
    const text = `the CRD is of ${which}, the generator of ${release}`;
    return [warn("release", text, apply)];
  }
  return [ok("crd", "the CRD of PodProtectors keeps all fields")];
}
