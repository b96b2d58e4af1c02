/**
 * Writes the table of the webhook's decisions into docs/webhook.md: `node scripts/n.mjs scripts/decision-order.ts`. A
 * test fails while the page is behind.
 */
import { readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { deletionOrder, judgingOrder, subjectOrder } from "../src/webhook/decide/decision-order.ts";

export const webhookPage = path.join(import.meta.dirname, "../docs/webhook.md");
const start = "<!-- Generated from src/webhook/decide/decision-order.ts by scripts/decision-order.ts. Do not edit. -->";
const end = "<!-- The end of what is generated. -->";

/** `page` with the table as the code has it. */
export function withDecisionOrder(page: string): string {
  const [before, rest] = page.split(`${start}\n`);
  const [, after] = rest?.split(end) ?? [];
  if (before === undefined || after === undefined) throw new Error(`${webhookPage} has no place for the table`);
  const rules = new Set([...subjectOrder, ...deletionOrder, ...judgingOrder]);
  const rows = Array.from(rules, ({ name, when, answer, statuses }) =>
    ["", name, when, answer, statuses.join(", "), ""].join(" | ").trim(),
  );
  const table = ["| rule | condition | answer | status in metrics |", "|---|---|---|---|", ...rows];
  return `${before}${start}\n\n${table.join("\n")}\n\n${end}${after}`;
}

if (import.meta.main) writeFileSync(webhookPage, withDecisionOrder(readFileSync(webhookPage, "utf8")));
