/**
 * Whether deletions and evictions of the pods of a namespace are sent to us, by the entries of the webhook
 * configurations that are there, compared with those that the program carries
 * (docs/aggregator.md#which-namespaces-are-guarded). Whoever labels a namespace, and whatever edits a configuration,
 * can take a namespace out of it without a word. Pure: configurations and labels in, the line that excludes it out.
 */
import { asList, asObject, fieldsOf, type Json } from "../../api/json.ts";
import {
  type AdmissionregistrationV1ServiceReference,
  type AdmissionregistrationV1WebhookClientConfig,
  type Unchecked,
  type V1ObjectMeta,
  type V1RuleWithOperations,
  type V1ValidatingWebhook,
  type V1ValidatingWebhookConfiguration,
} from "../../api/models.ts";
import { type Labels } from "../../api/pod.ts";
import { type LabelSelectorRequirement } from "../../api/v1alpha1/pod-protector.ts";
import { compileSelector, formatSelector, matches } from "../../label-index/index.ts";

/** An entry of a ValidatingWebhookConfiguration, as it is read. */
export interface WebhookEntry {
  readonly configuration: string;
  readonly fields: Unchecked<V1ValidatingWebhook>;
}

export interface LabelledNamespace {
  readonly name: string;
  readonly labels: Labels;
}

/** Why a kind of request is not sent to us, or not known to be. */
export interface Gap {
  /** "DELETE pods", "CREATE pods/eviction". */
  readonly request: string;
  /** The entry of ours by which it should be. */
  readonly entry: string;
  readonly configuration: string;
  /** The end of the sentence "ENTRY of CONFIGURATION …", or without an entry of its own. */
  readonly why: string;
  /** What of the entry it is, such as "namespaceSelector". */
  readonly at: "entry" | "rules" | "namespaceSelector" | "objectSelector" | "matchConditions" | "clientConfig";
  /** The label of the namespace by which it is left out, and without which it would not be. */
  readonly label?: string;
}

/**
 * - guarded: everybody's deletions and evictions are sent. `lesser`: what only few ask for, and is not: preemptions,
 *   the writes of pod garbage collection;
 * - open: some are not sent;
 * - unjudged: whether they are depends on what was written by others, and only an API server can say.
 */
export type Guard =
  | { readonly kind: "guarded"; readonly lesser: readonly Gap[] }
  | { readonly kind: "open" | "unjudged"; readonly gap: Gap };

export function entriesOf(configuration: unknown): readonly WebhookEntry[] {
  const { metadata, webhooks } = fieldsOf<V1ValidatingWebhookConfiguration>(configuration);
  const name = String(fieldsOf<V1ObjectMeta>(metadata).name);
  return asList(webhooks).map((entry) => ({ configuration: name, fields: fieldsOf(entry) }));
}

/**
 * `entries`: all of ours that are there. `own`: as the manifests have them; those with failurePolicy Fail are about
 * everybody. `addresses`: those that are known to be ours, since a webhook of ours has answered there; undefined = all
 * are taken for ours.
 */
export function guardOf(
  entries: readonly WebhookEntry[],
  own: readonly WebhookEntry[],
  namespace: LabelledNamespace,
  addresses?: ReadonlySet<string>,
): Guard {
  const known = new Set(own.flatMap(conditionsOf));
  const lesser: Gap[] = [];
  let unjudged: Gap | undefined;
  for (const question of own.flatMap(questionsOf)) {
    const answer = answerTo(question, entries, { namespace, known, addresses });
    if (answer === "sent") continue;
    if (!question.isForAll) lesser.push(answer.gap);
    else if (answer.kind === "open") return answer;
    else unjudged ??= answer.gap;
  }
  return unjudged === undefined ? { kind: "guarded", lesser } : { kind: "unjudged", gap: unjudged };
}

/** The addresses that are asked about the pods of a namespace, such as that of a dummy pod. */
export function addressesFor(entries: readonly WebhookEntry[], { labels }: LabelledNamespace): ReadonlySet<string> {
  const asking = entries.filter(({ fields }) => {
    return (
      excludingRequirement(fields.namespaceSelector, labels) === undefined && rulesGap(fields, deletion) === undefined
    );
  });
  return new Set(asking.map(({ fields }) => addressOf(fields.clientConfig)));
}

/** The URL, or that of the Service as the API server calls it. */
export function addressOf(clientConfig: unknown): string {
  const { url, service } = fieldsOf<AdmissionregistrationV1WebhookClientConfig>(clientConfig);
  if (asObject(service) === undefined) return typeof url === "string" ? url : "";
  const { namespace, name, path, port } = fieldsOf<AdmissionregistrationV1ServiceReference>(service);
  const at = typeof port !== "number" || port === 443 ? "" : `:${port}`;
  return `https://${String(name)}.${String(namespace)}.svc${at}${typeof path === "string" ? path : "/"}`;
}

/** One kind of request. */
interface Asked {
  readonly operation: string;
  /** "pods/eviction". */
  readonly resource: string;
}

const deletion: Asked = { operation: "DELETE", resource: "pods" };

interface Question extends Asked {
  /** The entry of ours that asks it. */
  readonly entry: string;
  readonly configuration: string;
  /** Requests that meet all of these are to be sent. */
  readonly conditions: ReadonlySet<string>;
  readonly isForAll: boolean;
}

function questionsOf(own: WebhookEntry): readonly Question[] {
  const { configuration, fields } = own;
  const shared = {
    entry: String(fields.name),
    configuration,
    conditions: new Set(conditionsOf(own)),
    isForAll: fields.failurePolicy === "Fail",
  };
  return asList(fields.rules).flatMap((rule) => {
    const { operations, resources } = fieldsOf<V1RuleWithOperations>(rule);
    return asList(operations).flatMap((operation) =>
      asList(resources).map((resource) => ({ ...shared, operation: String(operation), resource: String(resource) })),
    );
  });
}

function conditionsOf({ fields }: WebhookEntry): readonly string[] {
  return asList(fields.matchConditions).map((condition) => spaced(fieldsOf(condition)["expression"]));
}

/** An expression in one line: manifests and API servers break them differently. */
export function spaced(expression: unknown): string {
  return String(expression).replaceAll(/\s+/g, " ").trim();
}

interface Circumstances {
  readonly namespace: LabelledNamespace;
  /** All conditions of ours. */
  readonly known: ReadonlySet<string>;
  readonly addresses: ReadonlySet<string> | undefined;
}

type Answer = "sent" | { readonly kind: "open" | "unjudged"; readonly gap: Gap };

/** In the order in which an entry is looked at: the later, the nearer it is to what it should be. */
const order = ["entry", "rules", "namespaceSelector", "clientConfig", "objectSelector", "matchConditions"] as const;

function answerTo(question: Question, entries: readonly WebhookEntry[], circumstances: Circumstances): Answer {
  const { entry, configuration, operation, resource } = question;
  const request = `${operation} ${resource}`;
  let nearest: Exclusion | undefined;
  for (const one of entries) {
    const found = exclusion(question, one, circumstances);
    if (found === undefined) return "sent";
    if (found !== "of another purpose" && (nearest === undefined || rank(found, entry) > rank(nearest, entry)))
      nearest = found;
  }
  if (nearest === undefined)
    return { kind: "open", gap: { request, entry, configuration, at: "entry", why: "is not there" } };
  const { isCertain, by, ...found } = nearest;
  const gap = { request, entry: String(by.fields.name), configuration: by.configuration, ...found };
  return { kind: isCertain ? "open" : "unjudged", gap };
}

interface Exclusion extends Pick<Gap, "at" | "why" | "label"> {
  readonly by: WebhookEntry;
  readonly isCertain: boolean;
}

/** What may send it counts for more than what surely does not, and then the entry that has the name of ours. */
function rank({ isCertain, at, by }: Exclusion, name: string): number {
  return (isCertain ? 0 : 100) + (by.fields.name === name ? 50 : 0) + order.indexOf(at);
}

/** Why `entry` does not send it; undefined = it does. */
function exclusion(
  question: Question,
  entry: WebhookEntry,
  { namespace, known, addresses }: Circumstances,
): Exclusion | "of another purpose" | undefined {
  const { fields } = entry;
  const own = conditionsOf(entry);
  if (own.some((condition) => known.has(condition) && !question.conditions.has(condition))) return "of another purpose";
  const certain = (at: Gap["at"], why: string, label?: string): Exclusion => {
    return { by: entry, isCertain: true, at, why, ...(label !== undefined && { label }) };
  };
  const rules = rulesGap(fields, question);
  if (rules !== undefined) return certain("rules", rules);
  const requirement = excludingRequirement(fields.namespaceSelector, namespace.labels);
  if (requirement !== undefined)
    return certain("namespaceSelector", `leaves it out by namespaceSelector: ${requirement.text}`, requirement.label);
  const address = addressOf(fields.clientConfig);
  if (addresses?.has(address) === false)
    return certain("clientConfig", `calls ${address}, which is not known to be ours`);
  if (Object.values(fieldsOf(fields.objectSelector)).some((part) => Object.keys(part ?? {}).length > 0))
    return {
      by: entry,
      isCertain: false,
      at: "objectSelector",
      why: "has an objectSelector, by which some are not sent",
    };
  const foreign = own.findIndex((condition) => !known.has(condition));
  if (foreign === -1) return undefined;
  const { name } = fieldsOf(asList(fields.matchConditions)[foreign]);
  const why = `has the matchCondition ${String(name)}, which this release does not know`;
  return { by: entry, isCertain: false, at: "matchConditions", why };
}

/** Why no rule takes the request, by the rule that comes nearest; undefined = one does. */
function rulesGap({ rules }: Unchecked<V1ValidatingWebhook>, { operation, resource }: Asked): string | undefined {
  let nearest: { readonly met: number; readonly wrong: string } | undefined;
  for (const [index, rule] of asList(rules).entries()) {
    const { apiGroups, apiVersions, operations, resources, scope } = fieldsOf<V1RuleWithOperations>(rule);
    const parts: readonly (readonly [name: string, isMet: boolean, value: unknown])[] = [
      ["apiGroups", hasOr(apiGroups, ""), apiGroups],
      ["apiVersions", hasOr(apiVersions, "v1"), apiVersions],
      ["scope", (scope ?? "*") === "*" || scope === "Namespaced", scope],
      ["operations", hasOr(operations, operation), operations],
      ["resources", asList(resources).some((pattern) => takesResource(String(pattern), resource)), resources],
    ];
    const wrong = parts.find(([, isMet]) => !isMet);
    if (wrong === undefined) return undefined;
    const met = parts.filter(([, isMet]) => isMet).length;
    if (nearest === undefined || met > nearest.met)
      nearest = { met, wrong: `rules[${index}].${wrong[0]} is ${JSON.stringify(wrong[2])}` };
  }
  const request = `does not ask about ${operation} ${resource}`;
  return nearest === undefined ? `${request}: it has no rules` : `${request}: ${nearest.wrong}`;
}

function hasOr(values: unknown, wanted: string): boolean {
  return asList(values).some((value) => value === wanted || value === "*");
}

/** As API servers match: "*" is every resource without its subresources, "pods/*" pods with theirs. */
function takesResource(pattern: string, wanted: string): boolean {
  const [resource = "", subresource = ""] = pattern.split("/");
  const [wantedResource = "", wantedSubresource = ""] = wanted.split("/");
  return (
    (resource === "*" || resource === wantedResource) && (subresource === "*" || subresource === wantedSubresource)
  );
}

/** By which each namespace is named. */
const nameLabel = "kubernetes.io/metadata.name";

/** The first requirement of a LabelSelector that these labels do not meet. An absent selector selects all. */
function excludingRequirement(
  selector: unknown,
  labels: Labels,
): (Pick<Gap, "label"> & { readonly text: string }) | undefined {
  const { matchLabels, matchExpressions } = fieldsOf(selector);
  const requirements = [
    ...Object.entries(fieldsOf(matchLabels)).map(([key, value]): Json => ({ key, operator: "In", values: [value] })),
    ...asList(matchExpressions).map((requirement) => fieldsOf(requirement)),
  ];
  for (const requirement of requirements) {
    const compiled = compileSelector({ matchExpressions: [requirement as unknown as LabelSelectorRequirement] });
    if (!compiled.ok) return { text: compiled.reason };
    if (matches(compiled.selector, labels)) continue;
    const { operator } = requirement;
    const key = String(requirement["key"]);
    if (operator !== "NotIn" && operator !== "DoesNotExist") return { text: formatSelector(compiled.selector) };
    // Of a long list the value that the namespace has.
    const text = operator === "NotIn" ? `${key} NotIn has ${labels[key]}` : `${key} DoesNotExist`;
    return key === nameLabel ? { text } : { text, label: key };
  }
  return undefined;
}
