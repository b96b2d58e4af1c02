/**
 * What the double does otherwise than a real kube-apiserver, on purpose. Nothing of it is covered by a case; nothing
 * that we run relies on it.
 */

interface KnownDifference {
  readonly what: string;
  readonly double: string;
}

export const knownDifferences: readonly KnownDifference[] = [
  { what: "server-side apply", double: "501" },
  {
    what: "bodies in YAML or protobuf, answers in protobuf or as metadata only",
    double: "501 and 406",
  },
  {
    what: "the columns of the table of Services",
    double: "name and age",
  },
  { what: "the states of init containers and exit codes in the table of pods", double: "are not told" },
  { what: "subresources such as pods/log and namespaces/finalize", double: "501; namespaces are never emptied" },
  { what: "webhooks with matchConditions", double: "501" },
  { what: "options.fieldManager in a review", double: "is always set" },
  { what: "fieldValidation of built-in types", double: "is ignored: unknown fields are kept" },
  { what: "rules in CEL of a CustomResourceDefinition", double: "are not evaluated" },
  { what: "defaults and validation of built-in types", double: "only what the product and the tests touch" },
  { what: "managedFields", double: "has the writers and times, and of fields only those of Deployments, whole" },
  { what: "reads from a watch cache that is behind", double: "never happen: each review sees the newest version" },
  { what: "the message of a selector or JSON that cannot be read", double: "differs; code and reason are the same" },
];
