import assert from "node:assert/strict";
import { test } from "node:test";
import { gateFaultOf } from "../../../../src/commands/fleet/gate-fault.ts";

test("each fault of a gate says what becomes of deletions, and none says nothing", () => {
  const texts = ["missing", "unreachable", "other-cell w7", "strange"].map((gate) => gateFaultOf({ gate }));
  assert.deepEqual(
    texts.map((fault) => fault?.state),
    ["gate missing", "gate unreachable", "gate wrong", "gate wrong"],
  );
  assert.match(texts[0]?.remark ?? "", /any pod can be deleted/);
  assert.match(texts[1]?.remark ?? "", /deletions of pods are refused/);
  assert.match(texts[2]?.remark ?? "", /for another cell: w7/);
  // As aggregators write it.
  assert.match(
    gateFaultOf({ gate: "other-cell" })?.remark ?? "",
    /another cell: see the end of the URL in its webhook/,
  );
  assert.equal(gateFaultOf({ gate: undefined }), undefined);
});
