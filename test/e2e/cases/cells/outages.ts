/**
 * API servers that are killed, etcd that hangs, credentials that are replaced: every role goes on by itself, in the
 * process that it was.
 */
import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Agent, request } from "undici";
import { type IssuedCertificate, issueServerCertificate } from "../../../../src/certificates/index.ts";
import { type Cluster } from "../../clusters/cluster.ts";
import { present, second, waitFor } from "../../clusters/wait.ts";
import { type Fleet } from "../../fleet/fleet.ts";
import { startProtectedPods } from "../../loads/protected-pods.ts";
import { floor, type Recovery, startRecoveryDrill } from "../../loads/recovery-drill.ts";
import { deleteNow } from "../../objects/deletions.ts";
import { type CaseContext, e2eCases, type Figures } from "../../runner/runner.ts";
import { clusterAt, writeKubeconfig } from "../../../support/kubeconfig.ts";
import { createPem, type Pem } from "../../../unit/server/certificates.ts";

const etcdPauseMs = 30 * second;
/**
 * The worker's etcd stops so much later than the core's: for this long only the core hangs, at the end only the worker.
 */
const workerPausesAfterMs = 3 * second;
/** The roles run into refusals for this long before they get the new credentials. */
const lockedOutMs = second;
/** The user of the roles whose tokens are replaced, and the one whose client certificates are. */
const rotatedUser = "rotated";
/** The roles' connections ask for this server name, and get the certificate that is replaced. */
const rotatedServerName = "rotated.e2e";

export const outageCases = e2eCases({
  "outage: kill -9 of the core's and of a worker's API server: all roles recover without a restart": [
    240 * second,
    killed,
  ],
  "outage: etcd of the core and of a worker hangs for 30 s: all roles recover without a restart": [
    240 * second,
    paused,
  ],
  "outage: tokens are replaced and the old ones get 401: all roles take the new ones without a restart": [
    240 * second,
    tokensReplaced,
  ],
  "outage: certificates of servers, clients and authorities are replaced: all roles take the new ones": [
    240 * second,
    certificatesReplaced,
  ],
});

async function killed(context: CaseContext): Promise<Figures> {
  const drill = await startRecoveryDrill(context);
  const { core, first, second: other } = drill;

  // At the floor, so that a replica that has not heard of the new pods yet refuses.
  await drill.lose(other, "web-4");
  await drill.fleet.waitCounted("web", floor);
  await core.killApiServer();
  await drill.create(first, 4);
  await drill.lose(other, "web-0");
  const unrecorded = drill.remove(other, "web-1");
  await core.startApiServer();
  const coreBackMs = performance.now();
  const codeMeanwhile = await unrecorded;
  const afterCore = await drill.recover(coreBackMs);

  await first.cluster.killApiServer();
  await drill.lose(first, "web-0");
  await drill.create(other, 3);
  await drill.fleet.waitCounted("web", floor + 3);
  await drill.removeInTime(other, "web-2");
  await first.cluster.startApiServer();
  const afterWorker = await drill.recover(performance.now());
  return { ...figuresOf(afterCore, "core"), ...figuresOf(afterWorker, "worker"), codeMeanwhile };
}

async function paused(context: CaseContext): Promise<Figures> {
  const drill = await startRecoveryDrill(context);
  const { core, first, second: other } = drill;
  context.cleanup(() => core.resumeEtcd());
  context.cleanup(() => first.cluster.resumeEtcd());
  await drill.create(other, 2);

  core.pauseEtcd();
  await drill.lose(other, "web-0");
  const whileCoreHangs = drill.remove(other, "web-1");
  await delay(workerPausesAfterMs);
  first.cluster.pauseEtcd();
  const whileWorkerHangs = drill.remove(first, "web-1");
  await drill.create(other, 2);
  await delay(etcdPauseMs - workerPausesAfterMs);
  const codeCore = await whileCoreHangs;
  assert.notEqual(codeCore, 200, "admitted without a record");
  core.resumeEtcd();
  const coreBackMs = performance.now();
  await drill.waitReady(drill.fleet.webhooks);
  const coreReadyMs = Math.round(performance.now() - coreBackMs);
  await delay(workerPausesAfterMs - coreReadyMs);
  first.cluster.resumeEtcd();
  const workerBackMs = performance.now();
  const codeWorker = await whileWorkerHangs;
  const recovery = await drill.recover(workerBackMs);
  return { coreReadyMs, ...figuresOf(recovery, "worker"), codeCore, codeWorker };
}

async function tokensReplaced(context: CaseContext): Promise<Figures> {
  const tokenFile = (cluster: Cluster): string => path.join(context.directory, `${cluster.name}.token`);
  const writeToken = (cluster: Cluster): void =>
    writeFileSync(tokenFile(cluster), `${cluster.token(rotatedUser)}\n`, { mode: 0o600 });
  // The core and a worker by file, the other worker by a token inside the kubeconfig.
  const drill = await startRecoveryDrill(context, (cluster) => {
    if (cluster.name === "worker-2") return cluster.kubeconfigPath(rotatedUser);
    writeToken(cluster);
    const file = path.join(context.directory, `${cluster.name}.yaml`);
    // The file's name is relative to the kubeconfig.
    const user = { tokenFile: path.basename(tokenFile(cluster)) };
    return writeKubeconfig(file, clusterAt(cluster.url, cluster.caPem), user);
  });
  const { core, first, second: other } = drill;
  const clusters = [core, first.cluster, other.cluster];
  const codeOf = (cluster: Cluster, token: string): Promise<number> =>
    answerCode(cluster, { ca: cluster.caPem }, { authorization: `Bearer ${token}` });

  const old = new Map(clusters.map((cluster) => [cluster, cluster.token(rotatedUser)]));
  for (const cluster of clusters) cluster.rotateToken(rotatedUser);
  await Promise.all(clusters.map(startAgain));
  for (const [cluster, token] of old) {
    assert.equal(await codeOf(cluster, token), 401);
    assert.equal(await codeOf(cluster, cluster.token(rotatedUser)), 200);
  }
  await drill.create(first, 2);
  await drill.lose(other, "web-0");
  await delay(lockedOutMs);
  assert.equal(await drill.countedSum(), floor + 1, "counted with the old token");
  writeToken(core);
  writeToken(first.cluster);
  other.cluster.kubeconfigPath(rotatedUser);
  return figuresOf(await drill.recover(performance.now()));
}

async function certificatesReplaced(context: CaseContext): Promise<Figures> {
  const core = await context.cluster("core");
  const worker = await context.cluster("worker-1");
  const rotated = [new Certificates(context, core), new Certificates(context, worker)];
  context.cleanup(() => rotated.forEach(({ cluster }) => cluster.setFurtherApiServerArgs([])));
  for (const one of rotated) {
    await one.renewServing();
    await one.renewClient();
    one.giveToRoles();
    one.cluster.setFurtherApiServerArgs(one.apiServerArgs());
  }
  const restart = (): Promise<unknown> => Promise.all(rotated.map(({ cluster }) => startAgain(cluster)));
  await restart();
  const drill = await startRecoveryDrill(context, (cluster) => {
    return rotated.find((one) => one.cluster === cluster)?.kubeconfig() ?? cluster.kubeconfigPath("admin");
  });
  const old = rotated.map((one) => one.tls());
  for (const one of rotated) {
    await one.renewServing();
    await one.renewClient();
  }
  await restart();
  for (const [index, one] of rotated.entries()) {
    const now = one.tls();
    assert.equal(await answerCode(one.cluster, { ...now, ca: old[index]?.ca ?? "" }), 0);
    assert.equal(
      await answerCode(one.cluster, { ...now, cert: old[index]?.cert ?? "", key: old[index]?.key ?? "" }),
      401,
    );
    assert.equal(await answerCode(one.cluster, now), 200);
  }
  await drill.create(drill.first, 2);
  await delay(lockedOutMs);
  assert.equal(await drill.countedSum(), floor + 1, "counted with the old credentials");
  for (const one of rotated) one.giveToRoles();
  return figuresOf(await drill.recover(performance.now()));
}

/** Names like readyMs, or like coreReadyMs where a case has several outages. */
function figuresOf(recovery: Recovery, outage = ""): Figures {
  const nameOf = (step: string): string =>
    outage === "" ? step : outage + step.charAt(0).toUpperCase() + step.slice(1);
  return Object.fromEntries(Object.entries(recovery).map(([step, ms]) => [nameOf(step), Number(ms)]));
}

async function startAgain(cluster: Cluster): Promise<void> {
  await cluster.killApiServer();
  await cluster.startApiServer();
}

/**
 * What the roles and one API server know each other by: a certificate that the server shows to those who ask for
 * `rotatedServerName` (all others get its usual one), and the client certificates that it accepts. The roles have
 * theirs in files beside the kubeconfig.
 */
class Certificates {
  readonly cluster: Cluster;
  readonly #directory: string;
  #serving: IssuedCertificate | undefined;
  #client: Pem | undefined;

  constructor(context: CaseContext, cluster: Cluster) {
    this.cluster = cluster;
    this.#directory = path.join(context.directory, `${cluster.name}-certificates`);
    mkdirSync(this.#directory, { recursive: true });
  }

  /** A new authority and its certificate, for the API server. */
  async renewServing(): Promise<void> {
    const dnsNames = [rotatedServerName];
    const serving = await issueServerCertificate({ dnsNames, ipAddresses: [], days: 1, now: new Date() });
    this.#write("serving.crt", serving.certificate);
    this.#write("serving.key", serving.privateKey);
    this.#serving = serving;
  }

  /** A new client certificate; the API server accepts no other. */
  async renewClient(): Promise<void> {
    this.#client = await createPem(`${rotatedUser},O=system:masters`);
    this.#write("accepted.crt", this.#client.cert);
  }

  giveToRoles(): void {
    const { ca, cert, key } = this.tls();
    this.#write("ca.crt", ca);
    this.#write("client.crt", cert);
    this.#write("client.key", key);
  }

  /** What a client of today needs. */
  tls(): { readonly ca: string; readonly cert: string; readonly key: string; readonly servername: string } {
    if (this.#serving === undefined || this.#client === undefined) throw new Error("no certificate was made yet");
    return { ca: this.#serving.caCertificate, ...this.#client, servername: rotatedServerName };
  }

  apiServerArgs(): readonly string[] {
    const [certificate, key] = [this.#file("serving.crt"), this.#file("serving.key")];
    return [
      `--client-ca-file=${this.#file("accepted.crt")}`,
      `--tls-sni-cert-key=${certificate},${key}:${rotatedServerName}`,
    ];
  }

  kubeconfig(): string {
    // Relative to the kubeconfig.
    return writeKubeconfig(
      this.#file("kubeconfig.yaml"),
      { server: this.cluster.url, "tls-server-name": rotatedServerName, "certificate-authority": "ca.crt" },
      { "client-certificate": "client.crt", "client-key": "client.key" },
    );
  }

  #file(name: string): string {
    return path.join(this.#directory, name);
  }

  #write(name: string, content: string): void {
    writeFileSync(this.#file(name), content, { mode: 0o600 });
  }
}

/**
 * What the API server answers to somebody with these credentials, on a new connection; 0 when the client does not trust
 * it.
 */
async function answerCode(
  cluster: Cluster,
  tls: { readonly ca?: string; readonly cert?: string; readonly key?: string; readonly servername?: string },
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const agent = new Agent({ connect: tls });
  try {
    const response = await request(`${cluster.url}/api`, { dispatcher: agent, headers });
    await response.body.dump();
    return response.statusCode;
  } catch (error) {
    if (/certificate/i.test(String(error))) return 0;
    throw error;
  } finally {
    await agent.destroy();
  }
}

/** From the moment when the API server is ready again: backoffs of watches and leases are below this. */
const recoveryLimitMs = 45 * second;

/** Longer than a healthy write takes by far, shorter than a review may wait. */
const shortPauseMs = 3 * second;

export const recoveryCases = e2eCases({
  "recovery: API servers restart and the core's etcd hangs: all roles recover by themselves": [180 * second, restarts],
});

async function restarts(context: CaseContext): Promise<Figures> {
  const podsPerCell = 10;
  const { fleet, available, names } = await startProtectedPods(context, { podsPerCell, floor: 10 });
  const { core, namespace, workers } = fleet;
  const worker = present(workers[0]);
  const waiting = [...names];
  let counted = workers.length * podsPerCell;

  const remove = async (): Promise<number> => {
    const { code } = await deleteNow(worker.cluster.admin, namespace, waiting.shift() ?? "");
    if (code === 200) counted--;
    return code;
  };
  /** Everything is ready, a deletion is admitted, seen and settled. Resolves to how long that took. */
  const recovered = async (): Promise<number> => {
    const startMs = performance.now();
    await waitReady(fleet);
    const removedMs = performance.now();
    assert.equal(await remove(), 200);
    await fleet.waitCounted("web", counted, recoveryLimitMs);
    await fleet.waitSettled("web", recoveryLimitMs);
    // A replica whose list is still to come refuses by what it knew before.
    await fleet.waitHeard(() => performance.now() - removedMs, recoveryLimitMs);
    assert.equal(available.serving, counted);
    return Math.round(performance.now() - startMs);
  };

  await core.restartApiServer();
  const coreMs = await recovered();
  await worker.cluster.restartApiServer();
  await waitFor("the test's watch is back", recoveryLimitMs, () => available.serving === counted);
  const workerMs = await recovered();

  core.pauseEtcd();
  context.cleanup(() => core.resumeEtcd());
  const late = remove();
  await waitFor("a webhook waits for the core", 5 * second, async () => {
    return (await fleet.webhookCount("retrybatch_inflight_keys")) > 0;
  });
  assert.equal(await Promise.race([late, delay(shortPauseMs, "waits")]), "waits", "admitted without a record");
  core.resumeEtcd();
  const lateCode = await late;
  const etcdMs = await recovered();
  return { coreMs, workerMs, etcdMs, lateCode, left: available.serving };
}

async function waitReady(fleet: Fleet): Promise<void> {
  const roles = [...fleet.webhooks, ...fleet.aggregators, ...(fleet.generator === undefined ? [] : [fleet.generator])];
  await Promise.all(roles.map((role) => role.waitReady(recoveryLimitMs)));
}
