/**
 * The meaning of metav1.LabelSelector, as Kubernetes defines it: all requirements of matchLabels and matchExpressions
 * must hold; NotIn and DoesNotExist also hold when the key is absent; the empty selector matches everything.
 *
 * Compiling brings a selector into a canonical form with one requirement per key: the requirements of a key are
 * intersected and duplicates removed. So two spellings of the same selector become equal, and an index never sees a key
 * twice.
 */
import { type Labels } from "../api/pod.ts";
import { type LabelSelector, type LabelSelectorRequirement } from "../api/v1alpha1/pod-protector.ts";
import { assertNever } from "../util/assert.ts";

/** Everything that a selector requires of one key. The sets iterate in ascending order. */
export type KeyRequirement =
  /** Present with this value. Nearly all selectors are made of these. */
  | { readonly kind: "is"; readonly key: string; readonly value: string }
  /** Present with one of `values`, of which there are at least two. */
  | { readonly kind: "in"; readonly key: string; readonly values: ReadonlySet<string> }
  /** Present with any value but `except`, which may be empty. */
  | { readonly kind: "exists"; readonly key: string; readonly except: ReadonlySet<string> }
  /** Absent, or present with a value that is not one of `values`, of which there is at least one. */
  | { readonly kind: "notIn"; readonly key: string; readonly values: ReadonlySet<string> }
  | { readonly kind: "absent"; readonly key: string };

export type CompiledSelector =
  /** Its requirements exclude each other. */
  | { readonly kind: "nothing" }
  /** In ascending order of keys, one per key; empty = everything matches. */
  | { readonly kind: "requirements"; readonly requirements: readonly KeyRequirement[] };

export type SelectorResult =
  | { readonly ok: true; readonly selector: CompiledSelector }
  /** `reason` is a sentence part for people, such as `key "app": operator In needs values`. */
  | { readonly ok: false; readonly reason: string };

/**
 * Compiles `selector`. An unknown operator, In or NotIn without values, and Exists or DoesNotExist with values are
 * errors, as in Kubernetes. The syntax of keys and values is not checked: a selector that no valid label can meet
 * matches no pod.
 */
export function compileSelector(selector: LabelSelector): SelectorResult {
  const { matchLabels = {}, matchExpressions } = selector;
  if (matchExpressions === undefined || matchExpressions.length === 0) {
    // A map has each key once, so there is nothing to intersect.
    const keys = Object.keys(matchLabels).sort();
    const requirements = keys.map((key): KeyRequirement => ({ kind: "is", key, value: matchLabels[key]! }));
    return { ok: true, selector: { kind: "requirements", requirements } };
  }
  const demands = new Map<string, KeyDemand>();
  const demandOn = (key: string): KeyDemand => {
    const demand = demands.get(key) ?? { mustExist: false, mustBeAbsent: false, allowed: undefined, denied: new Set() };
    demands.set(key, demand);
    return demand;
  };
  for (const [key, value] of Object.entries(matchLabels)) allowOnly(demandOn(key), [value]);
  for (const requirement of matchExpressions) {
    const reason = addRequirement(demandOn(requirement.key), requirement);
    if (reason !== undefined) return { ok: false, reason: `key ${JSON.stringify(requirement.key)}: ${reason}` };
  }

  const requirements: KeyRequirement[] = [];
  for (const [key, demand] of [...demands].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const requirement = conclude(key, demand);
    if (requirement === undefined) return { ok: true, selector: { kind: "nothing" } };
    requirements.push(requirement);
  }
  return { ok: true, selector: { kind: "requirements", requirements } };
}

/** Whether a pod with `labels` is selected. */
export function matches(selector: CompiledSelector, labels: Labels): boolean {
  return selector.kind === "requirements" && selector.requirements.every((requirement) => holds(requirement, labels));
}

/**
 * The canonical text: selectors with the same text match the same label sets, and spellings that differ only in order,
 * repetition or redundancy have the same text. The syntax is that of kubectl's `-l`, such as
 * `app in (a,b),tier,!debug,zone notin (x)`; other text than plain labels is quoted.
 */
export function formatSelector(selector: CompiledSelector): string {
  return selector.kind === "nothing" ? "<nothing>" : selector.requirements.map(formatRequirement).join(",");
}

/** What the requirements read so far demand of one key. */
interface KeyDemand {
  mustExist: boolean;
  mustBeAbsent: boolean;
  /** Undefined = any value. */
  allowed: Set<string> | undefined;
  readonly denied: Set<string>;
}

/** Adds one requirement; returns the reason when it is malformed. */
function addRequirement(demand: KeyDemand, { operator, values = [] }: LabelSelectorRequirement): string | undefined {
  switch (operator) {
    case "In":
      if (values.length === 0) return "operator In needs values";
      allowOnly(demand, values);
      return undefined;
    case "NotIn":
      if (values.length === 0) return "operator NotIn needs values";
      for (const value of values) demand.denied.add(value);
      return undefined;
    case "Exists":
      if (values.length > 0) return "operator Exists takes no values";
      demand.mustExist = true;
      return undefined;
    case "DoesNotExist":
      if (values.length > 0) return "operator DoesNotExist takes no values";
      demand.mustBeAbsent = true;
      return undefined;
    default:
      // The API server does not validate operators of custom resources, so an object can hold any text.
      return `unknown operator ${JSON.stringify(operator satisfies never)}`;
  }
}

function allowOnly(demand: KeyDemand, values: readonly string[]): void {
  const { allowed } = demand;
  demand.mustExist = true;
  demand.allowed = new Set(allowed === undefined ? values : values.filter((value) => allowed.has(value)));
}

/** `demand` as one requirement; undefined when nothing can meet it. */
function conclude(key: string, { mustExist, mustBeAbsent, allowed, denied }: KeyDemand): KeyRequirement | undefined {
  if (mustBeAbsent) return mustExist ? undefined : { kind: "absent", key };
  if (allowed !== undefined) {
    const [value, ...others] = [...allowed].filter((one) => !denied.has(one));
    if (value === undefined) return undefined;
    return others.length === 0 ? { kind: "is", key, value } : { kind: "in", key, values: sorted([value, ...others]) };
  }
  return mustExist ? { kind: "exists", key, except: sorted(denied) } : { kind: "notIn", key, values: sorted(denied) };
}

function holds(requirement: KeyRequirement, labels: Labels): boolean {
  // Only own properties are labels: "constructor" and "valueOf" are valid label keys that every object inherits.
  const value = Object.hasOwn(labels, requirement.key) ? labels[requirement.key] : undefined;
  switch (requirement.kind) {
    case "is":
      return value === requirement.value;
    case "in":
      return value !== undefined && requirement.values.has(value);
    case "exists":
      return value !== undefined && !requirement.except.has(value);
    case "notIn":
      return value === undefined || !requirement.values.has(value);
    case "absent":
      return value === undefined;
    default:
      return assertNever(requirement);
  }
}

function formatRequirement(requirement: KeyRequirement): string {
  const key = quoteUnlessPlain(requirement.key);
  switch (requirement.kind) {
    case "is":
      return `${key} in ${formatValues([requirement.value])}`;
    case "in":
      return `${key} in ${formatValues(requirement.values)}`;
    case "exists":
      return requirement.except.size === 0 ? key : `${key},${key} notin ${formatValues(requirement.except)}`;
    case "notIn":
      return `${key} notin ${formatValues(requirement.values)}`;
    case "absent":
      return `!${key}`;
    default:
      return assertNever(requirement);
  }
}

function formatValues(values: Iterable<string>): string {
  return `(${[...values].map(quoteUnlessPlain).join(",")})`;
}

function quoteUnlessPlain(text: string): string {
  return /^[A-Za-z0-9._/-]+$/.test(text) ? text : JSON.stringify(text);
}

function sorted(values: Iterable<string>): ReadonlySet<string> {
  return new Set([...values].sort());
}
