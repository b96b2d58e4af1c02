/** A core as the parts of the webhook know it, over a fake cluster and a fake informer. */
import { silentLogger } from "../../../../src/util/logger.ts";
import { Core, type CoreOptions } from "../../../../src/webhook/protector/core.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { noLeases } from "./fake-cells.ts";
import { FakeCore } from "./fake-core.ts";
import { FakeInformer } from "./fake-informer.ts";
import { settings } from "./replica.ts";

export function createTestCore(options: Partial<CoreOptions> = {}) {
  const clock = createVirtualClock();
  const informer = new FakeInformer();
  const core = new Core({
    name: "core",
    client: new FakeCore(clock).client("core"),
    informer,
    cells: noLeases,
    rule: { clock, ...settings },
    replicas: 1,
    isUnreadyWhenSilent: true,
    clock,
    logger: silentLogger,
    onDefinitionLoss() {},
    ...options,
  });
  return { clock, informer, core };
}
