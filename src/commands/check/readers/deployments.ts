/** The Deployments of the roles, by the labels of the manifests, and the flags that they are given. */
import { asList, fieldsOf } from "../../../api/json.ts";
import {
  type Unchecked,
  type V1Container,
  type V1Deployment,
  type V1DeploymentSpec,
  type V1EnvVar,
  type V1PodSpec,
  type V1PodTemplateSpec,
} from "../../../api/models.ts";
import { environmentName } from "../../../config/reading/environment.ts";
import { type FlagName } from "../../../config/flag-table.ts";
import { type KubeClient } from "../../../kube/kube-client.ts";
import { listDeployments } from "../../fleet/replicas.ts";
import { type DeploymentFacts } from "../facts.ts";

/** Flags that a check compares; each may stand in the environment instead. */
const readFlags = [
  "aggregator-ca-bundle-of",
  "aggregator-cell-id",
  "update-trigger-dummy-pod-namespace",
  "update-trigger-dummy-pod-name",
  "aggregator-leader-elector-name",
  "worker-kube-target-namespace",
] as const satisfies readonly FlagName[];

/** Empty where Podseidon runs in another way. Throws KubeError. */
export function readDeployments(
  cluster: KubeClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly DeploymentFacts[]> {
  return listDeployments(cluster, { namespace, signal }, (replicas, raw) => {
    const { template } = fieldsOf<V1DeploymentSpec>(fieldsOf<V1Deployment>(raw).spec);
    const pod = fieldsOf<V1PodSpec>(fieldsOf<V1PodTemplateSpec>(template).spec);
    const containers = asList(pod.containers).map((container) => fieldsOf<V1Container>(container));
    const account = pod.serviceAccountName;
    const image = containers[0]?.image;
    return {
      ...replicas,
      image: typeof image === "string" ? image : "",
      account: typeof account === "string" ? account : "default",
      flags: new Map(containers.flatMap(flagsOf)),
    };
  });
}

/** Of a container: what stands in its arguments takes precedence. */
function flagsOf({ args, env }: Unchecked<V1Container>): readonly (readonly [string, string])[] {
  const variables = new Map(
    asList(env)
      .map((variable) => fieldsOf<V1EnvVar>(variable))
      .map(({ name, value }) => [name, value]),
  );
  const ofVariables = readFlags.flatMap((flag) => {
    const value = variables.get(environmentName(flag));
    return typeof value === "string" ? [[flag, value] as const] : [];
  });
  const ofArguments = asList(args).flatMap((arg) => {
    const [, flag = "", value = ""] = /^--([^=]+)=(.*)$/s.exec(String(arg)) ?? [];
    return flag === "" ? [] : [[flag, value] as const];
  });
  return [...ofVariables, ...ofArguments];
}
