/**
 * Whether the ValidatingAdmissionPolicies are there that limit the accounts of the roles (docs/security.md#rights), as
 * this release has them. They know accounts by name, so a policy for another namespace limits nobody.
 */
import { spaced } from "../../../aggregator/audits/guarded-namespaces.ts";
import { asList, asObject, fieldsOf, type Json } from "../../../api/json.ts";
import { type OwnPolicy, ownPolicies } from "../../../carried/admission.ts";
import { type PolicyFacts, type Reading, type RightFacts } from "../facts.ts";
import { fail, type Finding, namesText, ok, unchecked, warn } from "../finding.ts";

const check = "policy";
const page = "docs/security.md#rights";

export interface PolicyQuestion {
  readonly part: "core" | "worker";
  readonly policies: Reading<PolicyFacts>;
  /** They name the accounts that are there. */
  readonly rights: Reading<readonly RightFacts[]>;
}

/** `namespace`: of the accounts. */
export function policyFindings({ part, policies, rights }: PolicyQuestion, namespace: string): readonly Finding[] {
  const own = ownPolicies(part, namespace);
  const present = rights.ok ? [...new Set(rights.value.map(({ account }) => account))] : undefined;
  const needed = own.map((policy) => ({ policy, accounts: limitedBy(policy, present) }));
  const looked = needed.filter(({ accounts }) => accounts.length > 0);
  if (looked.length === 0) return [];
  if (!policies.ok) return [unchecked(check, "the policies that limit the accounts", policies.why)];
  if (!policies.value.isServed) return [notServed(looked.flatMap(({ accounts }) => accounts))];
  const faults = looked.flatMap(({ policy, accounts }) => {
    const fault = faultOf(policy, policies.value);
    return fault === undefined ? [] : [{ ...fault, name: policy.name, accounts }];
  });
  if (faults.length === 0) return [ok(check, `${looked.length} policies limit what accounts may write`)];
  return [...Map.groupBy(faults, ({ what }) => what)].map(([what, same]) => {
    const accounts = accountsText(same.flatMap((one) => one.accounts));
    const names = namesText(same.map(({ name }) => name));
    if (same.every(({ kind }) => kind === "names"))
      return warn(check, `${accounts}: other names than in the manifests, ${what}: ${names}`, {
        cure: "compare them: docs name what has to fit, such as the dummy pod",
        page,
      });
    const isOpen = same.some(({ kind }) => kind === "open");
    const how = isOpen ? "not limited, and may write all that RBAC gives" : "not limited as by this release";
    return fail(check, `${accounts} ${how}: ${what}: ${names}`, {
      cure: "apply the policies of this release with their bindings: kubectl apply -k your overlay",
      page,
    });
  });
}

function accountsText(accounts: readonly string[]): string {
  return namesText([...new Set(accounts)].toSorted());
}

function notServed(accounts: readonly string[]): Finding {
  const text = `${accountsText(accounts)} not limited: this cluster serves no ValidatingAdmissionPolicies`;
  return fail(check, text, {
    cure: "Kubernetes 1.30 and newer serve them; until then guard these accounts' tokens like those of administrators",
    page,
  });
}

/** Those that are there. `present`: undefined = not known, and then as the policy has them. */
function limitedBy({ accounts }: OwnPolicy, present: readonly string[] | undefined): readonly string[] {
  return present?.filter((one) => accounts.some((account) => isMeant(account, one))) ?? accounts;
}

function isMeant(account: string, name: string): boolean {
  return account.endsWith("*") ? name.startsWith(account.slice(0, -1)) : name === account;
}

interface Fault {
  readonly what: string;
  /**
   * open: it is asked about nothing, or not about these accounts. rules: what it refuses is another thing, as with the
   * policy of another release. names: only texts in expressions differ, as where somebody has named a thing otherwise.
   */
  readonly kind: "open" | "rules" | "names";
}

function faultOf({ name, spec }: OwnPolicy, { policies, bindings }: PolicyFacts): Fault | undefined {
  const theirs = policies.get(name);
  if (theirs === undefined) return { what: "no policy", kind: "open" };
  const denying = bindings.filter(({ policyName, validationActions, paramRef, matchResources }) => {
    const isWhole = paramRef === undefined && isNothing("matchResources", matchResources);
    return policyName === name && isWhole && asList(validationActions).includes("Deny");
  });
  if (denying.length === 0) return { what: "no binding that denies, everywhere", kind: "open" };
  const place = difference(spec, theirs, "spec", spaced);
  if (place === undefined) return undefined;
  const what = `another ${place}`;
  if (!/^spec\.(?:variables|validations)/.test(place)) return { what, kind: "open" };
  return { what, kind: difference(spec, theirs, "spec", withoutTexts) === undefined ? "names" : "rules" };
}

/** An expression without what stands between quotes. */
function withoutTexts(expression: string): string {
  return spaced(expression).replaceAll(/'[^']*'/g, "''");
}

/** What a refusal says, and by which code, limits nobody. */
const words: ReadonlySet<string> = new Set(["message", "messageExpression", "reason"]);

/** Where `theirs` is not as `own`, what API servers fill in aside; undefined = nowhere. */
function difference(
  own: unknown,
  theirs: unknown,
  place: string,
  textOf: (text: string) => string,
): string | undefined {
  if (own === undefined) return isNothing(place, theirs) ? undefined : place;
  if (typeof own === "string") return typeof theirs === "string" && textOf(own) === textOf(theirs) ? undefined : place;
  if (Array.isArray(own)) {
    const list = asList(theirs);
    if (list.length !== own.length) return place;
    return first(own.map((one, index) => difference(one, list[index], `${place}[${index}]`, textOf)));
  }
  const fields = asObject(own);
  if (fields === undefined) return own === theirs ? undefined : place;
  const others: Json = fieldsOf(theirs);
  const keys = new Set([...Object.keys(fields), ...Object.keys(others)].filter((key) => !words.has(key)));
  return first([...keys].map((key) => difference(fields[key], others[key], `${place}.${key}`, textOf)));
}

function first(places: readonly (string | undefined)[]): string | undefined {
  return places.find((place) => place !== undefined);
}

const defaults: Readonly<Record<string, unknown>> = { matchPolicy: "Equivalent", scope: "*" };

/** What an API server fills in, which changes nothing. */
function isNothing(place: string, value: unknown): boolean {
  const key = place.slice(place.lastIndexOf(".") + 1);
  if (value === undefined || value === defaults[key]) return true;
  if (Array.isArray(value)) return value.length === 0;
  const fields = asObject(value);
  return fields !== undefined && Object.entries(fields).every(([name, one]) => isNothing(name, one));
}
