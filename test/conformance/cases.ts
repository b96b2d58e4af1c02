/** All cases, and those that one of the targets does not run. */
import { type ConformanceCase, type SkippedCase } from "./case.ts";
import { deletionCases } from "./cases/deletion.ts";
import { evictionCases } from "./cases/evictions.ts";
import { listCases } from "./cases/lists.ts";
import { objectCases } from "./cases/objects.ts";
import { patchCases } from "./cases/patches.ts";
import { podCases } from "./cases/pods.ts";
import { resourceCases } from "./cases/resources.ts";
import { reviewCases } from "./cases/reviews.ts";
import { scaleCases } from "./cases/scales.ts";
import { serverCases } from "./cases/server.ts";
import { statusCases } from "./cases/status.ts";
import { strategicPatchCases } from "./cases/strategic-patches.ts";
import { tableCases } from "./cases/tables.ts";
import { warningCases } from "./cases/warnings.ts";
import { watchCases } from "./cases/watches.ts";

export const conformanceCases: readonly ConformanceCase[] = [
  ...objectCases,
  ...patchCases,
  ...strategicPatchCases,
  ...statusCases,
  ...deletionCases,
  ...podCases,
  ...listCases,
  ...watchCases,
  ...reviewCases,
  ...evictionCases,
  ...resourceCases,
  ...scaleCases,
  ...tableCases,
  ...warningCases,
  ...serverCases,
];

/** A case is missing on one side only for a reason that stands here. */
export const skippedCases: readonly SkippedCase[] = [];
