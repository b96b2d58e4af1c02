import assert from "node:assert/strict";
import { test } from "node:test";
import { parseTime } from "../../../../../src/api/micro-time.ts";
import { readTokens } from "../../../../../src/commands/check/readers/tokens.ts";
import { createVirtualClock } from "../../../../support/virtual-clock.ts";
import { createScriptedKubeClient } from "../../../kube/scripted-kube-client.ts";

const signal = new AbortController().signal;

test("the notes on accounts are read, and accounts without one have handed out no token", async () => {
  const client = createScriptedKubeClient();
  const noted = (name: string, text: string) => ({
    metadata: { name, annotations: { "podseidon.kubewharf.io/handed-token": text } },
  });
  client.onRequest = () => ({
    metadata: { resourceVersion: "1" },
    items: [
      noted("a", "2026-01-01T00:00:00Z/2026-01-08T00:00:00Z"),
      noted("b", "some day"),
      { metadata: { name: "default" } },
    ],
  });
  const [from, to] = [parseTime("2026-01-01T00:00:00Z"), parseTime("2026-01-08T00:00:00Z")];
  assert.deepEqual(await readTokens(client, "podseidon-system", { clock: createVirtualClock(), signal }), {
    ok: true,
    value: [
      { account: "a", validity: { from, to } },
      { account: "b", validity: undefined },
    ],
  });
});
