import assert from "node:assert/strict";
import { test } from "node:test";
import { environmentName, readEnvironment } from "../../../../src/config/reading/environment.ts";

test("a variable is named after its flag", () => {
  assert.equal(
    environmentName("webhook-requires-pod-name.by-cell-filter"),
    "PODSEIDON_FLAG_WEBHOOK_REQUIRES_POD_NAME_BY_CELL_FILTER",
  );
});

test("only variables with the prefix are read", () => {
  const { inputs, problems } = readEnvironment({
    PODSEIDON_FLAG_KLOG_V: "4",
    PODSEIDON_WEBHOOK_PORT: "tcp://10.0.0.1:8080",
    PODSEIDON_SERVICE_HOST: "10.0.0.1",
    KLOG_V: "9",
    PODSEIDON_FLAG_ROLE: undefined,
  });
  assert.deepEqual(problems, []);
  assert.deepEqual([...inputs], [["klog-v", "4"]]);
});

test("unknown variables with the prefix are errors that suggest the nearest one, if there is one", () => {
  const { problems } = readEnvironment({ PODSEIDON_FLAG_WEBHOK_PORT: "1", PODSEIDON_FLAG_NOPE: "1" });
  const [one, other] = problems.map(({ message }) => message);
  assert.equal(other, "unknown environment variable PODSEIDON_FLAG_NOPE (--help-all lists all flags)");
  assert.match(one ?? "", /PODSEIDON_FLAG_WEBHOK_PORT; did you mean PODSEIDON_FLAG_WEBHOOK_PORT\?/);
});

test("an empty variable counts as given", () => {
  const { inputs } = readEnvironment({ PODSEIDON_FLAG_CORE_KUBE_CONFIG: "" });
  assert.equal(inputs.get("core-kube-config"), "");
});
