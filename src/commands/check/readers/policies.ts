/** The ValidatingAdmissionPolicies of a cluster, and what binds them. */
import { fieldsOf, type Json } from "../../../api/json.ts";
import { isKubeError, type KubeClient, type Resource } from "../../../kube/kube-client.ts";
import { listed } from "../../clusters/reading.ts";
import { type PolicyFacts, type Reading } from "../facts.ts";
import { type Reader, readInTime } from "./deadline.ts";

const group = { group: "admissionregistration.k8s.io", version: "v1" } as const;
const policyResource: Resource = { ...group, resource: "validatingadmissionpolicies" };
const bindingResource: Resource = { ...group, resource: "validatingadmissionpolicybindings" };

/** Both kinds, or that the cluster does not serve them. */
export function readPolicies(client: KubeClient, reader: Reader): Promise<Reading<PolicyFacts>> {
  const { cluster } = client;
  return readInTime({ cluster, verb: "list", resource: policyResource }, reader, async (signal) => {
    try {
      const [policies, bindings] = await Promise.all(
        [policyResource, bindingResource].map((resource) => listed(client, { resource }, readNamed, { signal })),
      );
      return { isServed: true, policies: new Map(policies), bindings: (bindings ?? []).map(([, spec]) => spec) };
    } catch (error) {
      if (isKubeError(error, "notFound")) return { isServed: false, policies: new Map(), bindings: [] };
      throw error;
    }
  });
}

function readNamed(raw: unknown): readonly [string, Json] {
  const { metadata, spec } = fieldsOf(raw);
  return [String(fieldsOf(metadata)["name"]), fieldsOf(spec)];
}
