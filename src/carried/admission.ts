/** What API servers are to ask and to refuse, as the manifests of this release have it. */
import { asList, fieldsOf, type Json } from "../api/json.ts";
import { rendered } from "./kustomization.ts";

/** The webhook configuration. */
export function ownConfiguration(): Json {
  return fieldsOf(rendered("base/admission").find(({ kind }) => kind === "ValidatingWebhookConfiguration"));
}

/** A ValidatingAdmissionPolicy. */
export interface OwnPolicy {
  readonly name: string;
  readonly spec: Json;
  /** Names of the accounts that it limits; "podseidon-aggregator-*" = all that begin so. */
  readonly accounts: readonly string[];
}

const home = "system:serviceaccount:podseidon-system:";

/** Those of a core or of a worker, for accounts in `namespace`. */
export function ownPolicies(part: "core" | "worker", namespace: string): readonly OwnPolicy[] {
  return rendered(`base/policies/${part}`)
    .filter(({ kind }) => kind === "ValidatingAdmissionPolicy")
    .map(({ metadata, spec }) => {
      const moved = JSON.stringify(spec).replaceAll(home, `system:serviceaccount:${namespace}:`);
      const [by] = asList(fieldsOf(spec)["matchConditions"]).map(fieldsOf);
      const named = String(by?.["expression"]).matchAll(/(startsWith\()?'[^']*:(podseidon-[a-z-]+)'/g);
      const accounts = Array.from(named, ([, begins, name]) => `${name}${begins === undefined ? "" : "*"}`);
      return { name: String(fieldsOf(metadata)["name"]), spec: fieldsOf(JSON.parse(moved)), accounts };
    });
}
