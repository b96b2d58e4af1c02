/** A real kube-apiserver as a target, and the conformance suite against it as a case of `make e2e`. */
import { Cluster } from "../e2e/cluster.ts";
import { freePorts } from "../e2e/ports.ts";
import { type CaseContext, type E2eCase, type Figures } from "../e2e/runner.ts";
import { conformanceCases, skippedCases } from "./cases.ts";
import { HttpClient } from "./http-client.ts";
import { startWebhookServer, type WebhookServer } from "./reviews.ts";
import { runCases, selectCases, uniqueNames } from "./runner.ts";
import { grantFencer, prepare } from "./set-up.ts";
import { type Target, type UserName } from "./target.ts";

export interface RealServer {
  readonly url: string;
  readonly caPem: string;
  readonly etcdUrl: string;
  readonly tokens: Readonly<Record<UserName, string>>;
}

/** Compacts etcd at its present revision: older states are gone, and so are continue tokens into them. */
async function compact(etcdUrl: string): Promise<void> {
  const post = async (path: string, body: object): Promise<unknown> => {
    const response = await fetch(`${etcdUrl}/v3/kv/${path}`, { method: "POST", body: JSON.stringify(body) });
    if (!response.ok) throw new Error(`etcd ${path}: ${response.status} ${await response.text()}`);
    return response.json();
  };
  const { header } = (await post("range", { key: btoa("none") })) as { readonly header: { readonly revision: string } };
  await post("compaction", { revision: header.revision, physical: true });
}

/** The suite's view of a running server. */
export function realTarget(server: RealServer, client: HttpClient, webhooks: WebhookServer): Target {
  return {
    name: "real",
    request: (method, path, options) => client.request(method, path, options),
    watch: (path, query) => client.watch(path, query),
    onReview: (namespace, handler) => webhooks.onReview(namespace, handler),
    webhook: webhooks,
    forgetHistory: () => compact(server.etcdUrl),
  };
}

async function run(context: CaseContext): Promise<Figures> {
  const [port = 0, etcdPort = 0] = await freePorts(2);
  // Its own cluster: without controllers, which would answer to what the cases create.
  const environment = { assets: context.assets, processes: context.processes, directory: context.directory };
  const options = { name: "conformance", users: [{ name: "fencer" }, { name: "stranger" }] };
  const cluster = new Cluster(environment, options, { port, etcdPort });
  context.cleanup(() => cluster.stop());
  await cluster.start();

  const webhooks = await startWebhookServer();
  context.cleanup(() => webhooks.close());
  const server = {
    url: cluster.url,
    caPem: cluster.caPem,
    etcdUrl: `http://127.0.0.1:${etcdPort}`,
    tokens: { admin: cluster.adminToken, fencer: cluster.token("fencer"), stranger: cluster.token("stranger") },
  };
  const client = new HttpClient(server);
  context.cleanup(() => client.close());
  const target = realTarget(server, client, webhooks);
  const unique = uniqueNames("");
  await grantFencer(target);
  await prepare(target, webhooks, unique);

  const selected = selectCases(conformanceCases, skippedCases, "real");
  const startMs = performance.now();
  const outcomes = await runCases(selected, target, unique);
  const failed = outcomes.filter(({ error }) => error !== undefined);
  if (failed.length > 0) {
    const texts = failed.map(({ name, error }) => `${name}\n${error instanceof Error ? error.stack : String(error)}`);
    throw new Error(`${failed.length} of ${outcomes.length} cases failed\n\n${texts.join("\n\n")}`);
  }
  return {
    cases: outcomes.length,
    skipped: conformanceCases.length - outcomes.length,
    seconds: Math.round((performance.now() - startMs) / 1000),
  };
}

export const conformanceE2eCases: readonly E2eCase[] = [
  { name: "conformance: a real API server behaves as every case of the suite says", timeLimitMs: 300_000, run },
];
