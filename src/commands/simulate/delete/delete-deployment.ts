/** `podseidon simulate delete deployment NAME -n NAMESPACE`: of the core. */
import { asList, fieldsOf } from "../../../api/json.ts";
import { objectKey } from "../../../api/object-key.ts";
import { readLabels } from "../../../api/pod.ts";
import { labels as podseidonLabels } from "../../../api/v1alpha1/names.ts";
import { type PodProtector } from "../../../api/v1alpha1/pod-protector.ts";
import { keptCause, keptNumberOf } from "../../../generator/sources/kept.ts";
import { isKubeError, type KubeClient, type Resource } from "../../../kube/kube-client.ts";
import { namespaces } from "../../../kube/resources.ts";
import { printable } from "../../../util/printable.ts";
import { floorOwnerOf } from "../../../webhook/decide/refusals/floor-owner.ts";
import { type OpenClusters } from "../../clusters/open.ts";
import { reading, readingOne } from "../../clusters/reading.ts";
import { type CommandEnd, wrongUsage } from "../../command.ts";
import { readHeldChanges } from "../../fleet/held-changes.ts";
import { jsonText } from "../../text/format.ts";
import { Guard, type Guarding, type GuardOptions } from "../guard.ts";
import { readGuards, type Reads, type Simulation } from "../reads.ts";
import { stepLines } from "../steps.ts";
import { type ReleasedWorkload, releaseSteps } from "./release-steps.ts";

const deployments: Resource = { group: "apps", version: "v1", resource: "deployments" };

/** Exit code 1 when its release would be held for a person, or something cannot be read. */
export async function simulateDeleteDeployment(
  name: string,
  clusters: OpenClusters,
  { context, output }: Simulation,
): Promise<CommandEnd> {
  const [[core, client] = [undefined, undefined], ...others] = clusters.cores;
  if (core === undefined || client === undefined || others.length > 0)
    return wrongUsage("simulate delete: name the one core that has the Deployment, by --core");
  const { objectNamespace: namespace } = clusters;
  const at = { resource: deployments, namespace, name, role: "view" };
  const read = await readingOne(client, at, context.signal);
  if (!read.ok) {
    const isAbsent = isKubeError(read.error, "notFound");
    const problem = isAbsent ? printable(`${core} has no Deployment ${namespace}/${name}`) : read.problem;
    return { exitCode: 1, problem };
  }
  const guards = await readGuards(clusters, namespace, context);
  if (!guards.ok) return { exitCode: 1, problem: guards.problem };
  const workload = {
    ...workloadOf(read.value, { namespace, name }, guards.value),
    isExempt: await isExempt(client, namespace, context),
    heldCauses: await heldCauses(client, clusters.choice.leaseNamespace, context),
  };
  const { steps, isHeld } = releaseSteps(workload);
  if (output === "json") context.write(jsonText({ ...workload, isHeld, steps }));
  else context.write(stepLines(steps, context.terminal).join(""));
  return { exitCode: isHeld ? 1 : 0 };
}

type Named = Pick<ReleasedWorkload, "namespace" | "name">;

function workloadOf(
  raw: unknown,
  { namespace, name }: Named,
  guards: GuardOptions,
): Omit<ReleasedWorkload, "isExempt" | "heldCauses"> {
  const owner = printable(`Deployment ${namespace}/${name}`);
  const own = guards.protectors.find((one) => objectOf(one) !== undefined && ownerName(one) === owner);
  const template = fieldsOf(fieldsOf(raw)["spec"])["template"];
  const labels = readLabels(template);
  const guard = new Guard(guards);
  const others = guard.protectorsOf({ namespace, labels }).filter((one) => one !== own && !one.isShadow);
  const figures = own && guard.figuresOf(own.id);
  return {
    namespace,
    name,
    cause: (own && keptAs(own)) ?? causeOf(raw, namespace),
    protector:
      own === undefined || figures === undefined
        ? undefined
        : { id: own.id, mustStay: figures.required, available: figures.aggregated },
    cells: (figures?.cells ?? []).map(({ cellID, last }) => ({ cell: cellID, available: last })),
    others: others.map(({ id }) => id),
  };
}

function objectOf({ state }: Guarding): PodProtector | undefined {
  return state.kind === "valid" ? state.view.protector : undefined;
}

/** The cause of what its owner keeps (docs/mass-changes.md#keep); undefined = it does not. */
function keptAs(own: Guarding): string | undefined {
  const metadata = objectOf(own)?.metadata;
  if (metadata === undefined || keptNumberOf(metadata) === undefined) return undefined;
  return keptCause(objectKey(metadata.namespace, metadata.name));
}

function ownerName(guarding: Guarding): string | undefined {
  const object = objectOf(guarding);
  return object && floorOwnerOf(object)?.name;
}

/** As docs/mass-changes.md#causes has it: by its controlling owner, else by the first. */
function causeOf(raw: unknown, namespace: string): string {
  const owners = asList(fieldsOf(fieldsOf(raw)["metadata"])["ownerReferences"]).map(fieldsOf);
  const owner = owners.find(({ controller }) => controller === true) ?? owners[0];
  if (owner === undefined) return `namespace/${namespace}`;
  const [group = "", version] = String(owner["apiVersion"]).split("/");
  return `owner/${String(owner["kind"])}${version === undefined ? "" : `.${group}`}`;
}

/** Whether changes in the namespace are never held. Not known without the right to read it: then no. */
async function isExempt(client: KubeClient, namespace: string, { signal, complain }: Reads): Promise<boolean> {
  const read = await readingOne(client, { resource: namespaces, name: namespace, role: "view" }, signal);
  if (read.ok) return readLabels(read.value)[podseidonLabels.massChanges] === "allow";
  complain(read.problem);
  return false;
}

/** Causes that hold changes now; undefined = they cannot be read. */
async function heldCauses(
  client: KubeClient,
  leaseNamespace: string,
  { clock, signal, complain }: Reads,
): Promise<readonly string[] | undefined> {
  const resource: Resource = { group: "", version: "v1", resource: "configmaps" };
  const access = { cluster: client.cluster, verb: "get", resource, namespace: leaseNamespace } as const;
  const read = await reading(access, () => readHeldChanges(client, leaseNamespace, () => clock.epochMicros(), signal));
  if (read.ok) return read.value.held.map(({ cause }) => cause);
  complain(`${read.problem}; it is not known which changes are held`);
  return undefined;
}
