import test, { type TestContext } from "node:test";
import { type KubeClient, KubeError } from "../../../../src/kube/kube-client.ts";
import { builtInResources, type Engine, type Fault } from "../../../double/index.ts";
import { exhaust, type Rig, startRig } from "./rig.ts";
import { createItemInformer, History, Witness } from "./witness.ts";

const type = builtInResources.configMaps;

const faults: readonly Fault[] = [
  { type: "delay", delayMs: 5_000 },
  { type: "delay", delayMs: 40_000 },
  { type: "reset" },
  { type: "reset", afterEvents: 0 },
  { type: "reset", afterEvents: 2 },
  { type: "stall" },
  { type: "stall", afterEvents: 0 },
  { type: "stall", afterEvents: 2 },
  { type: "truncate", afterEvents: 0 },
  { type: "truncate", afterEvents: 2 },
  { type: "corrupt", afterEvents: 0 },
  { type: "corrupt", afterEvents: 2 },
  { type: "tooManyRequests", retryAfterSeconds: 2 },
  { type: "tooManyRequests" },
  { type: "serverError" },
  { type: "loseResponse" },
  { type: "watchLag", lagMs: 7_000 },
  { type: "noBookmarks" },
  { type: "staleReplica", revisions: 4 },
  { type: "duplicate", revisions: 6 },
  { type: "historyLoss" },
];

/** An upper limit on the operations of a run; without a fault it is about five. */
const operationsMax = 40;

/** As a server of before Kubernetes 1.32 answers. */
function withoutWatchList(client: KubeClient): KubeClient {
  return {
    cluster: client.cluster,
    request: (request) => client.request(request),
    async stream(request, idleTimeoutMs) {
      if (request.query?.["sendInitialEvents"] === true) throw new KubeError("invalid", "no WatchList", { code: 422 });
      return client.stream(request, idleTimeoutMs);
    },
    close: () => client.close(),
  };
}

/** Creates, changes, deletes and replaces objects. */
async function change(engine: Engine, round: number): Promise<void> {
  const object = (name: string, value: string) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name },
    data: { value },
  });
  const mergePatch = (value: string) => ({ contentType: "application/merge-patch+json", body: { data: { value } } });
  await engine.create(type, "default", object(`new-${round}`, "1"));
  await engine.patch(type, "default", "first", mergePatch(`${round}`));
  await engine.patch(type, "default", `new-${round}`, mergePatch("2"));
  await engine.delete(type, "default", "replaced");
  await engine.create(type, "default", object("replaced", `${round}`));
  await engine.delete(type, "default", `new-${round}`);
}

/** One life of an informer: first list, events, a broken watch with changes meanwhile, a list anew, more events. */
async function live(rig: Rig, history: History, list: "watchList" | "pages"): Promise<void> {
  const { engine } = rig.server;
  const connected = await rig.connect();
  const informer = createItemInformer(rig, list === "pages" ? withoutWatchList(connected) : connected);
  const witness = new Witness(informer, engine, type, history);
  const stop = new AbortController();
  let ended = false;
  const running = informer
    .run(stop.signal)
    .then(
      () => undefined,
      (cause: unknown) => new Error("the witness objects", { cause }),
    )
    .finally(() => (ended = true));
  const hasCaughtUp = (): boolean => ended || witness.hasCaughtUp();
  let round = 0;
  const changeAndCatchUp = async (what: string): Promise<void> => {
    await change(engine, ++round);
    await rig.until(hasCaughtUp, what);
  };
  try {
    await rig.until(hasCaughtUp, "the first list");
    await changeAndCatchUp("events of the first watch");
    rig.server.dropWatches();
    await changeAndCatchUp("events while the watch is broken");
    informer.relist();
    await changeAndCatchUp("events during a list");
    await changeAndCatchUp("events of the last watch");
  } finally {
    stop.abort();
    await connected.close();
  }
  const objection = await running;
  if (objection !== undefined) throw objection;
}

async function seed(engine: Engine, count: number): Promise<void> {
  for (const name of ["first", "replaced", ...Array.from({ length: count }, (_, index) => `filler-${index}`)]) {
    await engine.create(type, "default", { apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
  }
}

/** Lets `fault` strike at each operation of such lives. */
async function survive(t: TestContext, fault: Fault, list: "watchList" | "pages", fillers: number): Promise<void> {
  const rig = await startRig(t);
  const { engine } = rig.server;
  const history = new History(engine, type);
  await seed(engine, fillers);
  const timersBefore = rig.clock.pendingTimers;
  const nothingIsLeft = async (): Promise<void> => {
    await rig.until(() => rig.server.openConnections === 0, "the server has noticed that the client is gone");
    await rig.until(() => rig.clock.pendingTimers === timersBefore, "no timer is left");
  };
  await exhaust(rig, fault, operationsMax, () => live(rig, history, list), nothingIsLeft);
  history.close();
}

/** `type, key value`, for the name of a test. */
function describeFault({ type: name, ...more }: Fault): string {
  return [name, ...Object.entries(more).map(([key, value]) => `${key} ${value}`)].join(", ");
}

for (const fault of faults) {
  test(`an informer survives ${describeFault(fault)}`, (t) => survive(t, fault, "watchList", 3));
}

/** What happens within a watch is the same whichever list came before. */
const faultsOfLists: readonly Fault[] = [
  ...faults.filter((fault) => !("afterEvents" in fault) && fault.type !== "watchLag" && fault.type !== "duplicate"),
  { type: "truncate" },
  { type: "corrupt" },
];
for (const fault of faultsOfLists) {
  // Two pages of 500.
  test(`an informer that lists in pages survives ${describeFault(fault)}`, (t) => survive(t, fault, "pages", 510));
}
