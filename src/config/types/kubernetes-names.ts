/**
 * The names that the Kubernetes API accepts, so that an invalid one is found at start-up and not by a failing request
 * later. Source: k8s.io/apimachinery/pkg/util/validation. Each check returns undefined, or what is wrong in words that
 * follow the quoted value.
 */

const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const qualifiedPart = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** The name of a Namespace. */
export function namespaceProblem(text: string): string | undefined {
  return text.length <= 63 && dnsLabel.test(text) ? undefined : "is not a valid namespace name";
}

/**
 * The name of a core: a DNS label, since it stands before a slash in `core/namespace/name`, in names of clients and in
 * those of health checks.
 */
export function coreNameProblem(text: string): string | undefined {
  return text.length <= 63 && dnsLabel.test(text) ? undefined : "is not a valid name of a core";
}

/** The name of a Pod or Lease. */
export function objectNameProblem(text: string): string | undefined {
  return text.length <= 253 && dnsSubdomain.test(text) ? undefined : "is not a valid object name";
}

/** A namespaced object as NAMESPACE/NAME; "" = none. */
export function objectPathProblem(text: string): string | undefined {
  const [namespace = "", name = "", ...more] = text.split("/");
  const isGood =
    more.length === 0 && namespaceProblem(namespace) === undefined && objectNameProblem(name) === undefined;
  return text === "" || isGood ? undefined : "is not NAMESPACE/NAME";
}

/** A label or annotation key: `name` or `prefix/name`. */
export function labelKeyProblem(text: string): string | undefined {
  const [first = "", second, ...more] = text.split("/");
  const name = second ?? first;
  const isPrefixGood = second === undefined || (first.length <= 253 && dnsSubdomain.test(first));
  const isGood = more.length === 0 && isPrefixGood && name.length <= 63 && qualifiedPart.test(name);
  return isGood ? undefined : "is not a valid label or annotation key";
}

export function labelValueProblem(text: string): string | undefined {
  return text === "" || (text.length <= 63 && qualifiedPart.test(text)) ? undefined : "is not a valid label value";
}
