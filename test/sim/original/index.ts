/**
 * A model of the Go original as a release of the simulation, written from its documentation and its observed behaviour:
 * what it counts, forgets, judges by and writes, with the defects that cost pods. It has the clients, the informers and
 * the settings of this release.
 */
import { presentRelease, type Release } from "../processes/release.ts";
import { createOriginalAggregator } from "./aggregator.ts";
import { createOriginalGenerator } from "./generator.ts";
import { createOriginalWebhook } from "./webhook.ts";

export const originalRelease: Release = {
  ...presentRelease,
  roles: {
    generator: createOriginalGenerator,
    aggregator: createOriginalAggregator,
    webhook: createOriginalWebhook,
  },
};
