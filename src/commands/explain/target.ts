/** What `explain` is asked about: `pod NAME`, `protector NAME`, or a workload such as `deployment NAME`. */
import { objectNameProblem, namespaceProblem } from "../../config/types/kubernetes-names.ts";
import { nearest } from "../../config/types/nearest.ts";
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { sourceKinds } from "../../sources/index.ts";

export type TargetKind =
  | { readonly kind: "pod" }
  | { readonly kind: "protector" }
  /** `sourceKind` as the label of a generated PodProtector has it: "Deployment". */
  | { readonly kind: "workload"; readonly sourceKind: string };

export type Target = TargetKind & { readonly namespace: string; readonly name: string };

/** Kubernetes' short names. */
const shortNames: Readonly<Record<string, string>> = {
  po: "pod",
  ppr: "protector",
  podprotector: "protector",
  deploy: "deployment",
  sts: "statefulset",
  rs: "replicaset",
  rc: "replicationcontroller",
  pdb: "poddisruptionbudget",
};

/** Words for the kinds, those that people need most first. */
export const targetWords: readonly string[] = [
  "pod",
  "protector",
  ...new Set(sourceKinds.map(({ kind }) => kind.toLowerCase())),
];

/**
 * `nameText` may be NAMESPACE/NAME; else it is in `defaultNamespace`. Without one, `kindText` is KIND/NAME, as kubectl
 * takes it.
 */
export function readTarget(kindText: string, nameText: string | undefined, defaultNamespace: string): Target | Problem {
  if (nameText === undefined) {
    const [kind = "", name, ...more] = kindText.split("/");
    if (name === undefined || more.length > 0)
      return new Problem(`${quote(kindText)} names no object; allowed: KIND NAME or KIND/NAME, such as pod web-0`);
    return readTarget(kind, name, defaultNamespace);
  }
  const lower = kindText.toLowerCase();
  const singular = [lower, lower.replace(/s$/, "")].map((word) => shortNames[word] ?? word);
  const word = singular.find((one) => targetWords.includes(one));
  if (word === undefined) {
    const best = nearest(lower, targetWords);
    const hint = best === undefined ? "" : `; did you mean ${best}?`;
    return new Problem(`${quote(kindText)} is no kind; allowed: ${targetWords.join(", ")}${hint}`);
  }
  const [first = "", second, ...more] = nameText.split("/");
  const [namespace, name] = second === undefined ? [defaultNamespace, first] : [first, second];
  const isValid =
    more.length === 0 && namespaceProblem(namespace) === undefined && objectNameProblem(name) === undefined;
  if (!isValid) return new Problem(`${quote(nameText)} is no name; allowed: NAME or NAMESPACE/NAME`);
  if (word === "pod" || word === "protector") return { kind: word, namespace, name };
  const sourceKind = sourceKinds.find(({ kind }) => kind.toLowerCase() === word)?.kind ?? word;
  return { kind: "workload", sourceKind, namespace, name };
}
