import { type TestContext } from "node:test";
import { type Informer } from "../../../../src/kube/informer.ts";
import { type Logger } from "../../../../src/util/logger.ts";
import { builtInResources } from "../../../double/index.ts";
import { type Rig } from "./rig.ts";
import { createItemInformer, type Item } from "./witness.ts";

export const type = builtInResources.configMaps;

export async function startInformer(
  t: TestContext,
  rig: Rig,
  logger?: Logger,
): Promise<{ informer: Informer<Item>; stop: () => Promise<void> }> {
  const client = await rig.connect();
  const informer = createItemInformer(rig, client, logger);
  const signal = new AbortController();
  const running = informer.run(signal.signal);
  const stop = async (): Promise<void> => {
    signal.abort();
    await running;
    await client.close();
  };
  t.after(stop);
  await rig.until(() => informer.hasSynced(), "the first list");
  return { informer, stop };
}

export async function create(rig: Rig, name: string): Promise<void> {
  await rig.server.engine.create(type, "default", { apiVersion: "v1", kind: "ConfigMap", metadata: { name } });
}
