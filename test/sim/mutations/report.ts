/** `make sim MUTATIONS=1`: does the simulation notice every mutation? */
import { mutations } from "./catalog/catalog.ts";
import { checkMutations, type Verdict } from "./check.ts";

/** Enough for the rarest, with room. */
const seedsMax = 400;
/** So many worlds need three minutes on a quiet machine; more than this, and something hangs. */
const limitMs = 1_800_000;

/** Prints a table in Markdown; resolves to the exit code: 1 when one survives. */
export async function reportMutations(processes: number): Promise<number> {
  const startMs = performance.now();
  const verdicts = await checkMutations({
    seedsMax,
    limitMs,
    processes,
    onVerdict: (verdict) => console.log(`${verdict.mutation}: ${outcomeOf(verdict)} (${verdict.seconds.toFixed(1)} s)`),
  });
  console.log("\n| mutation | the rule that it breaks | caught | finding |\n|---|---|---|---|");
  for (const verdict of verdicts) console.log(rowOf(verdict));
  const survivors = verdicts.filter(isSurvivor).map(({ mutation }) => mutation);
  const seconds = Math.round((performance.now() - startMs) / 1000);
  const caught = verdicts.length - survivors.length;
  console.log(`\n${JSON.stringify({ mutations: verdicts.length, caught, survivors, seconds })}`);
  return survivors.length === 0 ? 0 : 1;
}

function rowOf(verdict: Verdict): string {
  const why = mutations.find(({ name }) => name === verdict.mutation)?.why ?? "";
  const cells = [`\`${verdict.mutation}\``, why, outcomeOf(verdict), findingOf(verdict)];
  return `| ${cells.map((cell) => cell.replaceAll("|", "/")).join(" | ")} |`;
}

function isSurvivor({ caught }: Verdict): boolean {
  return caught === undefined;
}

function outcomeOf({ mutation, caught, worlds }: Verdict): string {
  const scenario = mutations.find(({ name }) => name === mutation)?.scenario;
  if (caught === undefined) return scenario === undefined ? `survives ${worlds} seeds` : `survives ${scenario}`;
  if (caught.how === "scenario") return `scenario ${scenario}`;
  return `seed ${caught.seed}${caught.how === "checker" ? "" : ` (${caught.how})`}`;
}

/** The first line of the finding, with what is random shortened. */
function findingOf({ caught }: Verdict): string {
  const [line = ""] = (caught?.finding ?? "").split("\n", 1);
  return line
    .replaceAll(/\b[0-9a-f]{8}-[0-9a-f-]{27}\b/g, "a pod")
    .replaceAll(/\{.*\}/g, "…")
    .slice(0, 160);
}
