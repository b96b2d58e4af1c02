/** The flags of a connection to one cluster; upstream's names, higher rates. */
import { masterUrlProblem } from "../address.ts";
import { list } from "../collection-types.ts";
import { flag } from "../flag.ts";
import { namespaceProblem } from "../kubernetes-names.ts";
import { float, int, int32Max, text } from "../scalar-types.ts";

const optionalNamespace = {
  allowed: "a namespace name, or nothing for all namespaces",
  problemOf: (value: string) => (value === "" ? undefined : namespaceProblem(value)),
};

/** The URL of an API server. */
const masterUrl = text("URL", { allowed: "an http or https URL", problemOf: masterUrlProblem });

/** Identity and rate of a client; shared by all ways to name the cluster. */
export const clientFlags = {
  "impersonate-username": flag(text("USER"), "", "User to act as."),
  "impersonate-uid": flag(text("UID"), "", "UID to act as; needs a user."),
  "impersonate-groups": flag(list("GROUP,..."), [], "Groups to act as; need a user."),
  qps: flag(
    float({ min: 0, minExcluded: true, max: 1_000_000 }),
    200,
    "Requests per second on average. Upstream's default is 5, which also throttles admissions.",
  ),
  burst: flag(int({ min: 1, max: int32Max }), 400, "Requests that may go out at once after a quiet time."),
  "user-agent": flag(text("TEXT"), "podseidon", "User agent of requests."),
};

/** `core-kube-*` and the like. */
export const kubeFlags = {
  config: flag(
    text("PATH"),
    "",
    "Kubeconfig file. Without it and without a master URL, the ServiceAccount of the own pod is used.",
  ),
  master: flag(masterUrl, "", "URL of the API server; overrides the kubeconfig's.", { mayHoldPassword: true }),
  "target-namespace": flag(
    text("NAMESPACE", optionalNamespace),
    "",
    "Namespace that watches are restricted to; nothing means all namespaces.",
  ),
  ...clientFlags,
};
