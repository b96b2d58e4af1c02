/**
 * What every target gets before the first case: the PodProtector's definition, the review configuration, and the rights
 * of `fencer`.
 */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load } from "js-yaml";
import { bodies, podProtectorApi } from "./bodies.ts";
import { ok } from "./expect.ts";
import { type HttpClient } from "./http-client.ts";
import { profileLabel, reviewConfiguration, type WebhookServer } from "./reviews.ts";
import { eventually } from "./scope.ts";
import { type Target, type UniqueName } from "./target.ts";

const podProtectorFile = fileURLToPath(new URL("../../manifests/base/crd/podprotectors.yaml", import.meta.url));

/** The rights of the user `fencer`: what an aggregator has in a worker cluster. */
export const fencerRules = [
  { apiGroups: [""], resources: ["pods"], verbs: ["get", "list", "watch"] },
  { apiGroups: [""], resources: ["pods/status"], verbs: ["patch"] },
] as const;

const rbac = "/apis/rbac.authorization.k8s.io/v1";

async function create(target: Target, path: string, body: unknown): Promise<void> {
  const answer = await target.request("POST", path, { body });
  ok(answer, 201);
}

/** Binds the rules above; only a server with RBAC has such objects. */
export async function grantFencer(target: Target): Promise<void> {
  const metadata = { name: "fencer" };
  const apiVersion = "rbac.authorization.k8s.io/v1";
  await create(target, `${rbac}/clusterroles`, { apiVersion, kind: "ClusterRole", metadata, rules: fencerRules });
  await create(target, `${rbac}/clusterrolebindings`, {
    apiVersion,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "fencer" },
    subjects: [{ apiGroup: "rbac.authorization.k8s.io", kind: "User", name: "fencer" }],
  });
}

/** What both targets have in common: requests over HTTP, and reviews by the suite's own webhook server. */
export function overHttp(client: HttpClient, webhooks: WebhookServer): Omit<Target, "name" | "forgetHistory"> {
  return {
    request: (method, path, options) => client.request(method, path, options),
    watch: (path, query, accept) => client.watch(path, query, accept),
    onReview: (namespace, handler) => webhooks.onReview(namespace, handler),
    webhook: webhooks,
  };
}

/** Creates both configurations and resolves when they are in force. */
export async function prepare(target: Target, webhooks: WebhookServer, unique: UniqueName): Promise<void> {
  const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  await create(target, definitions, load(readFileSync(podProtectorFile, "utf8")));
  const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
  await create(target, configurations, reviewConfiguration(webhooks));

  const namespace = unique("set-up");
  await create(target, "/api/v1/namespaces", bodies.namespace(namespace, { [profileLabel]: "deletions" }));
  const pods = `/api/v1/namespaces/${namespace}/pods`;
  await create(target, pods, bodies.pod("probe", { nodeName: "node-0" }));
  const seen = new Set<string>();
  target.onReview(namespace, ({ uid }) => {
    seen.add(uid);
    return { allowed: true };
  });
  await eventually("the review configuration is in force", async () => {
    ok(await target.request("DELETE", `${pods}/probe`, { query: { dryRun: "All" } }));
    return seen.size > 0;
  });
  await eventually("PodProtectors can be created", async () => {
    const path = `/apis/${podProtectorApi}/namespaces/${namespace}/podprotectors`;
    return (
      (await target.request("POST", path, { body: bodies.podProtector("probe"), query: { dryRun: "All" } })).code ===
      201
    );
  });
}
