/**
 * The contract of sources (test/source-contract), which `make test` plays against the API double, on a real
 * kube-apiserver, with structural schemas of custom kinds.
 */
import assert from "node:assert/strict";
import { contractCases } from "../../../source-contract/cases.ts";
import { crdCases } from "../../../source-contract/crd-cases.ts";
import { startRealTargets } from "../../../source-contract/real.ts";
import { sourceSamples } from "../../../source-contract/samples.ts";
import { applyDefinition, type Crd } from "../../objects/crd.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";

const minute = 60_000;

/**
 * First the one that begins without CRDs. Of what the other leaves behind, when these go, more Events would tell than a
 * generator sends, and those that are waited for would be among the dropped ones.
 */
export const sourceContractCases = e2eCases({
  "contract: CRDs of sources that are missing, come and go on a real API server": [10 * minute, crdContract],
  "contract: every kind of source keeps it on a real API server": [10 * minute, contract],
});

const customSamples = sourceSamples.filter(({ crd }) => crd !== undefined);

async function contract(context: CaseContext): Promise<Figures> {
  const { admin } = await context.cluster("sources");
  await Promise.all(customSamples.map(({ crd }) => applyDefinition(admin, crd as unknown as Crd)));
  const targets = await startRealTargets(context, { samples: sourceSamples, massChanges: "allow" });
  const failures = await targets.play(contractCases);
  assert.deepEqual(failures, []);
  return { kinds: sourceSamples.length, cases: contractCases.length };
}

async function crdContract(context: CaseContext): Promise<Figures> {
  const targets = await startRealTargets(context, { samples: customSamples, massChanges: "hold" });
  const failures = await targets.play(crdCases);
  assert.deepEqual(failures, []);
  return { kinds: customSamples.length, cases: crdCases.length };
}
