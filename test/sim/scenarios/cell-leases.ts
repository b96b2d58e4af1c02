/** What a person does to the Lease of a cell. */
import { cellLeaseAnnotations, cellLeaseName } from "../../../src/api/cell-lease.ts";
import { formatMicroTime } from "../../../src/api/micro-time.ts";
import { type EpochMicros } from "../../../src/util/clock.ts";
import { builtInResources } from "../../double/index.ts";
import { type Run } from "./stage.ts";

/** The default of --cell-lease-namespace. */
const leaseNamespace = "default";

/** lease CELL delete | keep=2h */
export const changeLease: Run = async (stage, args) => {
  const { core } = stage.world;
  const { engine } = core.server;
  const name = cellLeaseName(args.word("the cell"));
  if (args.flag("delete")) {
    await stage.during(engine.delete(builtInResources.leases, leaseNamespace, name));
    return;
  }
  const keptMs = args.duration(args.setting("keep") ?? "");
  const until = formatMicroTime((engine.clock.epochMicros() + keptMs * 1000) as EpochMicros);
  const body = { metadata: { annotations: { [cellLeaseAnnotations.keepUntil]: until } } };
  const patch = { contentType: "application/merge-patch+json", body };
  await stage.during(engine.patch(builtInResources.leases, leaseNamespace, name, patch));
};
