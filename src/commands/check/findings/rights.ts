/** Whether the accounts of the roles may do what the roles do. */
import { type Reading, type RightFacts } from "../facts.ts";
import { type Finding, fail, namesText, ok, unchecked } from "../finding.ts";

export function rightFindings(rights: Reading<readonly RightFacts[]>): readonly Finding[] {
  if (!rights.ok) return [unchecked("right", "rights of the accounts", rights.why)];
  const accounts = Map.groupBy(rights.value, ({ account }) => account);
  if (accounts.size === 0)
    return [unchecked("right", "rights of the accounts", "none of Podseidon's accounts is here")];
  const missing = [...accounts].flatMap(([account, ofAccount]) => {
    const denied = ofAccount.filter(({ isGranted }) => !isGranted).map(({ right }) => right);
    return denied.length === 0 ? [] : [ofMissing(account, denied)];
  });
  return missing.length > 0 ? missing : [ok("right", `rights of ${[...accounts.keys()].join(", ")}`)];
}

function ofMissing(account: string, denied: readonly string[]): Finding {
  return fail("right", `${account} may not ${namesText(denied)}`, {
    cure: "apply the manifests of the release that runs: kubectl apply -k your overlay",
    page: "docs/security.md#rights",
  });
}
