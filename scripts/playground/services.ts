/** What runs in the playground: small enough that `kubectl get pods` of a cell fits a screen. */
import { type ServicePlan } from "../demo/scenario.ts";

/** The shares are those that federation.ts comes to. */
export const playgroundPlans: readonly ServicePlan[] = [
  { name: "web", shares: { "worker-1": 8, "worker-2": 8, "worker-3": 8 } },
  { name: "cart", shares: { "worker-1": 4, "worker-2": 4, "worker-3": 4 } },
  { name: "mail", shares: { "worker-1": 2, "worker-2": 1, "worker-3": 1 } },
];
