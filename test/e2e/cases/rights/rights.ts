/** What the accounts of manifests/ may write, tried with their own tokens (docs/security.md#rights). */
import assert from "node:assert/strict";
import { applyPatch } from "rfc6902";
import { type AccountWrite, type Operation, type Verdict, type Writer } from "../../rights/account-write.ts";
import { AdminClient, type AdminResponse } from "../../clusters/admin-client.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { certificateDeeds } from "../../rights/certificate-deeds.ts";
import { leaseWrites, podWrites, workloadWrites } from "../../rights/other-writes.ts";
import { protectorWrites, statusWrites } from "../../rights/protector-writes.ts";
import { cellWith, setStage } from "../../rights/rights-stage.ts";
import { installRights, systemNamespace } from "../../clusters/role-accounts.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { second, waitFor } from "../../clusters/wait.ts";

/** For all policies together to be in force. Usually they are within two seconds. */
const inForceLimitMs = 10 * second;
/** API servers remember for ten seconds that a token was good. */
const lockedOutLimitMs = 60 * second;

export const rightsCases = e2eCases({
  "rights: each write that a role must not make is refused with its own token, and each that it makes is not": [
    120 * second,
    refusedWrites,
  ],
  "rights: the policies decide about a status of 100 cells with 40 admissions each": [120 * second, largeStatus],
  "rights: a worker whose account is deleted in the core is locked out, and the others are not": [
    120 * second,
    revoked,
  ],
});

interface Status {
  readonly reason?: string;
  readonly message?: string;
}

/** Clients of the accounts, with tokens of the TokenRequest API. */
class Accounts {
  readonly #cluster: Cluster;
  readonly #clients = new Map<Writer, AdminClient>();

  constructor(context: CaseContext, cluster: Cluster) {
    this.#cluster = cluster;
    context.cleanup(async () => {
      for (const client of this.#clients.values()) await client.close();
    });
  }

  async client(writer: Writer): Promise<AdminClient> {
    const known = this.#clients.get(writer);
    if (known !== undefined) return known;
    const { url, caPem } = this.#cluster;
    const token = await this.#cluster.serviceAccountToken(systemNamespace, `podseidon-${writer}`);
    const client = new AdminClient({ url, caPem, token });
    this.#clients.set(writer, client);
    return client;
  }
}

async function refusedWrites(context: CaseContext): Promise<Figures> {
  const cluster = await context.cluster("core");
  const stage = await setStage(context, cluster);
  const accounts = new Accounts(context, cluster);
  const kinds = [statusWrites, protectorWrites, workloadWrites, leaseWrites, podWrites, certificateDeeds];
  const writes = kinds.flatMap((writesOf) => writesOf(stage));
  const wrong: string[] = [];
  const counts: Record<Verdict, number> = { allowed: 0, rbac: 0, policy: 0 };
  const startMs = performance.now();
  for (const write of writes) {
    const client = await accounts.client(write.by);
    // The API server learns of policies, and of the kinds that they are about, through watches. A deletion that is only
    // tried may be allowed where a real one is not.
    const waitsUntilMs = write.verdict === "policy" && !("remove" in write) ? startMs + inForceLimitMs : 0;
    while (performance.now() < waitsUntilMs) {
      if ((await tryWrite(cluster, client, write, true)).code >= 300) break;
    }
    const answer = await tryWrite(cluster, client, write);
    const verdict = verdictOf(answer);
    if (verdict === write.verdict) counts[verdict]++;
    else
      wrong.push(`${write.by} ${write.what}: ${verdict}, not ${write.verdict}: ${answer.code} ${answer.body.message}`);
  }
  assert.deepEqual(wrong, []);
  return { allowed: counts.allowed, refusedByRBAC: counts.rbac, refusedByPolicies: counts.policy };
}

/** More than anybody has; the largest status that fits into etcd has about three times as many bytes. */
const manyCells = 100;
const bucketsPerCell = 40;
const writesEach = 5;

/** Milliseconds of a write, the median of five, without a policy (admin) and under each. */
async function largeStatus(context: CaseContext): Promise<Figures> {
  const cluster = await context.cluster("core");
  const stage = await setStage(context, cluster);
  const accounts = new Accounts(context, cluster);
  const path = `${stage.protectorPath("web")}/status`;
  const cells = Array.from({ length: manyCells }, (_, index) => cellWith(`worker-${index + 1}`, bucketsPerCell));
  const stored = await cluster.admin.mergePatch(path, { status: { ...stage.status, cells } });
  const own: readonly Operation[] = [
    { op: "replace", path: "/status/cells/0/aggregation/availableReplicas", value: 6 },
  ];
  const webhook: readonly Operation[] = [{ op: "remove", path: "/status/cells/50/admissionHistory/buckets/0" }];
  const generator: readonly Operation[] = [{ op: "remove", path: "/status/cells/99" }];
  const writes = { "aggregator-worker-1": own, webhook, generator } as const;
  const figures: Record<string, number> = { bytes: JSON.stringify(stored).length };
  figures["adminMs"] = await medianMs(cluster, cluster.admin, { ...largeWrite, path, put: own });
  for (const by of ["aggregator-worker-1", "webhook", "generator"] as const)
    figures[`${by}Ms`] = await medianMs(cluster, await accounts.client(by), { ...largeWrite, path, put: writes[by] });
  // They do not only let pass: another cell, deep inside, is another cell.
  const forged = { ...largeWrite, path, put: [{ op: "remove", path: "/status/cells/99/admissionHistory/buckets/39" }] };
  const refused = await tryWrite(cluster, await accounts.client("aggregator-worker-1"), forged as AccountWrite);
  assert.equal(verdictOf(refused), "policy", String(refused.body.message));
  return figures;
}

const largeWrite = { what: "writes a large status", by: "aggregator-worker-1", verdict: "allowed" } as const;

async function medianMs(cluster: Cluster, client: AdminClient, write: AccountWrite): Promise<number> {
  const durationsMs: number[] = [];
  for (let index = 0; index < writesEach; index++) {
    const startMs = performance.now();
    const answer = await tryWrite(cluster, client, write);
    durationsMs.push(performance.now() - startMs);
    assert.equal(answer.code, 200, String(answer.body.message));
  }
  return Math.round(durationsMs.toSorted((a, b) => a - b)[writesEach >> 1] ?? 0);
}

/** docs/security.md#revoke-a-worker */
async function revoked(context: CaseContext): Promise<Figures> {
  const cluster = await context.cluster("core");
  const stage = await setStage(context, cluster);
  const accounts = new Accounts(context, cluster);
  const [stolen, other] = [await accounts.client("aggregator-worker-1"), await accounts.client("webhook")];
  const path = stage.protectorPath("web");
  assert.equal((await stolen.request("GET", path)).code, 200);
  const account = `/api/v1/namespaces/${systemNamespace}/serviceaccounts/podseidon-aggregator-worker-1`;
  await cluster.admin.remove(account);
  const startMs = performance.now();
  await waitFor("the token is worth nothing", lockedOutLimitMs, async () => {
    return (await stolen.request("GET", path)).code === 401;
  });
  const lockedOutMs = Math.round(performance.now() - startMs);
  assert.equal((await other.request("GET", path)).code, 200);
  // A new account of that name does not bring the stolen token back.
  await installRights(cluster.admin);
  assert.equal((await stolen.request("GET", path)).code, 401);
  return { lockedOutMs };
}

/** A write that may be made is only tried (dryRun): the next one finds the object as it was. */
async function tryWrite(
  { admin }: Cluster,
  client: AdminClient,
  write: AccountWrite,
  isTrial = write.verdict === "allowed",
): Promise<AdminResponse<Status>> {
  const { path } = write;
  const query = isTrial ? { dryRun: "All" } : {};
  if ("remove" in write)
    return client.request("DELETE", path, write.remove.dryRun || isTrial ? { query: { dryRun: "All" } } : {});
  if ("read" in write) return client.request("GET", path);
  if ("create" in write) return client.request("POST", path, { body: write.create, query });
  if ("patch" in write)
    return client.request("PATCH", path, { body: write.patch, query, contentType: "application/json-patch+json" });
  const object = await admin.get<object>(path);
  const failures = applyPatch(object, [...write.put]).filter((failure) => failure !== null);
  assert.deepEqual(failures, [], write.what);
  return client.request("PUT", path, { body: object, query });
}

function verdictOf({ code, body }: AdminResponse<Status>): Verdict | "otherwise" {
  if (code < 300) return "allowed";
  if (code !== 403 || body.reason !== "Forbidden") return "otherwise";
  return body.message?.includes("ValidatingAdmissionPolicy 'podseidon-") === true ? "policy" : "rbac";
}
