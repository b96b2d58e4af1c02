/**
 * The names that metadata may hold (labels, annotations, finalizers), with the server's wording of what is wrong with
 * others.
 */
import { type FieldError } from "./status.ts";

const nameLengthMax = 63;
const subdomainLengthMax = 253;

const name = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const dnsLabel = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const dnsSubdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

const characters =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const namePattern =
  "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
  "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
/** The server counts one and the same in names of objects as characters, elsewhere as bytes. */
type Unit = "characters" | "bytes";
const tooLong = (limit: number, unit: Unit = "bytes"): string => `must be no more than ${limit} ${unit}`;

/** What is wrong with the name of most objects; empty = nothing. */
export function objectNameProblems(text: string): readonly string[] {
  return dnsSubdomainProblems(text, "characters");
}

/** What is wrong with a name that becomes the host name of pods; empty = nothing. */
export function dnsLabelProblems(text: string): readonly string[] {
  const problems = text.length > nameLengthMax ? [tooLong(nameLengthMax, "characters")] : [];
  if (dnsLabel.test(text)) return problems;
  if (dnsSubdomain.test(text)) return [...problems, "must not contain dots"];
  const why =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end " +
    "with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
  return [...problems, why];
}

function dnsSubdomainProblems(text: string, unit: Unit): readonly string[] {
  const problems = text.length > subdomainLengthMax ? [tooLong(subdomainLengthMax, unit)] : [];
  if (dnsSubdomain.test(text)) return problems;
  const why =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and " +
    "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
  return [...problems, why];
}

/** What is wrong with `name` or `prefix/name`; empty = nothing. */
function qualifiedNameProblems(text: string): readonly string[] {
  const parts = text.split("/");
  const own = parts.at(-1)!;
  if (parts.length > 2) {
    return [
      `a valid label key ${characters} ${namePattern} with an optional DNS subdomain prefix and '/' ` +
        "(e.g. 'example.com/MyName')",
    ];
  }
  const problems: string[] = [];
  if (parts.length === 2) {
    if (parts[0] === "") problems.push("prefix part must be non-empty");
    else problems.push(...dnsSubdomainProblems(parts[0]!, "bytes").map((why) => `prefix part ${why}`));
  }
  if (own === "") problems.push("name part must be non-empty");
  else if (own.length > nameLengthMax) problems.push(`name part ${tooLong(nameLengthMax)}`);
  if (!name.test(own)) problems.push(`name part ${characters} ${namePattern}`);
  return problems;
}

function labelValueProblems(text: string): readonly string[] {
  const problems = text.length > nameLengthMax ? [tooLong(nameLengthMax)] : [];
  if (labelValue.test(text)) return problems;
  const why =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " +
    "must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', " +
    "regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  return [...problems, why];
}

function invalidValue(field: string, value: unknown, problems: readonly string[]): FieldError[] {
  return problems.map((why) => ({
    field,
    reason: "FieldValueInvalid",
    detail: `Invalid value: ${JSON.stringify(value)}: ${why}`,
  }));
}

export function validateLabels(labels: Readonly<Record<string, string>>): FieldError[] {
  const field = "metadata.labels";
  return Object.entries(labels).flatMap(([key, value]) => [
    ...invalidValue(field, key, qualifiedNameProblems(key)),
    ...invalidValue(field, value, labelValueProblems(value)),
  ]);
}

export function validateAnnotations(annotations: Readonly<Record<string, string>>): FieldError[] {
  return Object.keys(annotations).flatMap((key) =>
    // The prefix of an annotation may be written in upper case.
    invalidValue("metadata.annotations", key, qualifiedNameProblems(key.toLowerCase())),
  );
}

/** Some types insist that a finalizer without a prefix is one of these. */
const standardFinalizers = ["kubernetes", "orphan", "foregroundDeletion"];

export function validateFinalizers(finalizers: readonly string[], isStrict: boolean): FieldError[] {
  const field = "metadata.finalizers";
  const errors = finalizers.flatMap((item) => invalidValue(field, item, qualifiedNameProblems(item)));
  if (finalizers.includes("orphan") && finalizers.includes("foregroundDeletion")) {
    errors.push(...invalidValue(field, finalizers, ["finalizer orphan and foregroundDeletion cannot be both set"]));
  }
  if (!isStrict) return errors;
  finalizers.forEach((item, index) => {
    if (item.includes("/") || standardFinalizers.includes(item)) return;
    const why = "name is neither a standard finalizer name nor is it fully qualified";
    errors.push(...invalidValue(`${field}[${index}]`, item, [why]));
  });
  return errors;
}
