/** Whether the tokens that clusters have of each other's accounts are good for long enough to renew them in peace. */
import { type EpochMicros } from "../../../util/clock.ts";
import { ageText } from "../../text/age.ts";
import { type Reading, type TokenFacts } from "../facts.ts";
import { fail, type Finding, ok, unchecked, warn } from "../finding.ts";

/** Time to renew one by hand, over a weekend and a holiday. */
const soonSeconds = 7 * 24 * 3_600;
/** Of shorter ones, such as those of a week: whoever renews them every day never gets there. */
const soonShare = 1 / 2;
const webhook = "podseidon-webhook";

const remedy = {
  cure: "run podseidon install worker again for this cell, and do so every day from a scheduled job",
  page: "docs/install.md#tokens-between-clusters",
};

export function tokenFindings(tokens: Reading<readonly TokenFacts[]>, now: EpochMicros): readonly Finding[] {
  if (!tokens.ok) return [unchecked("token", "when tokens for other clusters end", tokens.why)];
  return tokens.value.map((token) => ofToken(token, now));
}

function ofToken({ account, validity }: TokenFacts, now: EpochMicros): Finding {
  const what = `the token that another cluster has of ${account}`;
  if (validity === undefined) return unchecked("token", what, "its annotation handed-token cannot be read");
  const leftSeconds = (validity.to - now) / 1_000_000;
  if (leftSeconds <= 0) {
    const text = `${what} ended ${ageText(-leftSeconds * 1_000)} ago: ${lossOf(account)}`;
    return fail("token", text, remedy);
  }
  const left = ageText(leftSeconds * 1_000);
  const wholeSeconds = (validity.to - validity.from) / 1_000_000;
  if (leftSeconds > Math.min(soonSeconds, wholeSeconds * soonShare)) return ok("token", `${what} is good for ${left}`);
  return warn("token", `${what} ends in ${left}; then ${lossOf(account)}`, remedy);
}

/** What the other cluster cannot do without it. */
function lossOf(account: string): string {
  return account === webhook
    ? "the webhook refuses evictions of pods here"
    : "the pods of its cell are no longer counted, and the cell falls silent";
}
