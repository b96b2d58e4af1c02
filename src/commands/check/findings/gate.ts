/** What a dry-run deletion of the dummy pod shows: whether the API server asks our webhook, and for which cell. */
import { noCellID } from "../../../api/cell-id.ts";
import { type WorkerFacts } from "../facts.ts";
import { fail, type Finding, namesText, ok, unchecked } from "../finding.ts";

const page = "docs/aggregator.md#is-the-gate-still-there";
const what = "whether the API server asks the webhook";

/** `own`: the cells that this cluster is. */
export function gateFindings({ gates }: Pick<WorkerFacts, "gates">, own: readonly string[]): readonly Finding[] {
  if (gates.size === 0) return [unchecked("gate", what, "no dummy pod is known here")];
  return [...gates].map(([pod, answer]): Finding => {
    if (answer === "no pod")
      return unchecked("gate", what, `there is no pod ${pod}; name it by --dummy-pod, or start the update-trigger`);
    switch (answer.kind) {
      case "ok":
        return ok("gate", "the API server asks the webhook (dry-run deletion of a dummy pod)");
      case "other-cell":
        return ofCell(answer.cell, own, pod);
      case "missing":
        return fail("gate", `a dry-run deletion of ${pod} passed without Podseidon's answer: nothing is reviewed`, {
          cure:
            "the webhook configuration must point to a webhook of Podseidon of this release, and select the " +
            "namespace of that pod",
          page,
        });
      case "unreachable":
        return unreachable(answer.why);
      case "unknown":
        return unchecked("gate", what, answer.isForbidden ? `you may not delete pod ${pod}` : answer.why);
      default:
        return answer satisfies never;
    }
  });
}

function ofCell(cell: string, own: readonly string[], pod: string): Finding {
  if (own.includes(cell)) return ok("gate", "the API server asks the webhook (dry-run deletion of a dummy pod)");
  if (cell === noCellID) {
    const cure = "set --update-trigger-dummy-pod-labels as --webhook-cell-label of the webhook has it";
    return fail("gate", `the webhook finds no cell in the labels of ${pod}`, {
      cure,
      page: "docs/cells.md#cells-by-label",
    });
  }
  // Without an aggregator that reports there is nothing to compare with, and that is found elsewhere.
  if (own.length === 0) return ok("gate", `the API server asks the webhook, as cell "${cell}"`);
  return fail("gate", `deletions are reviewed as those of cell "${cell}", not of "${namesText(own)}"`, {
    cure: "correct the end of the URL in the webhook configuration, or --aggregator-cell-id",
    page: "docs/cells.md#names",
  });
}

/** The API server quotes its TLS library, Go's, whose words for certificates are these. */
const ofCertificates: readonly (readonly [RegExp, "certificate" | "ca-bundle", string])[] = [
  [/certificate has expired or is not yet valid/, "certificate", "renew the certificate of the webhook"],
  [
    /certificate signed by unknown authority|failed to verify certificate|certificate is not trusted/,
    "ca-bundle",
    "put the authority of the webhook's certificate into caBundle of all entries",
  ],
  [
    /certificate is (?:valid for|not valid for)|doesn't contain any IP SANs/,
    "ca-bundle",
    "make a certificate that names the address of the webhook",
  ],
];

/** Without the address, which is known, and the API server's words around what happened. */
function reasonIn(why: string): string {
  const at = /: Post "[^"]*": /.exec(why) ?? /failed calling webhook "[^"]*": /.exec(why);
  return at === null ? why : why.slice(at.index + at[0].length);
}

function unreachable(why: string): Finding {
  const found = ofCertificates.find(([words]) => words.test(why));
  if (found === undefined) {
    return fail(
      "gate",
      `the API server gets no answer from the webhook, so every deletion is refused: ${reasonIn(why)}`,
      {
        cure: "look at the webhooks, and at the way to them from the API server",
        page: "docs/break-glass.md#is-it-podseidon",
      },
    );
  }
  const [, check, cure] = found;
  const text = `the API server does not trust the webhook, so every deletion is refused: ${reasonIn(why)}`;
  return fail(check, text, {
    cure,
    page: check === "certificate" ? "docs/webhook.md#expiry" : "docs/webhook.md#tls-files",
  });
}
