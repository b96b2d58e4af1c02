/** `podseidon approve`: lists mass changes that are held, lets them pass, or undoes one (docs/mass-changes.md). */
import { formatMicroTime, formatWholeSeconds } from "../../api/micro-time.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { neverReplicas } from "../../accounting/count/foreign-owners.ts";
import { Problem } from "../../config/reading/problem.ts";
import { nearest } from "../../config/types/nearest.ts";
import { quote } from "../../config/types/value-type.ts";
import { everyCause } from "../../generator/mass-changes/latches.ts";
import { configMaps, generatorStateName } from "../../kube/generator-state.ts";
import { podProtectors } from "../../kube/resources.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { printable } from "../../util/printable.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import { coreOptions, namespaceOption, outputOption } from "../clusters/options.ts";
import {
  type Command,
  type CommandContext,
  type CommandEnd,
  type CommandOptions,
  valueOf,
  wrongUsage,
} from "../command.ts";
import { type CoreLook, toldLooksAt } from "../fleet/look.ts";
import { countsForeignPods, holds, type Standing } from "../fleet/standing.ts";
import { ageText, jsonText, lines, shellWord } from "../text/format.ts";
import { carryOut, type Change, dryRunOption, patchOf } from "./change.ts";
import { undo } from "./undo.ts";
import { readUntil } from "./values.ts";

/** As the generator has it: an approval is for what a person has just looked at. */
const approvalMax = { max: 24 * 3_600_000, maxText: "24h" };
/** Long enough for a generator that restarts meanwhile. */
const approvalDefaultMs = 3_600_000;
/** PodProtectors of a cause that are named. */
const namedMax = 10;
/** Pods of other owners that count: no change is held, but what they are worth waits for a person. */
const foreignCause = "foreign-pods";

export const approve: Command = {
  usage: "approve [cause]",
  summary: "List held mass changes, let them pass, or undo",
  options: [
    ...coreOptions,
    namespaceOption,
    { usage: "--reason <text>", description: "Why they may pass; for the generator's log" },
    { usage: "--for <duration>", description: "How long it holds, up to 24h; default 1h" },
    { usage: "--undo <workload>", description: "Replace a held, deleted one: deployment/web" },
    dryRunOption,
    outputOption,
  ],
  examples: ["approve", 'approve namespace/shop --reason "moved away"', "approve --undo deployment/web -n shop"],

  run(context, options, cause) {
    const workload = valueOf(options, "undo");
    const isBoth = workload !== undefined && cause !== undefined;
    const problem = isBoth ? "approve: either a cause or --undo, not both" : undefined;
    return onClusters({ context, options, problem }, async (clusters, output) => {
      if (workload !== undefined) return undo(context, clusters, workload, options.has("dry-run"));
      const looks = await toldLooksAt(clusters, clusters.choice.namespace, context);
      if (typeof cause !== "string") return listed(context, looks, output === "json");
      if (cause === foreignCause) return leftOut(context, options, looks, clusters);
      return approved(context, options, { cause, looks, clusters });
    });
  },
};

/** The PodProtectors that a cause holds: the condition names it. */
function heldBy({ protectors }: CoreLook, cause: string): readonly Standing[] {
  return (protectors?.standings ?? []).filter(
    ({ protector }) => holds(protector, "ChangeHeld") && messageOf(protector).includes(`(cause ${cause})`),
  );
}

function messageOf({ status }: Standing["protector"]): string {
  return status?.conditions?.find(({ type }) => type === "ChangeHeld")?.message ?? "";
}

function listed({ write, terminal, program }: CommandContext, looks: readonly CoreLook[], isJson: boolean): CommandEnd {
  const isAnyHeld = looks.some(({ held }) => (held?.held.length ?? 0) > 0);
  const exitCode = isAnyHeld || looks.some(({ unread }) => unread.length > 0) ? 1 : 0;
  if (isJson) {
    write(jsonText({ cores: looks.map(heldJson) }));
    return { exitCode };
  }
  for (const look of looks) {
    const { core, held, at } = look;
    const title = looks.length === 1 ? "" : `core ${core}: `;
    if (held === undefined) continue;
    if (held.held.length === 0) write(`${title}nothing is held\n`);
    for (const { cause, since } of held.held) {
      const ofCause = heldBy(look, cause);
      const head = `${title}${cause}: ${ofCause.length} changes held for ${ageText((at - since) / 1000)}`;
      write(lines(head, terminal.columns, "  "));
      for (const { namespace, name, protector } of ofCause.slice(0, namedMax)) {
        write(lines(`  ${namespace}/${name}: ${messageOf(protector)}`, terminal.columns, "    "));
      }
      if (ofCause.length > namedMax) write(`  and ${ofCause.length - namedMax} more\n`);
      write(`  to let them pass: ${program} approve ${shellWord(printable(cause))} --reason WHY\n`);
    }
    const foreign = countingForeign(look);
    if (foreign.length === 0) continue;
    const names = foreign.slice(0, namedMax).map(({ namespace, name }) => `${namespace}/${name}`);
    const more = foreign.length > namedMax ? ` and ${foreign.length - namedMax} more` : "";
    const head = `${title}${foreignCause}: pods of other owners count for ${names.join(", ")}${more}`;
    write(lines(head, terminal.columns, "  "));
    write(`  to leave them out: ${program} approve ${foreignCause}\n`);
  }
  return { exitCode };
}

function heldJson(look: CoreLook): object {
  return {
    core: look.core,
    foreignPods: countingForeign(look).map(({ namespace, name }) => `${namespace}/${name}`),
    held: look.held?.held.map(({ cause, since }) => ({
      cause,
      since: formatMicroTime(since),
      protectors: heldBy(look, cause).map(({ namespace, name }) => `${namespace}/${name}`),
    })),
    approved: look.held?.approved.map(({ cause, at, until }) => ({
      cause,
      at: formatMicroTime(at),
      until: formatMicroTime(until),
    })),
  };
}

function countingForeign({ protectors }: CoreLook): readonly Standing[] {
  return (protectors?.standings ?? []).filter(({ protector }) => countsForeignPods(protector));
}

/** Writes the list of what is left out where its absence was told; the generator keeps it from then on. */
function leftOut(
  context: CommandContext,
  options: CommandOptions,
  looks: readonly CoreLook[],
  { cores }: OpenClusters,
): Promise<CommandEnd> | CommandEnd {
  const changes = looks.flatMap((look) =>
    countingForeign(look).flatMap(({ namespace, name, protector }): Change[] => {
      const client = cores.get(look.core);
      if (client === undefined) return [];
      const { uid } = protector.metadata;
      const what = `pods of ${neverReplicas.join(", ")} are left out for ${namespace}/${name}`;
      const body = { metadata: { uid }, spec: { foreignOwners: neverReplicas } };
      return [patchOf(client, { resource: podProtectors, namespace, name }, what, body)];
    }),
  );
  if (changes.length === 0) return { exitCode: 1, problem: "no PodProtector counts pods of other owners" };
  const after = ["They are neither counted nor protected from the next counts of each cell on."];
  return carryOut(context, options, changes, { after });
}

interface Asked {
  readonly cause: string;
  readonly looks: readonly CoreLook[];
  readonly clusters: OpenClusters;
}

async function approved(context: CommandContext, options: CommandOptions, asked: Asked): Promise<CommandEnd> {
  const { cause, looks, clusters } = asked;
  const { clock } = context;
  const reason = valueOf(options, "reason") ?? "";
  if (reason.trim() === "") return wrongUsage("approve: say why they may pass: --reason TEXT");
  const given = readUntil(options, clock.epochMicros(), approvalMax);
  if (given instanceof Problem) return wrongUsage(given.message);
  const until = given ?? formatWholeSeconds((clock.epochMicros() + approvalDefaultMs * 1000) as EpochMicros);
  const holding = looks.filter(({ held }) => held?.held.some((one) => cause === everyCause || one.cause === cause));
  if (holding.length === 0) return { exitCode: 1, problem: nothingHeld(cause, looks) };
  const namespace = clusters.choice.leaseNamespace;
  const text = JSON.stringify({ cause, until, reason });
  const changes = holding.flatMap((look): Change[] => {
    const client = clusters.cores.get(look.core);
    if (client === undefined) return [];
    const causes = look.held?.held.filter((one) => cause === everyCause || one.cause === cause) ?? [];
    const count = causes.reduce((sum, one) => sum + heldBy(look, one.cause).length, 0);
    const what = `${count} held changes of cause ${cause} may pass until ${until}`;
    const at = { resource: configMaps, namespace, name: generatorStateName };
    return [patchOf(client, at, what, { metadata: { annotations: { [annotations.approve]: text } } })];
  });
  const after = [
    "The generator looks every five seconds, and says how many pass in an Event ChangesApproved on the ConfigMap " +
      `${namespace}/${generatorStateName}. It covers what is held now; later changes count anew.`,
  ];
  return carryOut(context, options, changes, { after });
}

function nothingHeld(cause: string, looks: readonly CoreLook[]): string {
  const causes = [...new Set(looks.flatMap(({ held }) => held?.held.map((one) => one.cause) ?? []))];
  if (causes.length === 0) return "nothing is held";
  const best = nearest(cause, causes);
  const hint = best === undefined ? "" : `; did you mean ${best}?`;
  return `the cause ${quote(cause)} holds nothing; these do: ${causes.join(", ")}, or '*' for all${hint}`;
}
