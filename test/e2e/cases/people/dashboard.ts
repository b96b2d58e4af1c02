/** The dashboard on a real API server, of a person who may look and do nothing else. */
import assert from "node:assert/strict";
import { type Row } from "../../../../src/commands/dashboard/model/fleet.ts";
import { type Update } from "../../../../src/commands/dashboard/model/view.ts";
import { EventReader } from "../../../unit/commands/dashboard/http/reader.ts";
import { deletePods } from "../../objects/deletions.ts";
import { OnCall } from "../../installed/on-call.ts";
import { listPods, setPodReady } from "../../objects/pods.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { protectorOf, startWorkloads } from "../../loads/workloads.ts";

const second = 1_000;
const replicas = 3;

export const dashboardCases = e2eCases({
  "dashboard: a person who may only look sees counts, a refusal and the explanation of a pod": [240 * second, run],
});

async function run(context: CaseContext): Promise<Figures> {
  const { fleet } = await startWorkloads(context, { count: 1, replicas });
  const { namespace } = fleet;
  const { admin } = fleet.core;
  const onCall = await OnCall.begin(context, fleet.core, namespace, ["look.yaml"]);
  const command = await onCall.start("dashboard", "-n", namespace, `--cell-lease-namespace=${namespace}`);
  const [url] = /http:\S+/.exec(command.printed) ?? [];
  assert(url !== undefined, command.printed);
  assert.match(await (await fetch(url)).text(), /<title>Podseidon<\/title>/);
  const reader = new EventReader(await fetch(url.replace("/?", "/events?")));
  const seen = new Seen(reader);

  const begun = await seen.until("the counts", ({ figures }) => figures?.available === replicas);
  const { mustStay, free } = begun.figures ?? {};
  assert.deepEqual([begun.name, begun.workload, mustStay, free], [protectorOf("web-0"), "Deployment web-0", 2, 1]);
  // Counts may be there before the first heartbeat, whose absence is a problem.
  await seen.until("the cell is heard, and nothing is wrong", () => {
    const { isComplete, cells, problems } = seen.parts;
    return isComplete === true && cells?.[0]?.word === "Heard" && problems?.length === 0;
  });

  const [first, other] = await listPods(admin, namespace, "app=web");
  assert(first !== undefined && other !== undefined);
  const startMs = performance.now();
  await setPodReady(admin, { namespace, name: other.metadata.name }, { ready: false });
  await seen.until("the pod that is not ready", ({ states }) => states[0].name === "at floor");
  const seenMs = Math.round(performance.now() - startMs);
  const { name } = first.metadata;
  const [answer] = await deletePods(admin, { namespace, names: [name], concurrency: 1, how: "delete" });
  assert.equal(answer?.code, 429);
  const refused = await seen.until("the refusal", ({ refusals }) => refusals !== undefined);
  assert.match(refused.refusals?.last ?? "", new RegExp(name));
  const question = new URL(url);
  question.pathname = "/explain";
  for (const [key, value] of Object.entries({ cell: "core", namespace, pod: name, columns: "80" }))
    question.searchParams.set(key, value);
  const { text } = (await (await fetch(question)).json()) as { readonly text: string };
  assert.match(text, /deletion or eviction be admitted now\? {2}NO[^]*\nPodProtector core\//);

  await reader.cancel();
  assert.equal(await command.stop(), 0);
  return { seenMs };
}

/** What the page would show. */
class Seen {
  parts: Partial<Update> = {};
  readonly #reader: EventReader;
  #row: Row | undefined;

  constructor(reader: EventReader) {
    this.#reader = reader;
  }

  /** Reads on until the one PodProtector is as it should be. The time limit of the case ends a wait in vain. */
  async until(what: string, isSo: (row: Row) => boolean): Promise<Row> {
    while (this.#row === undefined || !isSo(this.#row)) {
      const sent = await this.#reader.next();
      assert(sent !== undefined, `${what}: the stream has ended`);
      this.parts = { ...this.parts, ...sent.update };
      this.#row = sent.update.rows?.[0] ?? this.#row;
    }
    return this.#row;
  }
}
