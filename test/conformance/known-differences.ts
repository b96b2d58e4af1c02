/** What the double does otherwise than a real kube-apiserver, on purpose. Nothing of it is covered by a case; nothing that we run relies on it. */

interface KnownDifference {
  readonly what: string;
  readonly double: string;
}

export const knownDifferences: readonly KnownDifference[] = [
  { what: "strategic merge patches of built-in types, server-side apply", double: "501" },
  {
    what: "bodies in YAML or protobuf, answers in protobuf or as tables",
    double: "501 and 406; a table is a plain list",
  },
  { what: "subresources such as pods/log and namespaces/finalize", double: "501; namespaces are never emptied" },
  { what: "webhooks with matchConditions", double: "501" },
  { what: "warnings of a webhook", double: "are not passed on to the client" },
  { what: "options.fieldManager in a review", double: "is always set" },
  { what: "fieldValidation=Strict", double: "is ignored: unknown fields are pruned (custom) or kept (built-in)" },
  { what: "rules in CEL of a CustomResourceDefinition", double: "are not evaluated" },
  { what: "defaults and validation of built-in types", double: "only what the product and the tests touch" },
  { what: "managedFields", double: "has the writers and times, never the fields" },
  { what: "reads from a watch cache that is behind", double: "never happen: each review sees the newest version" },
  { what: "the bookmark shortly before a watch's timeout", double: "is not sent" },
  { what: "the message of a selector or JSON that cannot be read", double: "differs; code and reason are the same" },
];
