/** The acts in their order: builds the clusters, starts Podseidon, plays, measures, and takes everything down again. */
import { type Clock, sleep } from "../../src/util/clock.ts";
import { drainNodes } from "./acts/drain.ts";
import { eraseOwners, Runaway, untilQuiet } from "./acts/disaster.ts";
import { rollingUpdate } from "./acts/rolling-update.ts";
import { type Stage, waitUntil } from "./acts/wait.ts";
import { type Board, type RunRecord } from "./board.ts";
import { type ActSpan, type ChartMark } from "./report/chart.ts";
import { expectedFloorOf, replicasOf, servicePlans } from "./scenario.ts";
import { type ActResult, type Deletions, disasterProblem, type Point } from "./statistics.ts";
import { createWebhookClient } from "../../test/double/index.ts";
import { startWorkers } from "./world/clusters.ts";
import { type Fleet, startFleet } from "./world/fleet.ts";
import { readProtectors } from "./world/protectors.ts";

export interface StoryOptions {
  readonly clock: Clock;
  readonly board: Board;
  /** Aborted = end now; what waits throws the reason. */
  readonly signal: AbortSignal;
  readonly onCrash: (report: string) => void;
  /** Told of the fleet as soon as its processes run, so that they can be killed whatever happens. */
  readonly onStarted: (fleet: Fleet) => void;
  /** True = the fleet outlives the run with Podseidon; who was told of it closes it. */
  readonly keepsFleet: boolean;
}

/** What was measured in one run; times are those of the board. */
export interface RunResult {
  readonly startMs: number;
  readonly endMs: number;
  readonly disasterMs: number;
  readonly floors: ReadonlyMap<string, number>;
  readonly points: ReadonlyMap<string, readonly Point[]>;
  readonly lowest: ReadonlyMap<string, number>;
  readonly deletions: ReadonlyMap<string, Deletions>;
  readonly acts: readonly ActSpan[];
  readonly actResults: readonly ActResult[];
  readonly marks: readonly ChartMark[];
  /** What the runaway controller was told when it was refused; undefined = it never was. */
  readonly refusal: string | undefined;
}

/** Pods that lost their owners are left to the runaway controller, so that each deletion is counted in one place. */
const workers = { plans: servicePlans, readyDelayMs: 900, garbageCollector: false };
const podsReadyLimitMs = 15_000;
const countedLimitMs = 15_000;
/** The disaster is over when nothing was admitted for so long; a floor that has to break would do so at once. */
const quietMs = 3000;
/** The waves take 10 s. */
const disasterLimitMs = 25_000;
/** The floors are reached with the fourth of eight waves, so the kill comes with the greatest number of admissions. */
const killWave = 4;
/** Between acts: to see how the last one ended, and to read what comes. */
const breathMs = 800;
const readMs = 3000;

async function pause({ clock, signal }: Stage, delayMs: number): Promise<void> {
  await sleep(clock, delayMs, signal);
  signal.throwIfAborted();
}

function resultOf(
  record: RunRecord,
  runaway: Runaway,
  times: Pick<RunResult, "startMs" | "endMs" | "disasterMs">,
): RunResult {
  const names = servicePlans.map(({ name }) => name);
  return {
    ...times,
    floors: record.floors,
    points: new Map(names.map((name) => [name, record.series.get(name)?.points ?? []])),
    lowest: new Map(names.map((name) => [name, record.series.get(name)?.lowest ?? 0])),
    deletions: new Map(names.map((name) => [name, runaway.deletionsOf(name)])),
    refusal: runaway.lastRefusal,
    acts: [],
    actResults: [],
    marks: [],
  };
}

function leftText({ census }: RunRecord): string {
  return servicePlans.map(({ name }) => `${name} ${census.total(name)}`).join(", ");
}

async function waitForPods(stage: Stage, record: RunRecord): Promise<void> {
  const complete = (): boolean => servicePlans.every((plan) => record.census.total(plan.name) === replicasOf(plan));
  if (!(await waitUntil(stage, podsReadyLimitMs, complete)))
    throw new Error("the pods of the services did not become ready");
}

/** Follows the PodProtectors in the core; resolves when each has counted all pods of its service. */
async function waitForFloors(stage: Stage, { core }: Fleet, record: RunRecord): Promise<void> {
  const counted = (): boolean => {
    const protectors = readProtectors(core, servicePlans);
    for (const { service, floor } of protectors) if (floor !== undefined) record.floors.set(service, floor);
    return servicePlans.every(
      (plan, at) => protectors[at]?.floor === expectedFloorOf(plan) && protectors[at].available === replicasOf(plan),
    );
  };
  if (await waitUntil(stage, countedLimitMs, counted)) return;
  const states = readProtectors(core, servicePlans).map(
    ({ service, floor = "none", available = "nothing" }) => `${service}: floor ${floor}, ${available} counted`,
  );
  throw new Error(`the PodProtectors did not count all pods within ${countedLimitMs / 1000} s (${states.join("; ")})`);
}

/** The run with Podseidon: rolling update, drain, disaster, and the kill in its middle. */
export async function playWithPodseidon(options: StoryOptions): Promise<RunResult> {
  const { board, signal } = options;
  const pods = servicePlans.reduce((sum, plan) => sum + replicasOf(plan), 0);
  board.act(
    "Getting ready",
    "A core and three worker clusters start in this process, then Podseidon: seven processes of the real " +
      `program, on loopback. ${pods} pods.`,
  );
  const record = board.newRun();
  let fleet: Fleet | undefined;
  let isKept = false;
  try {
    const callWebhook = record.counts.count(createWebhookClient());
    fleet = await startFleet({ plans: servicePlans, workers, callWebhook, signal, onCrash: options.onCrash });
    options.onStarted(fleet);
    const { cells, podseidon } = fleet;
    for (const { name, server } of cells) record.census.follow(name, server.engine);
    board.roles = () => podseidon.roles;
    const result = await playActs(options, record, fleet);
    isKept = options.keepsFleet;
    return result;
  } finally {
    // What is shown stays as it was until the next act.
    const last = (fleet?.podseidon.roles ?? []).map(({ name, state }) => ({ name, state }));
    board.roles = () => last;
    if (!isKept) await fleet?.close();
  }
}

async function playActs({ board, clock, signal }: StoryOptions, record: RunRecord, fleet: Fleet): Promise<RunResult> {
  const { cells, podseidon } = fleet;
  const stage: Stage = { clock, signal, tell: (text) => board.tell(text) };
  await waitForPods(stage, record);
  board.tell("all pods are available");
  await podseidon.ready();
  board.tell("all processes of Podseidon are ready");
  await waitForFloors(stage, fleet, record);
  await fleet.guard();
  board.tell("pods counted, webhook configured: the floors hold from now on");
  const startMs = board.elapsedMs();
  record.startRecording();

  const acts: ActSpan[] = [];
  const actResults: ActResult[] = [];
  const act = async (title: string, words: string, play: () => Promise<string | undefined>): Promise<void> => {
    board.act(title, words);
    record.counts.restart();
    const fromMs = board.elapsedMs();
    await pause(stage, readMs);
    const problem = await play();
    if (problem !== undefined) board.tell(problem);
    await pause(stage, breathMs);
    acts.push({ title: title.replace(/^Act \d: /, ""), fromMs, toMs: board.elapsedMs() });
    actResults.push({ title, problem });
  };
  await act(
    "Act 1: Rolling update",
    "A new image for every service, in all clusters at once. New pods start before old ones go (surge), " +
      "and the floors hold.",
    () => rollingUpdate(stage, cells, record.census, "v2"),
  );
  await act(
    "Act 2: Node drain",
    "One node of every cluster is drained at the same time. Evictions that would cost a floor are " +
      "refused, and tried again.",
    () => drainNodes(stage, cells, record.census),
  );

  const { runaway, fromMs, disasterMs, endMs, marks, problem } = await disaster(stage, board, record, fleet);
  acts.push({ title: "The disaster", fromMs, toMs: endMs });
  actResults.push({ title: "Acts 3 and 4: The disaster, and kill -9 in the middle of it", problem });
  return { ...resultOf(record, runaway, { startMs, endMs, disasterMs }), acts, actResults, marks };
}

interface DisasterResult extends Pick<RunResult, "disasterMs" | "endMs" | "marks"> {
  readonly runaway: Runaway;
  readonly fromMs: number;
  /** Why the disaster proves nothing; undefined = it does. */
  readonly problem: string | undefined;
}

async function disaster(
  stage: Stage,
  board: Board,
  record: RunRecord,
  { core, cells, podseidon }: Fleet,
): Promise<DisasterResult> {
  const fromMs = board.elapsedMs();
  record.counts.restart();
  const marks: ChartMark[] = [];
  board.act(
    "Act 3: The disaster",
    "All Deployments and ReplicaSets vanish. A runaway controller deletes every pod, in waves that grow, " +
      "and tries again what is refused.",
  );
  const victim = podseidon.webhooks[0]!;
  let killed: Promise<void> | undefined;
  // The first admission of the wave has been answered, the others are under way: there is no worse moment.
  const runaway = new Runaway(stage, () => {
    if (killed !== undefined || runaway.wave < killWave) return;
    const { waiting } = record.counts.reviews;
    marks.push({ atMs: board.elapsedMs(), text: "kill -9 of a webhook" });
    killed = victim.kill();
    board.act(
      "Act 4: kill -9 in the middle of it",
      `${victim.name} is killed with ${waiting} reviews under way. The other goes on: each admission is ` +
        "recorded before it is answered, so none is forgotten.",
    );
    board.tell(`${victim.name} (pid ${victim.pid}): kill -9 with ${waiting} reviews waiting`);
  });
  await pause(stage, readMs);
  const disasterMs = board.elapsedMs();
  eraseOwners([core, ...cells.map(({ server }) => server)].map(({ engine }) => engine));
  board.tell("all owners are gone; the deletions begin");
  runaway.start(cells);
  let isQuiet = false;
  try {
    isQuiet = await untilQuiet(stage, runaway, quietMs, disasterLimitMs);
  } finally {
    await runaway.stop();
    await killed;
  }
  const endMs = board.elapsedMs();
  board.tell(`nothing more is admitted; left: ${leftText(record)}`);
  await pause(stage, breathMs);
  const services = servicePlans.map(({ name }) => ({
    left: record.census.total(name),
    floor: record.floors.get(name) ?? 0,
    deletions: runaway.deletionsOf(name),
  }));
  const problem = disasterProblem(services, isQuiet);
  return { runaway, fromMs, disasterMs, endMs, marks, problem };
}

/** The same disaster in new clusters of the same size, in which no webhook is configured. */
export async function playWithout(
  { board, clock, signal }: StoryOptions,
  floors: ReadonlyMap<string, number>,
): Promise<RunResult> {
  board.act(
    "Act 5: The same disaster without Podseidon",
    "New clusters, the same services, the same runaway controller. No webhook is configured.",
  );
  board.roles = () => [];
  const record = board.newRun();
  const stage: Stage = { clock, signal, tell: (text) => board.tell(text) };
  const callWebhook = record.counts.count(createWebhookClient());
  const clusters = await startWorkers({ ...workers, callWebhook });
  const { cells } = clusters;
  try {
    for (const { name, server } of cells) record.census.follow(name, server.engine);
    await waitForPods(stage, record);
    for (const [service, floor] of floors) record.floors.set(service, floor);
    record.startRecording();
    const startMs = board.elapsedMs();
    await pause(stage, readMs);
    const runaway = new Runaway(stage, () => undefined);
    const disasterMs = board.elapsedMs();
    eraseOwners(cells.map(({ server }) => server.engine));
    board.tell("without Podseidon: all owners are gone; the deletions begin");
    runaway.start(cells);
    try {
      await untilQuiet(stage, runaway, quietMs, disasterLimitMs);
    } finally {
      await runaway.stop();
    }
    board.tell(`left without Podseidon: ${leftText(record)}`);
    return resultOf(record, runaway, { startMs, endMs: board.elapsedMs(), disasterMs });
  } finally {
    await clusters.close();
  }
}
