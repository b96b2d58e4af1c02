/** All cases, and those that one of the targets does not run. */
import { type ConformanceCase, type SkippedCase } from "./case.ts";
import { listCases, watchCases } from "./cases/watches.ts";
import { objectCases } from "./cases/objects.ts";
import { raceCases } from "./cases/races.ts";
import { reviewCases } from "./cases/reviews.ts";
import { scaleCases } from "./cases/scales.ts";
import { serverCases } from "./cases/server.ts";
import { tableCases } from "./cases/tables.ts";
import { scriptedCases } from "./steps/play.ts";

export const conformanceCases: readonly ConformanceCase[] = [
  ...scriptedCases(),
  ...objectCases,
  ...raceCases,
  ...listCases,
  ...watchCases,
  ...reviewCases,
  ...scaleCases,
  ...tableCases,
  ...serverCases,
];

/** A case is missing on one side only for a reason that stands here. */
export const skippedCases: readonly SkippedCase[] = [
  {
    name: "eviction: that names the version is stopped by a fence between its two writes",
    target: "double",
    reason: "nothing comes between its writes unless it is held there, as test/double/eviction.test.ts does",
  },
];
