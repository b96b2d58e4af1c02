import assert from "node:assert/strict";
import { test } from "node:test";
import { type Condition, type PodProtectorStatus } from "../../../../src/api/v1alpha1/pod-protector.ts";
import { KubeError, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { type Fault } from "../../../support/engine-client.ts";
import { type Rig, rigFor, type Running } from "../rig.ts";

const conditionsOf = (rig: Rig): readonly Condition[] => rig.protector("web").status?.conditions ?? [];
const writes = ({ metrics }: Running, result: string): number =>
  metrics.value("aggregator_status_write_total", { result });
const said = ({ logs }: Running): readonly string[] =>
  logs.filter(({ message }) => message.includes("conditions")).map(({ level, message }) => `${level} ${message}`);
const refusal = "ValidatingAdmissionPolicy denied request: an aggregator may change the conditions AtFloor only";

/** As the policy of a release that knows no conditions does it, until `lift`. */
function refuseConditions(running: Running, rig: Rig, kind: "forbidden" | "invalid"): { lift(): void } {
  let isInForce = true;
  running.core.onRequest = ({ method, path, body }: KubeRequest): Fault => {
    if (!isInForce || method !== "PUT" || !path.endsWith("/status")) return undefined;
    const { conditions = [] } = (body as { readonly status: PodProtectorStatus }).status;
    const isChanged = JSON.stringify(conditions) !== JSON.stringify(conditionsOf(rig));
    return isChanged ? new KubeError(kind, refusal) : undefined;
  };
  return { lift: () => (isInForce = false) };
}

for (const kind of ["forbidden", "invalid"] as const) {
  test(`counts are written without conditions that a policy refuses as ${kind}, and it is said once`, async (t) => {
    const rig = await rigFor(t);
    await rig.protect("web", { minAvailable: 1 });
    await rig.pod("a");
    const running = await rig.start({ trigger: true, lead: false });
    refuseConditions(running, rig, kind);
    running.lead();
    await rig.after(5_000, { available: 1 });
    assert.deepEqual(conditionsOf(rig), []);
    for (const pod of ["b", "c"]) {
      await rig.pod(pod);
      await rig.clock.advance(5_000);
    }
    assert.equal(rig.available("web"), 3);
    assert.equal(writes(running, "failed"), 1, "later writes do not even try");
    assert.equal(writes(running, "without-conditions"), 3);
    assert.deepEqual(said(running), [
      "warn The core refuses the conditions of this release, so PodProtectors are counted without them; " +
        "apply the policies of this release",
    ]);
  });
}

test("conditions come with counts some minutes after the policy was replaced, without a restart", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web", { minAvailable: 1 });
  await rig.pod("a");
  const running = await rig.start({ trigger: true, lead: false });
  const policy = refuseConditions(running, rig, "forbidden");
  running.lead();
  await rig.clock.advance(5_000);
  policy.lift();
  await rig.clock.advance(900_000);
  await rig.pod("b");
  await rig.removePod("a");
  await rig.clock.advance(5_000);
  assert.equal(conditionsOf(rig).find(({ type }) => type === "AtFloor")?.status, "True");
  assert.equal(said(running).at(-1), "info The core takes the conditions of this release again");
});

test("while conditions are refused, an idle object costs one refused write in ten minutes", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web", { minAvailable: 1 });
  await rig.pod("a");
  const running = await rig.start({ trigger: true, lead: false });
  refuseConditions(running, rig, "forbidden");
  running.lead();
  await rig.clock.advance(3_600_000);
  assert.ok(writes(running, "failed") <= 7, String(writes(running, "failed")));
  assert.equal(said(running).length, 1);
});

test("a write that is refused for another reason fails with that reason, and conditions are tried again", async (t) => {
  const rig = await rigFor(t);
  await rig.protect("web", { minAvailable: 1 });
  await rig.pod("a");
  const running = await rig.start({ trigger: true, lead: false });
  let isForbidden = true;
  running.core.onRequest = ({ method }: KubeRequest): Fault =>
    isForbidden && method === "PUT" ? new KubeError("forbidden", "the account may not update it") : undefined;
  running.lead();
  await rig.clock.advance(5_000);
  assert.equal(rig.cell("web"), undefined);
  assert.deepEqual(said(running), []);
  isForbidden = false;
  await rig.after(120_000, { available: 1 });
  assert.ok(conditionsOf(rig).length > 0);
});
