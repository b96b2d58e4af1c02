/** What the PodProtectors of the services say, read from the core. */
import { type ApiServer, asObject } from "../../../test/double/index.ts";
import { namespace, type ServicePlan } from "../scenario.ts";

export interface ProtectorView {
  readonly service: string;
  /** Undefined = there is no PodProtector yet. */
  readonly floor: number | undefined;
  /** Counted by the aggregators, over all cells. */
  readonly available: number | undefined;
}

/** One for each plan. */
export function readProtectors(core: ApiServer, plans: readonly ServicePlan[]): readonly ProtectorView[] {
  const type = core.engine.typeOfKind("podseidon.kubewharf.io/v1alpha1", "PodProtector");
  if (type === undefined) throw new Error("the core does not serve PodProtectors");
  const numberOf = (value: unknown): number | undefined => (typeof value === "number" ? value : undefined);
  return plans.map(({ name }) => {
    const protector = core.engine.find(type, namespace, `deployment-${name}`);
    const { aggregatedAvailableReplicas } = asObject(protector?.status?.["summary"]);
    return {
      service: name,
      floor: numberOf(protector?.spec?.["minAvailable"]),
      available: numberOf(aggregatedAvailableReplicas),
    };
  });
}
