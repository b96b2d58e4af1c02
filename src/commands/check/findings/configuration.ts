/** The ValidatingWebhookConfigurations of a worker: whether they are there, ask about everything, and insist. */
import { type EntryFacts, type WorkerFacts } from "../facts.ts";
import { fail, type Finding, namesText, ok, unchecked, warn } from "../finding.ts";

const admissionPage = "docs/install.md#2-one-cluster";
/** What the first entry of the manifests asks about. */
const neededRules = ["DELETE pods", "CREATE pods/eviction"] as const;

export function configurationFindings({ entries }: Pick<WorkerFacts, "entries">): readonly Finding[] {
  if (!entries.ok) return [unchecked("webhook-configuration", "the webhook configuration", entries.why)];
  const main = entries.value.filter(({ isMain }) => isMain);
  if (main.length === 0) {
    return [
      fail("webhook-configuration", "there is no webhook configuration of Podseidon: every pod can be deleted", {
        cure: "apply it, when the webhook is ready: manifests/base/admission, through your overlay",
        page: admissionPage,
      }),
    ];
  }
  const findings = [...coverage(main), ...main.flatMap(ofEntry), ...destinations(entries.value)];
  if (findings.length > 0) return findings;
  const urls = [...new Set(main.map(({ url }) => url))];
  return [ok("webhook-configuration", `webhook configuration calls ${namesText(urls)}`)];
}

/** Several configurations, for namespaces as cells, each have to ask about everything. */
function coverage(main: readonly EntryFacts[]): readonly Finding[] {
  return [...Map.groupBy(main, ({ configuration }) => configuration)].flatMap(([name, entries]) => {
    const rules = new Set(entries.flatMap((entry) => entry.rules));
    const lacking = neededRules.filter((rule) => !rules.has(rule));
    if (lacking.length === 0) return [];
    return [
      fail("webhook-configuration", `webhook configuration ${name} does not ask about ${lacking.join(" and ")}`, {
        cure: "apply that of the manifests again",
        page: admissionPage,
      }),
    ];
  });
}

function ofEntry({ configuration, name, failurePolicy, hasObjectSelector }: EntryFacts): readonly Finding[] {
  const findings: Finding[] = [];
  if (failurePolicy === "Ignore") {
    findings.push(
      warn(
        "failure-policy",
        `${configuration}: failurePolicy of ${name} is Ignore: without a webhook, every deletion passes`,
        {
          cure: "set it to Fail when the trouble is over",
          page: "docs/break-glass.md#the-way-back",
        },
      ),
    );
  }
  if (hasObjectSelector) {
    findings.push(
      warn(
        "webhook-configuration",
        `${configuration}: ${name} has an objectSelector: whoever labels pods decides who is guarded`,
        {
          cure: "take it out: an eviction has none of the pod's labels, either",
          page: admissionPage,
        },
      ),
    );
  }
  return findings;
}

/** All entries of one configuration call the same webhook. */
function destinations(entries: readonly EntryFacts[]): readonly Finding[] {
  return [...Map.groupBy(entries, ({ configuration }) => configuration)].flatMap(([name, own]) => {
    const urls = [...new Set(own.map(({ url }) => url))];
    if (urls.length === 1) return [];
    return [
      fail(
        "webhook-configuration",
        `entries of webhook configuration ${name} call different addresses: ${namesText(urls)}`,
        {
          cure: "give all entries the address and the authority of the webhook",
          page: "docs/install.md#3-a-fleet",
        },
      ),
    ];
  });
}
