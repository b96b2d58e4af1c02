/**
 * `podseidon release`: lets a PodProtector go by hand: one that dangles, or one that has vanished and that webhooks
 * keep in force (docs/generator.md#when-a-podprotector-is-gone).
 */
import { objectKey } from "../../api/object-key.ts";
import { holdingCondition } from "../../api/v1alpha1/conditions.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { byHandKeyOf, configMaps, generatorStateName } from "../../kube/generator-state.ts";
import { type KubeClient } from "../../kube/kube-client.ts";
import { presentOrThrow, readProtectorLive } from "../../kube/pod-protectors.ts";
import { podProtectors } from "../../kube/resources.ts";
import { onClusters, type OpenClusters } from "../clusters/open.ts";
import { coreOptions, namespaceOption, outputOption } from "../clusters/options.ts";
import { type Command, type CommandContext, type CommandEnd, type CommandOptions, valueOf } from "../command.ts";
import { type CoreLook, toldLooksAt } from "../fleet/look.ts";
import { holds, type Standing } from "../fleet/standing.ts";
import { goneText } from "../fleet/wording.ts";
import { ageText, jsonText, lines, shellWord } from "../text/format.ts";
import { carryOut, type Change, creationOf, dryRunOption, patchOf } from "./change.ts";
import { isUID } from "./values.ts";

/** A note in a ConfigMap, for people. */
const reasonLengthMax = 200;

export const release: Command = {
  usage: "release [protector]",
  summary: "Let a dangling or vanished PodProtector go",
  options: [
    ...coreOptions,
    namespaceOption,
    { usage: "--reason <text>", description: "Why, for people; kept with a vanished one" },
    { usage: "--undo", description: "Keep in force again what was let go by its UID" },
    dryRunOption,
    outputOption,
  ],
  examples: ["release", "release shop/deployment-web", 'release $UID --reason "torn down"'],

  run(context, options, protector) {
    const reason = valueOf(options, "reason") ?? "";
    const isLong = reason.length > reasonLengthMax;
    const problem = isLong ? `option --reason: at most ${reasonLengthMax} characters` : undefined;
    return onClusters({ context, options, problem }, async (clusters, output) => {
      const looks = await toldLooksAt(clusters, clusters.choice.namespace, context);
      if (typeof protector !== "string") return listed(context, looks, output === "json");
      return released(context, options, { name: protector, reason, looks, clusters });
    });
  },
};

function dangling({ protectors }: CoreLook): readonly Standing[] {
  return (protectors?.standings ?? []).filter(({ protector }) => holds(protector, "Dangling"));
}

/** What could be let go, and what was. */
function listed({ write, terminal, program }: CommandContext, looks: readonly CoreLook[], isJson: boolean): CommandEnd {
  const isAny = looks.some((look) => dangling(look).length > 0 || look.tombstones.some((one) => !one.isSaidToBeOver));
  const exitCode = isAny || looks.some(({ unread }) => unread.length > 0) ? 1 : 0;
  if (isJson) {
    write(jsonText({ cores: looks.map(listedJson) }));
    return { exitCode };
  }
  const say = (text: string): void => write(lines(text, terminal.columns, "  "));
  for (const look of looks) {
    const { core, tombstones, held, at } = look;
    for (const { namespace, name } of dangling(look)) {
      say(`${core}: ${namespace}/${name} dangles: its source has vanished without being deleted`);
      say(`  if that is gone for good: ${program} release ${shellWord(namespace)}/${shellWord(name)}`);
    }
    for (const tombstone of tombstones) {
      const { protector, uid, lastAt } = tombstone;
      const age = lastAt === undefined ? "" : ` (${ageText((at - lastAt) / 1000)} ago)`;
      say(`${core}: ${protector} ${goneText(tombstone)}${age}: UID ${uid}`);
    }
    for (const { uid, note } of held?.letGo ?? []) say(`${core}: UID ${uid} was let go: ${note}`);
  }
  if (!isAny) say("No PodProtector dangles, and none is known to be gone and in force.");
  return { exitCode };
}

function listedJson(look: CoreLook): object {
  return {
    core: look.core,
    dangling: dangling(look).map(({ namespace, name }) => ({ namespace, name })),
    tombstones: look.tombstones.map(({ protector, uid, isSaidToBeOver }) => ({ protector, uid, isSaidToBeOver })),
    letGo: look.held?.letGo,
  };
}

interface Asked {
  readonly name: string;
  readonly reason: string;
  readonly looks: readonly CoreLook[];
  readonly clusters: OpenClusters;
}

async function released(context: CommandContext, options: CommandOptions, asked: Asked): Promise<CommandEnd> {
  const change = options.has("undo") ? undone(asked) : isUID(asked.name) ? byUID(asked) : byName(asked);
  if (change instanceof Problem) return { exitCode: 1, problem: change.message };
  const after = options.has("undo")
    ? []
    : ["The generator and the webhooks look every 15 s. Then the deletions of its pods need no quota any more."];
  return carryOut(context, options, [change], { after });
}

type Present = Pick<Standing, "namespace" | "name" | "protector">;

interface Place {
  readonly look: CoreLook;
  readonly client: KubeClient;
}

/** The core that has it; where none is known to, the only one. */
function coreOf({ looks, clusters }: Asked, has: (look: CoreLook) => boolean): Place | Problem {
  const having = looks.filter(has);
  const [look, ...others] = having.length > 0 ? having : looks;
  const client = look === undefined ? undefined : clusters.cores.get(look.core);
  if (look === undefined || client === undefined || others.length > 0)
    return new Problem("in which core? Say one --core");
  return { look, client };
}

function byName(asked: Asked): Change | Problem {
  const { clusters, looks, name: given } = asked;
  const [first = "", second] = given.split("/");
  const [namespace, name] = second === undefined ? [clusters.objectNamespace, first] : [first, second];
  const key = objectKey(namespace, name);
  const find = ({ protectors }: CoreLook): Standing | undefined =>
    protectors?.standings.find((one) => one.namespace === namespace && one.name === name);
  const place = coreOf(asked, (look) => find(look) !== undefined);
  const standing = place instanceof Problem ? undefined : find(place.look);
  if (!(place instanceof Problem) && standing !== undefined) return ofPresent(place.client, standing);
  const gone = looks.flatMap(({ tombstones }) => tombstones).filter(({ protector }) => protector === key);
  const none = `there is no PodProtector ${quote(key)}`;
  if (gone.length === 0) {
    const said = "and no Event says that webhooks keep it in force";
    return new Problem(`${none}, ${said}; if a refusal names its UID, say that`);
  }
  // Whoever may write Events in that namespace may name any UID: that of another one, too.
  const uids = gone.map(({ uid }) => uid).join(", ");
  return new Problem(
    `${none}. Events say that webhooks keep one in force, and anybody who writes Events can say so: ${uids}. ` +
      "Where a refusal, or the log of a webhook, names the same UID, say that instead of the name",
  );
}

/** It holds for the version that was looked at: one whose source is back meanwhile stays in force. */
function ofPresent(client: KubeClient, { namespace, name, protector }: Present): Change | Problem {
  if (!holds(protector, "Dangling") && !asksForRelease(protector)) {
    return new Problem(
      `PodProtector ${namespace}/${name} does not dangle, and no release of it is held: delete its source, ` +
        "or if it was made by hand, the PodProtector",
    );
  }
  const gets = `gets the annotation ${annotations.released}=true, and protects no more`;
  const { uid, resourceVersion } = protector.metadata;
  const metadata = { uid, resourceVersion, annotations: { [annotations.released]: "true" } };
  const at = { resource: podProtectors, namespace, name };
  return {
    ...patchOf(client, at, `PodProtector ${namespace}/${name} ${gets}`, { metadata }),
    async again(signal) {
      const live = presentOrThrow(await readProtectorLive(client, at, { signal }));
      if (live?.uid !== uid) return new Problem(`PodProtector ${namespace}/${name} is gone by now`);
      return ofPresent(client, { namespace, name, protector: live.protector });
    },
  };
}

/** Its source is deleted, and that is held (generator/mass-changes/announcements.ts). */
function asksForRelease({ status }: Standing["protector"]): boolean {
  return holdingCondition(status?.conditions, "ChangeHeld")?.message.includes("asks to release its floor") === true;
}

function byUID(asked: Asked): Change | Problem {
  const { name: uid, reason, clusters } = asked;
  const find = ({ protectors }: CoreLook): Standing | undefined =>
    protectors?.standings.find(({ protector }) => protector.metadata.uid === uid);
  const place = coreOf(asked, (look) => find(look) !== undefined || look.tombstones.some((one) => one.uid === uid));
  if (place instanceof Problem) return place;
  const { look, client } = place;
  const existing = find(look);
  if (existing !== undefined) return ofPresent(client, existing);
  if (look.held === undefined) return new Problem(`the ConfigMap ${generatorStateName} cannot be read`);
  const namespace = clusters.choice.leaseNamespace;
  const key = byHandKeyOf(uid);
  const what = `ConfigMap ${namespace}/${generatorStateName} gets the key ${key}, so webhooks let that PodProtector go`;
  const data = { [key]: reason === "" ? "released by hand" : reason };
  if (look.held.state.resourceVersion !== undefined) return keyChange(client, namespace, data, what);
  const metadata = { name: generatorStateName, namespace };
  const body = { apiVersion: "v1", kind: "ConfigMap", metadata, data };
  return creationOf(client, { resource: configMaps, namespace }, what, body);
}

/** Takes the key off again. What the generator has deleted meanwhile does not come back. */
function undone(asked: Asked): Change | Problem {
  const { name: uid, clusters } = asked;
  if (!isUID(uid)) return new Problem("release --undo: say the UID that was let go");
  const present = coreOf(asked, ({ held }) => held?.letGo.some((one) => one.uid === uid) === true);
  if (present instanceof Problem) return present;
  if (present.look.held?.letGo.some((one) => one.uid === uid) !== true)
    return new Problem(`the UID ${uid} was not let go by hand`);
  const namespace = clusters.choice.leaseNamespace;
  const what = `the ConfigMap ${namespace}/${generatorStateName} loses the key ${byHandKeyOf(uid)}`;
  return keyChange(present.client, namespace, { [byHandKeyOf(uid)]: null }, what);
}

function keyChange(
  client: KubeClient,
  namespace: string,
  data: Readonly<Record<string, string | null>>,
  what: string,
): Change {
  return patchOf(client, { resource: configMaps, namespace, name: generatorStateName }, what, { data });
}
