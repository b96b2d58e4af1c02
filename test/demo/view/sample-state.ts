/** A state in the middle of a run, for tests of the views. */
import { type DemoState, type ServiceView } from "../../../scripts/demo/view/state.ts";

export const sampleService: ServiceView = {
  name: "search",
  available: 93,
  replicas: 120,
  floor: 90,
  lowest: 91,
  cells: [
    { name: "worker-1", available: 40, replicas: 50 },
    { name: "worker-2", available: 53, replicas: 70 },
  ],
};

export const sampleState: DemoState = {
  elapsedMs: 12_340,
  act: { title: "Act 2: Node drain", words: "One node of every cluster is drained." },
  isStarting: false,
  services: [sampleService],
  reviews: { admitted: 80, refused: 1300, waiting: 7, unanswered: 0 },
  roles: [
    { name: "generator", state: "ready" },
    { name: "aggregator-worker-1", state: "ready" },
    { name: "aggregator-worker-2", state: "starting" },
    { name: "update-trigger-worker-2", state: "ready" },
    { name: "webhook-1", state: "gone" },
    { name: "webhook-2", state: "ready" },
  ],
  remarks: [
    { atMs: 1000, text: "first" },
    { atMs: 2000, text: "second" },
  ],
};
