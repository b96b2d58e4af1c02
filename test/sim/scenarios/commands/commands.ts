/**
 * The commands of a scenario after "world" (world-command.ts). X = a pod of the first cell, or CELL/X; SERVER = core,
 * core-east or a cell; a time is 76s, 500ms, 2m.
 *
 *   create X [ready [clock=8h]] [app=A] [owner=Job.batch]; touch X [times=N]; ready X [clock=8h];
 *   notready|unseen|vanish X
 *                                        clock: that of the pod's node is so far ahead, or its Ready time is missing
 *                                        or zero; unseen: its kubelet is not heard
 *   delete X [hold|dropped] [forced] -> allowed|refused: TEXT|held|dropped|gone
 *   evict X [hold|dropped] [named|uid] -> the same
 *                                        hold = the commit hangs in a stalled etcd, that of an eviction after its
 *                                        condition; dropped = another policy refuses; named, uid: its precondition is
 *                                        the present version, or the UID
 *   delete|evict X asked -> asked        the answer is not awaited; answer X -> the same, later
 *   release X [hold|dropped] -> committed|over|refused|held
 *   retry X every=5s|on-change for=60s [evict [named|uid]] [dropped] [asked: not awaited]
 *   podgc X -> allowed|refused: TEXT|gone
 *                                        pod garbage collection finds that the Node object of the pod is gone
 *   budget N                             a PodDisruptionBudget that allows N disruptions
 *   protector NAME [min=2] [limit=N for a cell] [minready=30] [selector=K=V] [counting=K=V] [rate=10s] [follows=N]
 *     [foreign=Job.batch,Node]
 *                                        creates or edits one; erase NAME. [broken]: its counting selector is invalid;
 *                                        [mended]: it has none; follows: its floor is 75 % of the first N workloads;
 *                                        foreign: pods of these controllers are left out; none = of no kind;
 *                                        [shadow]: it refuses nothing; [enforced]: it does again
 *   deployment delete|create|end|strip|scale=N
 *                                        what a person does to Deployment web (core-losses.ts)
 *   workloads create N [in=NAMESPACE|apart] [exempt] [replicas=R] [owner=GROUP/VERSION#KIND]
 *                                        so many Deployments without pods, in one namespace or each in its own
 *   workloads overwrite|restore N [replicas=R] [by=MANAGER] [scale]
 *                                        a tool sets those of the first N to 0 replicas, or to 8; scale: by the
 *                                        subresource
 *   workloads loosen|deselect N [by=M]   all their pods may go at once; no PodProtector is wanted for them
 *   workloads keep N [at=W] [replicas=R] their annotation keep is W, or is taken off; R: in the same write
 *   workloads delete|end N               they are deleted; with their namespaces. [from=M]: only those from M on
 *   owners install|end|gone              the CRD of Shop.shops.example.com/v1; end: it is being deleted
 *   approve CAUSE                        a person lets the changes pass that are held for this cause
 *   state approve|latches TEXT [times=N] somebody writes this text into the ConfigMap of the generator
 *   wipe podprotectors|deployments       the core's storage loses all of them, without a deletion
 *   mark NAME generated|released|original
 *                                        the annotation of a generator, or what the Go original sets; let-go NAME: it
 *                                        is in the list of releases; releases N: which has so many entries of others,
 *                                        or, 0, is deleted by a person
 *   strip NAME                           a person takes its finalizers off
 *   crd delete|install                   of PodProtectors, in the core
 *   go-write [admits=1] [generation]     a Go webhook's status write, which strips all extensions, or only generations
 *   go-count N [forged] [as-of=X]        a Go aggregator's write of the first cell: N pods, and no admissions; forged:
 *                                        its own aggregator seems to say N, and all else stays; as-of: that of a
 *                                        release before, by a snapshot of the version of pod X
 *   misdate 2h                           the counts of the first cell seem to be recounted so far in the future
 *   forge UID version=N [cell=C] [digits=N]
 *                                        a bucket for a pod that does not exist, with so long a text of digests;
 *                                        C may be a cell that does not either
 *   lease CELL delete|keep=2h|forget [now]
 *                                        a person deletes it, keeps the cell's counts in force for so long, or asks to
 *                                        retire the cell; seize: the aggregator of another cluster beats once;
 *                                        cloned [for=5m]: that of a clone beats all the time; ask: a person makes the
 *                                        Lease, to retire the cell; of-core: the core itself is this cell
 *   in CORE                              what follows is about the PodProtectors of this core: core or east
 *   advance 76s
 *   lag SERVER 5s; backup|drop-watches SERVER
 *   restore SERVER [gracefully]          its connections break off, or gracefully: its watches end in good order
 *   kill|start PROCESS; clock PROCESS -30s; partition|heal FROM>TO
 *   suspend PROCESS 10m [whole]          its machine sleeps, and its monotonic clock stands still; whole: its wall
 *                                        clock as well, as where nobody tells a virtual machine the time
 *   fault SERVER lose|slow|queue|gone|stall|stale|unmarked|forbid|error KIND RESOURCE [by=PROCESS] [times=N] [after=N]
 *   [revisions=N] [delay=5s]             the next such requests (watch, list, barrier, patch, …) go wrong;
 *                                        lease=C is the Lease of a cell; RESOURCE/: those of all
 *                                        objects of it; unmarked: a proxy drops the bookmarks of a watch
 *   gate CELL remove|install|as=C|leaves-out
 *                                        the webhook configuration of a cell; as=C: its URL ends with another cell;
 *                                        leaves-out: its selector leaves out the scenario's namespace
 *   restart PROCESS [--FLAG=VALUE…]      it stops in good order and starts with these flags besides
 *   lost X,Y                             pods vanish from the worker's storage, without a deletion
 *   cluster CELL rebuilt|nameless        its namespace kube-system is another one, or none
 *   review KIND [X] [cell=C] -> allowed|refused: TEXT
 *                                        an unusual review, see reviews.ts
 *   namespace LABEL=VALUE                label of the scenario's namespace in the core; LABEL= removes it
 *   count fences|barriers|writes         from zero again
 *   expect WHAT VALUE [within 20s]       expectations.ts; VALUE: 2, <=2, >=2
 */
import { cellLeaseName } from "../../../../src/api/cell-lease.ts";
import { type ServerFault } from "../../clusters/conditions.ts";
import { type Core } from "../../core.ts";
import { Arguments } from "./arguments.ts";
import { changeLease } from "./cell-leases.ts";
import { changeDeployment, wipe } from "./core-losses.ts";
import { label, lose, rebuild } from "./clusters.ts";
import { answering, budgeting, deleting, evicting, releasing, retrying } from "./deletions.ts";
import { expect } from "./expectations.ts";
import { forge, goCount, goWrite, misdate } from "./foreign-writes.ts";
import { changeGate } from "./gate.ts";
import { type Ahead } from "./pods.ts";
import { collecting } from "./pod-garbage-collection.ts";
import { reviewing } from "./reviews.ts";
import { type Command } from "../scenario-file.ts";
import { type Counted, type Run, type Stage } from "./stage.ts";
import { changeOwners, crd, erase, fillReleases, letGo, mark, strip } from "./vanishing.ts";
import { approveHeld, changeWorkloads, writeState } from "./workloads.ts";
import { setProtector, worldOf } from "./world-command.ts";

/** Runs the first command. `prepare`: called before anything happens in the world. */
export async function startStage(
  command: Command,
  algorithm: string,
  prepare?: (stage: Stage) => void,
): Promise<Stage> {
  const args = new Arguments(command.place, command.words);
  if (command.verb !== "world") throw args.error(`begin with "world", not "${command.verb}"`);
  return await worldOf(args, algorithm, prepare);
}

/** Runs a later command; resolves to its outcome. */
export async function runCommand(stage: Stage, command: Command): Promise<string | undefined> {
  const args = new Arguments(command.place, command.words);
  const run = commands.get(command.verb);
  if (run === undefined) throw args.error(`there is no command "${command.verb}"`);
  const outcome = await run(stage, args);
  args.end();
  return outcome ?? undefined;
}

function onPod(act: (pod: ReturnType<Stage["podOf"]>, args: Arguments) => Promise<void>): Run {
  return async (stage, args) => await stage.during(act(stage.podOf(args), args));
}

function onServer(act: (stage: Stage, server: string) => void): Run {
  return async (stage, args) => act(stage, args.word("the server"));
}

function onLink(act: (stage: Stage, from: string, to: string) => void): Run {
  return async (stage, args) => {
    const [from = "", to = ""] = args.word("FROM>TO").split(">");
    act(stage, from, to);
  };
}

function coreOf({ world }: Stage, args: Arguments): Core {
  const name = args.word("the core");
  const core = world.cores.find((one) => one.name === name);
  if (core === undefined) throw args.error(`there is no core ${name}`);
  return core;
}

function faultOf(name: string, args: Arguments): ServerFault {
  switch (name) {
    case "lose":
      return { type: "loseResponse" };
    case "slow":
      return { type: "slowAnswer", delayMs: args.duration(args.setting("delay") ?? "") };
    case "queue":
      return { type: "queued", delayMs: args.duration(args.setting("delay") ?? "") };
    case "forbid":
      return { type: "forbidden" };
    case "error":
      return { type: "serverError" };
    case "gone":
      return { type: "historyLoss" };
    case "stale":
      return { type: "staleReplica", revisions: args.number("revisions", 1) };
    case "unmarked":
      return { type: "noBookmarks" };
    case "stall": {
      const afterEvents = args.number("after", -1);
      return { type: "stall", ...(afterEvents >= 0 && { afterEvents }) };
    }
    default:
      throw args.error(`there is no fault ${name}`);
  }
}

const fault: Run = async (stage, args) => {
  const server = stage.server(args.word("the server"));
  const planned = faultOf(args.word("the fault"), args);
  const kind = args.word("the kind of request");
  const [resource = "", cell] = args.word("the resource").split("=");
  stage.addFault(server, {
    fault: planned,
    kind,
    resource: `/${cell === undefined ? resource : cellLeaseName(cell)}`,
    by: args.setting("by"),
    left: args.number("times", 1),
  });
};

function aheadOf(args: Arguments): Ahead {
  const ahead = args.setting("clock") ?? "0s";
  return ahead === "missing" || ahead === "zero" ? ahead : args.duration(ahead);
}

const clock: Run = async (stage, args) => {
  const node = stage.process(args.word("the process")).node();
  node?.jumpWallClock(args.duration(args.word("by how much")));
};

const suspend: Run = async (stage, args) => {
  const node = stage.process(args.word("the process")).node();
  const durationMs = args.duration(args.word("for how long"));
  node?.suspendFor(durationMs);
  if (args.flag("whole")) node?.jumpWallClock(-durationMs);
};

const restart: Run = async (stage, args) => {
  const process = stage.process(args.word("the process"));
  process.settings = [...process.settings, ...args.rest()];
  await stage.during(process.stop());
  await stage.during(process.start());
};

const commands: ReadonlyMap<string, Run> = new Map<string, Run>([
  [
    "create",
    onPod(async ({ pods, name }, args) => {
      const app = args.setting("app") ?? "web";
      await pods.create(name, app, args.flag("ready"), aheadOf(args), args.setting("owner"));
    }),
  ],
  ["touch", onPod(({ pods, name }, args) => pods.touch(name, args.number("times", 1)))],
  ["ready", onPod(({ pods, name }, args) => pods.setReady(name, true, aheadOf(args)))],
  ["notready", onPod(({ pods, name }) => pods.setReady(name, false))],
  ["unseen", onPod(({ pods, name }) => pods.loseSight(name))],
  ["vanish", onPod(({ pods, name }) => pods.vanish(name))],
  ["delete", deleting],
  ["evict", evicting],
  ["answer", answering],
  ["release", releasing],
  ["retry", retrying],
  ["podgc", collecting],
  ["budget", budgeting],
  ["protector", async (stage, args) => await setProtector(stage, args, args.word("the name"))],
  ["erase", erase],
  ["deployment", changeDeployment],
  ["workloads", changeWorkloads],
  ["approve", approveHeld],
  ["state", writeState],
  ["owners", changeOwners],
  ["wipe", wipe],
  ["mark", mark],
  ["let-go", letGo],
  ["strip", strip],
  ["releases", fillReleases],
  ["crd", crd],
  ["go-write", goWrite],
  ["go-count", goCount],
  ["forge", forge],
  ["misdate", misdate],
  ["lease", changeLease],
  ["in", async (stage, args) => void (stage.core = coreOf(stage, args))],
  ["advance", async (stage, args) => await stage.advance(args.duration(args.word("the time")))],
  ["lag", async (stage, args) => stage.lag(args.word("the server"), args.duration(args.word("the lag")))],
  ["backup", onServer((stage, server) => stage.backUp(server))],
  ["restore", async (stage, args) => stage.restore(args.word("the server"), args.flag("gracefully"))],
  ["drop-watches", onServer((stage, server) => stage.server(server).dropWatches())],
  ["start", async (stage, args) => await stage.during(stage.process(args.word("the process")).start())],
  ["kill", async (stage, args) => stage.process(args.word("the process")).kill()],
  ["restart", restart],
  ["suspend", suspend],
  ["gate", changeGate],
  ["lost", lose],
  ["cluster", rebuild],
  ["namespace", label],
  ["review", reviewing],
  ["clock", clock],
  ["partition", onLink(({ world }, from, to) => world.network.cut(from, to))],
  ["heal", onLink(({ world }, from, to) => world.network.heal(from, to))],
  ["fault", fault],
  ["count", async (stage, args) => void stage.counters.set(args.word("what") as Counted, 0)],
  ["expect", expect],
]);
