/** The acts in their order: builds the clusters, starts Podseidon, plays, measures, and takes everything down again. */
import { type Clock, sleep } from "../../src/util/clock.ts";
import { drainNodes } from "./acts/drain.ts";
import { eraseOwners, Runaway, untilQuiet } from "./acts/disaster.ts";
import { rollingUpdate } from "./acts/rolling-update.ts";
import { type Stage, waitUntil } from "./acts/wait.ts";
import { type Board, type RunRecord } from "./board.ts";
import { type ActSpan, type ChartMark } from "./report/chart.ts";
import { expectedFloorOf, namespace, replicasOf, servicePlans } from "./scenario.ts";
import { type ActResult, type Deletions, disasterProblem, type Point } from "./statistics.ts";
import { type ApiServer, asObject, createWebhookClient, type KubeObject } from "../../test/double/index.ts";
import { type Clusters, installWebhook, startCore, startWorkers } from "./world/clusters.ts";
import { type Podseidon, startPodseidon } from "./world/podseidon.ts";

export interface StoryOptions {
  readonly clock: Clock;
  readonly board: Board;
  /** Aborted = end now; what waits throws the reason. */
  readonly signal: AbortSignal;
  readonly onCrash: (report: string) => void;
  /** Told of the processes as soon as they run, so that they can be killed whatever happens. */
  readonly onStarted: (podseidon: Podseidon) => void;
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

const podsReadyLimitMs = 15_000;
const countedLimitMs = 15_000;
/** The disaster is over when nothing was admitted for so long; a floor that has to break would do so at once. */
const quietMs = 5000;
const disasterLimitMs = 16_000;
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
async function waitForFloors(stage: Stage, core: ApiServer, record: RunRecord): Promise<void> {
  const type = core.engine.typeOfKind("podseidon.kubewharf.io/v1alpha1", "PodProtector");
  if (type === undefined) throw new Error("the core does not serve PodProtectors");
  const protectorOf = (service: string): KubeObject | undefined =>
    core.engine.find(type, namespace, `deployment-${service}`);
  const counted = (): boolean =>
    servicePlans.every((plan) => {
      const protector = protectorOf(plan.name);
      const floor = protector?.spec?.["minAvailable"];
      if (typeof floor === "number") record.floors.set(plan.name, floor);
      const { aggregatedAvailableReplicas } = asObject(protector?.status?.["summary"]);
      return floor === expectedFloorOf(plan) && aggregatedAvailableReplicas === replicasOf(plan);
    });
  if (await waitUntil(stage, countedLimitMs, counted)) return;
  const states = servicePlans.map(
    ({ name }) =>
      `${name}: floor ${record.floors.get(name)}, ` +
      JSON.stringify(protectorOf(name)?.status?.["summary"] ?? "not counted"),
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
  let core: ApiServer | undefined;
  let workers: Clusters | undefined;
  let podseidon: Podseidon | undefined;
  try {
    core = await startCore();
    workers = await startWorkers(record.counts.count(createWebhookClient()));
    for (const { name, server } of workers.cells) record.census.follow(name, server.engine);
    podseidon = startPodseidon({ core, cells: workers.cells, signal, onCrash: options.onCrash });
    options.onStarted(podseidon);
    board.roles = () => podseidon?.roles ?? [];
    return await playActs(options, record, core, workers, podseidon);
  } finally {
    // What is shown stays as it was until the next act.
    const last = (podseidon?.roles ?? []).map(({ name, state }) => ({ name, state }));
    board.roles = () => last;
    await podseidon?.close();
    await workers?.close();
    await core?.close();
  }
}

async function playActs(
  { board, clock, signal }: StoryOptions,
  record: RunRecord,
  core: ApiServer,
  { cells }: Clusters,
  podseidon: Podseidon,
): Promise<RunResult> {
  const stage: Stage = { clock, signal, tell: (text) => board.tell(text) };
  await waitForPods(stage, record);
  board.tell("all pods are available");
  const webhookUrl = await podseidon.ready();
  board.tell("all processes of Podseidon are ready");
  await waitForFloors(stage, core, record);
  for (const cell of cells) await installWebhook(cell, webhookUrl);
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
    "Every service gets a new image, in all clusters at the same time. Podseidon lets it through, as " +
      "fast as the floors allow.",
    () => rollingUpdate(stage, cells, record.census, "v2"),
  );
  await act(
    "Act 2: Node drain",
    "One node of every cluster is drained at the same time. Evictions that would cost a floor are " +
      "refused, and tried again.",
    () => drainNodes(stage, cells, record.census),
  );

  const { runaway, fromMs, disasterMs, endMs, marks, problem } = await disaster(
    stage,
    board,
    record,
    core,
    cells,
    podseidon,
  );
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
  core: ApiServer,
  cells: Clusters["cells"],
  podseidon: Podseidon,
): Promise<DisasterResult> {
  const fromMs = board.elapsedMs();
  record.counts.restart();
  const marks: ChartMark[] = [];
  board.act(
    "Act 3: The disaster",
    "All Deployments and ReplicaSets vanish from storage. A runaway controller deletes every pod in " +
      "every cluster at once, and tries again what is refused.",
  );
  const victim = podseidon.webhooks[0]!;
  let killed: Promise<void> | undefined;
  // The first admission has been answered, the great rest is under way: there is no worse moment.
  const runaway = new Runaway(stage, () => {
    if (killed !== undefined) return;
    const { waiting } = record.counts.reviews;
    marks.push({ atMs: board.elapsedMs(), text: "kill -9 of a webhook" });
    killed = victim.kill();
    board.act(
      "Act 4: kill -9 in the middle of it",
      `${victim.name} is killed with ${waiting} reviews under way. The other goes on: each admission is ` +
        "recorded before it is answered, so none is forgotten.",
    );
    board.tell(`${victim.name} (pid ${victim.pid}) is killed with -9, ${waiting} reviews are waiting`);
  });
  await pause(stage, readMs);
  const disasterMs = board.elapsedMs();
  eraseOwners([core, ...cells.map(({ server }) => server)].map(({ engine }) => engine));
  board.tell("all owners are gone; every pod is being deleted");
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
  await pause(stage, readMs);
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
  for (const [service, floor] of floors) record.floors.set(service, floor);
  const stage: Stage = { clock, signal, tell: (text) => board.tell(text) };
  const workers = await startWorkers(record.counts.count(createWebhookClient()));
  try {
    for (const { name, server } of workers.cells) record.census.follow(name, server.engine);
    await waitForPods(stage, record);
    record.startRecording();
    const startMs = board.elapsedMs();
    await pause(stage, readMs);
    const runaway = new Runaway(stage, () => undefined);
    const disasterMs = board.elapsedMs();
    eraseOwners(workers.cells.map(({ server }) => server.engine));
    board.tell("without Podseidon: all owners are gone; every pod is being deleted");
    runaway.start(workers.cells);
    try {
      await untilQuiet(stage, runaway, quietMs, disasterLimitMs);
    } finally {
      await runaway.stop();
    }
    board.tell(`left without Podseidon: ${leftText(record)}`);
    return resultOf(record, runaway, { startMs, endMs: board.elapsedMs(), disasterMs });
  } finally {
    await workers.close();
  }
}
