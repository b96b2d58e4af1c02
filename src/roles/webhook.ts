/** Composes the role webhook. */
import { StartError, type Component } from "../lifecycle/index.ts";
import { type Runtime } from "./runtime.ts";

export async function createWebhook(_runtime: Runtime): Promise<Component[]> {
  throw new StartError("role webhook is not built yet");
}
