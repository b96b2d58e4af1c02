import assert from "node:assert/strict";
import { test } from "node:test";
import { GateProbe, GateState } from "../../../../src/aggregator/audits/gate-probe.ts";
import { type Finding } from "../../../../src/aggregator/audits/gate-question.ts";
import { gateWarning } from "../../../../src/api/gate-warning.ts";
import { KubeError, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { RecordedLog } from "../../webhook/support/replica.ts";

const annotations = { "podseidon.kubewharf.io/update-trigger-time": "" };
const pod = { kind: "Pod", metadata: { annotations } };

type Answer = (request: KubeRequest) => unknown;

function warned(...warnings: readonly string[]): Answer {
  return (request) => {
    request.onWarnings?.(warnings);
    return pod;
  };
}
const ok = warned("something else", gateWarning("a"));
const missing = warned();

/** What is known of namespaces that are left out, and how it was looked for. */
class LookedAt {
  open: string | null | undefined;
  readonly proven: boolean[] = [];
  get isOpen(): boolean {
    return typeof this.open === "string";
  }
  named(): string | null | undefined {
    return this.open;
  }
  reset(): void {}
  async look(isProven: boolean): Promise<void> {
    this.proven.push(isProven);
  }
}

async function bench(answer: Answer, body: (bench: ReturnType<typeof create>) => Promise<void>): Promise<void> {
  const one = create(answer);
  const running = one.probe.run(one.term.signal);
  await body(one);
  one.term.abort();
  await running;
  assert.equal(one.clock.pendingTimers, 0);
  assert.equal(one.state(), undefined, "the gauge says nothing without a leader");
}

function create(answer: Answer) {
  const clock = createVirtualClock();
  const worker = createScriptedKubeClient();
  const metrics = createCountingMetrics();
  const logger = new RecordedLog();
  const events: string[] = [];
  worker.onRequest = answer;
  const guard = new LookedAt();
  const probe = new GateProbe({
    cellID: "a",
    dummyPod: { name: "dummy", namespace: "quiet", labels: {}, annotations: {}, image: ":", scheduler: "none" },
    worker,
    guard,
    event: (type, reason) => void events.push(`${type} ${reason}`),
    clock,
    rng: createSeededRng(1),
    logger,
    metrics,
  });
  const states = ["ok", "missing", "other-cell", "unreachable", "unknown"];
  const state = (): string | undefined =>
    states.find((name) => metrics.value("aggregator_gate", { state: name }) === 1);
  return { clock, worker, logger, events, probe, state, guard, term: new AbortController() };
}

test("a beat names namespaces that are left out, unless the gate has a fault of its own", async () => {
  const { probe, clock, worker, term, guard } = create(ok);
  const running = probe.run(term.signal);
  guard.open = "not-guarded shop";
  await clock.advance(11_000);
  assert.equal(probe.named(), "not-guarded shop");
  assert.deepEqual(guard.proven, [true]);
  // Whoever mends it watches.
  await clock.advance(60_000);
  assert.ok(guard.proven.length >= 5, "it looks every ten seconds");
  worker.onRequest = missing;
  await clock.advance(60_000);
  assert.equal(probe.named(), "missing");
  assert.equal(guard.proven.at(-1), false);
  worker.onRequest = ok;
  guard.open = null;
  await clock.advance(60_000);
  assert.equal(probe.named(), null);
  term.abort();
  await running;
});

test("a probe that finds nothing out keeps no namespaces from being named", async () => {
  const { probe, clock, term, guard } = create(failing("serverError", "500"));
  const running = probe.run(term.signal);
  guard.open = null;
  await clock.advance(11_000);
  assert.equal(probe.named(), undefined);
  guard.open = "not-guarded shop";
  assert.equal(probe.named(), "not-guarded shop");
  term.abort();
  await running;
});

function failing(kind: ConstructorParameters<typeof KubeError>[0], message: string, ...warnings: string[]): Answer {
  return (request) => {
    request.onWarnings?.(warnings);
    throw new KubeError(kind, message);
  };
}

test("the gate is asked about by a dry-run deletion of the dummy pod, soon and then once a minute", () =>
  bench(ok, async ({ clock, worker, events, probe, state }) => {
    assert.equal(state(), "unknown");
    assert.equal(probe.named(), undefined);
    await clock.advance(10_000);
    assert.equal(state(), "ok");
    assert.equal(probe.named(), null);
    const [first] = worker.requests;
    assert.equal(`${first?.method} ${first?.path}`, "DELETE /api/v1/namespaces/quiet/pods/dummy");
    assert.deepEqual(first?.query, { dryRun: "All" });
    await clock.advance(600_000);
    assert.ok(worker.requests.length >= 10 && worker.requests.length <= 12, `${worker.requests.length} probes`);
    assert.deepEqual(events, []);
  }));

test("a lost webhook configuration is told within two minutes, once, and so is its return", () =>
  bench(ok, async ({ clock, worker, events, logger, probe, state }) => {
    await clock.advance(100_000);
    worker.onRequest = missing;
    await clock.advance(120_000);
    assert.equal(state(), "missing");
    assert.equal(probe.named(), "missing");
    await clock.advance(600_000);
    assert.deepEqual(events, ["Warning GateMissing"]);
    worker.onRequest = ok;
    await clock.advance(11_000);
    assert.deepEqual(events, ["Warning GateMissing", "Normal GateIsBack"], "whoever mends it need not wait");
    assert.equal(probe.named(), null);
    const levels = logger.lines.map(({ level }) => level);
    assert.deepEqual(levels, ["error", "info"]);
  }));

test("a webhook that was called for another cell is told with that cell", () =>
  bench(warned(gateWarning("b")), async ({ clock, events, logger, probe, state }) => {
    await clock.advance(120_000);
    assert.equal(state(), "other-cell");
    assert.equal(probe.named(), "other-cell");
    assert.deepEqual(events, ["Warning GateOfOtherCell"]);
    assert.match(logger.lines[0]?.message ?? "", /cell "a" are reviewed as those of cell "b"/);
  }));

test("a webhook that cannot be called closes the gate, which is not missing", () => {
  const message = '500: Internal error occurred: failed calling webhook "podseidon.kubewharf.io": refused';
  return bench(failing("serverError", message), async ({ clock, events, probe, state }) => {
    await clock.advance(120_000);
    assert.equal(state(), "unreachable");
    assert.equal(probe.named(), "unreachable");
    assert.deepEqual(events, ["Warning GateUnreachable"]);
  });
});

test("a refusal with our warning shows that the gate is there, whoever refused", () =>
  bench(failing("tooManyRequests", "no", gateWarning("a")), async ({ clock, state, events }) => {
    await clock.advance(120_000);
    assert.equal(state(), "ok");
    assert.deepEqual(events, []);
  }));

test("without the right to delete the dummy pod the gate is unknown, and that is said once", () =>
  bench(failing("forbidden", "no right"), async ({ clock, logger, events, probe, state }) => {
    await clock.advance(600_000);
    assert.equal(state(), "unknown");
    assert.equal(probe.named(), undefined);
    assert.deepEqual(events, []);
    assert.equal(logger.lines.length, 1);
    assert.match(logger.lines[0]?.message ?? "", /Grant create and delete/);
  }));

test("of a worker that does not answer, and of another's webhook that fails, nothing is concluded", async () => {
  for (const answer of [
    failing("network", "refused"),
    failing("serverError", 'failed calling webhook "other.example.com": refused'),
    (): unknown => ({ kind: "Pod", metadata: {} }),
  ])
    await bench(answer, async ({ clock, logger, events, state }) => {
      await clock.advance(600_000);
      assert.equal(state(), "unknown");
      assert.deepEqual(events, []);
      assert.equal(logger.lines.length, 1);
    });
});

test("a dummy pod that is not there is made, and asked about at once", () => {
  let isThere = false;
  const answer: Answer = (request) => {
    if (request.method === "POST") isThere = true;
    else if (!isThere) throw new KubeError("notFound", "no such pod");
    return request.method === "POST" ? {} : ok(request);
  };
  return bench(answer, async ({ clock, worker, state }) => {
    await clock.advance(10_000);
    assert.equal(state(), "ok");
    const methods = worker.requests.map(({ method }) => method);
    assert.deepEqual(methods, ["DELETE", "POST", "DELETE"]);
  });
});

test("a dummy pod that cannot be made, or vanishes at once, leaves the gate unknown", async () => {
  for (const kind of ["forbidden", "alreadyExists"] as const)
    await bench(
      ({ method }) => {
        throw new KubeError(method === "POST" ? kind : "notFound", "no");
      },
      async ({ clock, state }) => {
        await clock.advance(10_000);
        assert.equal(state(), "unknown");
      },
    );
});

const good: Finding = { kind: "ok" };
const lost: Finding = { kind: "missing" };
const unreachable: Finding = { kind: "unreachable", why: "no" };
const unknown: Finding = { kind: "unknown", why: "no", isForbidden: false };
const other = (cell: string): Finding => ({ kind: "other-cell", cell });

/** What each finding changes: "+kind", "-kind", or "." for nothing. */
function changes(...findings: readonly Finding[]): string {
  const state = new GateState();
  const each = findings.map((finding) => {
    const change = state.found(finding);
    return change === undefined ? "." : `${change.kind === "began" ? "+" : "-"}${change.fault.kind}`;
  });
  return each.join(" ");
}

test("a fault of the gate begins when two probes in a row have found it, and ends with the first good one", () => {
  assert.equal(changes(good, lost, lost, lost, good, good), ". . +missing . -missing .");
});

test("one bad probe between good ones is no fault of the gate", () => {
  assert.equal(changes(lost, good, lost, good, other("b"), good), ". . . . . .");
});

test("probes that find different faults do not confirm each other", () => {
  assert.equal(changes(lost, other("b"), other("c"), other("c")), ". . . +other-cell");
});

test("a fault that another one follows goes over into it", () => {
  assert.equal(changes(lost, lost, unreachable, unreachable, good), ". +missing . +unreachable -unreachable");
});

test("a fault of the gate goes on when another was found only once", () => {
  assert.equal(changes(lost, lost, unreachable, lost, unreachable, unreachable), ". +missing . . . +unreachable");
});

test("a probe that finds nothing out neither begins nor ends a fault of the gate", () => {
  assert.equal(changes(unknown, unknown, lost, unknown, lost, unknown, good), ". . . . +missing . -missing");
});

test("nothing is known of the gate before a good probe or a fault, and after a reset", () => {
  const state = new GateState();
  state.found(unknown);
  assert.equal(state.isKnown, false);
  state.found(lost);
  assert.deepEqual([state.isKnown, state.isSuspicious], [false, true]);
  state.found(lost);
  assert.deepEqual([state.isKnown, state.isSuspicious, state.fault?.kind], [true, false, "missing"]);
  state.reset();
  assert.deepEqual([state.isKnown, state.isSuspicious, state.fault], [false, false, undefined]);
  state.found(good);
  assert.equal(state.isKnown, true);
});
