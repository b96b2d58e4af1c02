/** The Grafana dashboards of Podseidon. main.ts writes them to manifests/monitoring/dashboards. */
import { aggregator } from "./aggregator.ts";
import { type Dashboard } from "./dashboard.ts";
import { fleet } from "./fleet.ts";
import { generator } from "./generator.ts";
import { webhook } from "./webhook.ts";

export const dashboards: readonly Dashboard[] = [fleet, webhook, aggregator, generator];
