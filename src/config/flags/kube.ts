/** The flags of the connection to a cluster: upstream's names, higher rates. */
import { masterUrlProblem } from "../types/address.ts";
import { list } from "../types/collection-types.ts";
import { flag } from "../flag.ts";
import { namespaceProblem } from "../types/kubernetes-names.ts";
import { float, int, int32Max, text } from "../types/scalar-types.ts";

const optionalNamespace = {
  allowed: "a namespace name, or empty for all namespaces",
  problemOf: (value: string) => (value === "" ? undefined : namespaceProblem(value)),
};

/** The URL of an API server. */
const masterUrl = text("URL", { allowed: "an http or https URL", problemOf: masterUrlProblem });

/** Identity and rate limit of a client; shared by all ways to name the cluster. */
export const clientFlags = {
  "impersonate-username": flag(text("USER"), "", "User to impersonate.", { isRare: true }),
  "impersonate-uid": flag(text("UID"), "", "UID to impersonate; requires a user.", { isRare: true }),
  "impersonate-groups": flag(list("GROUP,..."), [], "Groups to impersonate; require a user.", { isRare: true }),
  qps: flag(
    float({ min: 0, minExcluded: true, max: 1_000_000 }),
    200,
    "Average number of requests per second. Upstream's default is 5, which throttles admissions too.",
  ),
  burst: flag(int({ min: 1, max: int32Max }), 400, "Number of requests that may be sent at once after an idle period."),
  "user-agent": flag(text("TEXT"), "podseidon", "User-Agent header of requests."),
};

/** `core-kube-*` and the like. */
export const kubeFlags = {
  config: flag(
    text("PATH"),
    "",
    "Path to a kubeconfig file. If neither this nor the master URL is set, the pod's own ServiceAccount is used.",
  ),
  master: flag(masterUrl, "", "URL of the API server; overrides the one in the kubeconfig.", { mayHoldPassword: true }),
  "target-namespace": flag(
    text("NAMESPACE", optionalNamespace),
    "",
    "Only watch objects in this namespace; empty watches all namespaces.",
  ),
  ...clientFlags,
};
