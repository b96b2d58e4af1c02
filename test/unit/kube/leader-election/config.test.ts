import assert from "node:assert/strict";
import test from "node:test";
import { createIdentity, validateElectorConfig } from "../../../../src/kube/leader-election/index.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";

const valid = {
  enable: true,
  namespace: "default",
  name: "x",
  leaseDurationMs: 15_000,
  renewDeadlineMs: 10_000,
  retryPeriodMs: 2_000,
};

test("lease duration > renew deadline > 1.2 times the retry period", () => {
  assert.equal(validateElectorConfig(valid), undefined);
  assert.match(validateElectorConfig({ ...valid, leaseDurationMs: 10_000 }) ?? "", /lease duration/);
  assert.match(validateElectorConfig({ ...valid, renewDeadlineMs: 2_400 }) ?? "", /renew deadline/);
  assert.match(validateElectorConfig({ ...valid, retryPeriodMs: 0 }) ?? "", /retry period/);
  assert.match(validateElectorConfig({ ...valid, retryPeriodMs: Number.NaN }) ?? "", /retry period/);
  assert.match(validateElectorConfig({ ...valid, name: "" }) ?? "", /name/);
  assert.equal(validateElectorConfig({ ...valid, enable: false, retryPeriodMs: 0 }), undefined);
});

test("identities on one host differ", () => {
  const rng = createSeededRng(1);
  assert.match(createIdentity(rng), /^.+_[0-9a-f]{32}$/);
  assert.notEqual(createIdentity(rng), createIdentity(rng));
});
