/** All mutations. */
import { type Mutation } from "../mutation.ts";
import { mutationsOfAdmission } from "./of-admission.ts";
import { mutationsOfCores } from "./of-cores.ts";
import { mutationsOfCounts } from "./of-counts.ts";
import { mutationsOfDelays } from "./of-delays.ts";
import { mutationsOfHolds } from "./of-holds.ts";
import { mutationsOfLimits } from "./of-limits.ts";
import { mutationsOfMassChanges } from "./of-mass-changes.ts";
import { mutationsOfModes } from "./of-modes.ts";
import { mutationsOfMoreSources } from "./of-more-sources.ts";
import { mutationsOfProtobuf } from "./of-protobuf.ts";
import { mutationsOfReleases } from "./of-releases.ts";
import { mutationsOfSettlement } from "./of-settlement.ts";
import { mutationsOfSilence } from "./of-silence.ts";
import { mutationsOfSources } from "./of-sources.ts";
import { mutationsOfVanishing } from "./of-vanishing.ts";

export const mutations: readonly Mutation[] = [
  ...mutationsOfAdmission,
  ...mutationsOfSettlement,
  ...mutationsOfCounts,
  ...mutationsOfHolds,
  ...mutationsOfLimits,
  ...mutationsOfDelays,
  ...mutationsOfSilence,
  ...mutationsOfReleases,
  ...mutationsOfVanishing,
  ...mutationsOfMassChanges,
  ...mutationsOfModes,
  ...mutationsOfProtobuf,
  ...mutationsOfSources,
  ...mutationsOfMoreSources,
  ...mutationsOfCores,
];
