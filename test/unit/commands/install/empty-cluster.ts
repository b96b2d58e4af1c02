/**
 * Clusters that store whatever they are given, of all kinds, and give tokens; and `podseidon install` run on them.
 * Their API servers ask the webhook as the configurations say, and it answers once it runs.
 */
import { gateWarning } from "../../../../src/api/gate-warning.ts";
import { asList, asObject, fieldsOf, type Json } from "../../../../src/api/json.ts";
import { type CommandSurroundings } from "../../../../src/commands/command.ts";
import { runCommand } from "../../../../src/commands/index.ts";
import { type Site } from "../../../../src/commands/install/apply.ts";
import { type KubeClient, type KubeRequest } from "../../../../src/kube/kube-client.ts";
import { errorOfResponse } from "../../../../src/kube/kube-errors.ts";
import { createSeededRng } from "../../../support/seeded-rng.ts";
import { createVirtualClock, type VirtualClock } from "../../../support/virtual-clock.ts";
import { plainTerminal, type Ran } from "../support/fleet.ts";

const dummyPod = "/api/v1/namespaces/podseidon-update-trigger/pods/podseidon-update-trigger";
const configurations = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";

export class EmptyCluster implements KubeClient {
  readonly cluster: string;
  /** By path. */
  readonly objects = new Map<string, Json>();
  /** `METHOD path` of each write, in order. */
  readonly writes: string[] = [];
  /** Requests that are answered with 403. */
  forbidden: RegExp | undefined;
  /** The generator starts, and publishes the authorities of the webhook's certificate. */
  publishes = true;
  /** Undefined = nobody answers; else for which cell. */
  answersAs: string | undefined;

  constructor(cluster: string) {
    this.cluster = cluster;
  }

  async request(request: KubeRequest): Promise<unknown> {
    const { method, path, body } = request;
    const what = `${method} ${path}`;
    if (this.forbidden?.test(what) === true) throw refusal(what, 403, "Forbidden");
    if (path === dummyPod) return this.#askWebhook(request, what);
    if (path.endsWith("/token")) return tokenFor(path, fieldsOf(body));
    if (method === "GET") return this.#read(path, what);
    this.writes.push(what);
    if (method === "DELETE") {
      this.#read(path, what);
      this.objects.delete(path);
      return {};
    }
    const at = method === "POST" ? `${path}/${String(fieldsOf(fieldsOf(body)["metadata"])["name"])}` : path;
    const stored = fieldsOf(method === "POST" ? body : merged(this.objects.get(at), body));
    this.objects.set(at, stored);
    // As the generator does once it runs.
    if (at.endsWith("/deployments/podseidon-generator") && this.publishes) {
      const found = [...this.objects.keys()].find((one) => one.endsWith("/configmaps/podseidon-webhook-ca")) ?? "";
      this.objects.set(found, { ...this.objects.get(found), data: { "ca.crt": "authority" } });
    }
    return stored;
  }

  stream(): Promise<never> {
    return Promise.reject(new Error("nothing is watched"));
  }

  async close(): Promise<void> {
    // Nothing is open.
  }

  /** The object whose path ends so. */
  find(end: string): Json | undefined {
    const path = [...this.objects.keys()].find((one) => one.endsWith(end));
    return path === undefined ? undefined : this.objects.get(path);
  }

  /** The text behind a key of a Secret. */
  secret(name: string, key: string): string | undefined {
    const value = fieldsOf(this.find(`/secrets/${name}`)?.["data"])[key];
    return typeof value === "string" ? Buffer.from(value, "base64").toString("utf8") : undefined;
  }

  #read(path: string, what: string): unknown {
    const found = this.objects.get(path);
    if (path.endsWith("/podprotectors")) return { items: [] };
    if (found === undefined) throw refusal(what, 404, "NotFound");
    // As an API server does at once.
    return path.includes("customresourcedefinitions")
      ? { ...found, status: { conditions: [{ type: "Established", status: "True" }] } }
      : found;
  }

  #askWebhook({ onWarnings }: KubeRequest, what: string): unknown {
    if (![...this.objects.keys()].some((path) => path.endsWith("deployments/podseidon-aggregator")))
      throw refusal(what, 404, "NotFound");
    const isAsked = [...this.objects.keys()].some((path) => path.startsWith(configurations));
    if (isAsked && this.answersAs === undefined)
      throw refusal(what, 500, "InternalError", 'failed calling webhook "podseidon.kubewharf.io": refused');
    if (isAsked) onWarnings?.([gateWarning(this.answersAs ?? "")]);
    return { kind: "Status" };
  }
}

function refusal(what: string, code: number, reason: string, message = "no") {
  return errorOfResponse(what, code, JSON.stringify({ kind: "Status", reason, message }), "");
}

function tokenFor(path: string, { spec }: Json): unknown {
  const account = path.split("/").at(-2) ?? "";
  const seconds = fieldsOf(spec)["expirationSeconds"];
  return {
    status: { token: `token of ${account} for ${String(seconds)} s`, expirationTimestamp: "2026-01-08T00:00:00Z" },
  };
}

/** RFC 7386. */
function merged(target: unknown, patch: unknown): unknown {
  const changes = asObject(patch);
  if (changes === undefined) return patch;
  const result = { ...fieldsOf(target) };
  for (const [key, value] of Object.entries(changes)) result[key] = merged(result[key], value);
  return result;
}

export interface Stage {
  readonly clock: VirtualClock;
  /** By context: core, w1 and w2. */
  readonly clusters: Readonly<Record<"core" | "w1" | "w2", EmptyCluster>>;
  readonly stop: AbortController;
  readonly siteOf: (context: "core" | "w1" | "w2") => Site;
  /** Runs the command to its end, however long it waits. */
  install(...argv: readonly string[]): Promise<Ran>;
}

export function createStage(): Stage {
  const clock = createVirtualClock();
  const stop = new AbortController();
  const clusters = { core: new EmptyCluster("core"), w1: new EmptyCluster("w1"), w2: new EmptyCluster("w2") };
  return {
    clock,
    clusters,
    stop,
    siteOf: (context) => ({ client: clusters[context], clock, signal: stop.signal }),
    async install(...argv) {
      const printed: string[] = [];
      const complaints: string[] = [];
      const ran: { end?: Ran } = {};
      const running = runCommand(["install", ...argv], {
        ...questions(clusters, clock, stop),
        write: (text) => void printed.push(text),
        complain: (line) => void complaints.push(line),
      }).then(({ exitCode, problem }) => {
        ran.end = { exitCode, problem, stdout: printed.join(""), stderr: complaints };
        return ran.end;
      });
      for (let step = 0; ran.end === undefined && step < 2_000; step += 1) await clock.advance(500);
      return running;
    },
  };
}

/** A kubeconfig with a context for each cluster. */
export const kubeconfig = JSON.stringify({
  "current-context": "core",
  contexts: ["core", "w1", "w2"].map((name) => ({ name, context: { cluster: name } })),
  clusters: ["core", "w1", "w2"].map((name) => ({
    name,
    cluster: { server: `https://${name}.example.com:6443`, "certificate-authority-data": "Y2E=" },
  })),
});

function questions(
  clusters: Stage["clusters"],
  clock: VirtualClock,
  stop: AbortController,
): Omit<CommandSurroundings, "write" | "complain"> {
  return {
    program: "podseidon",
    version: "podseidon 0.1.0 (commit abc, Node v26.0.0)\n",
    environment: { KUBECONFIG: "/kubeconfig" },
    readFile: () => kubeconfig,
    clock,
    rng: createSeededRng(7),
    signal: stop.signal,
    terminal: plainTerminal,
    connect: ({ context = "core" }) => Promise.resolve(clusters[context as keyof Stage["clusters"]]),
  };
}

/** The arguments of a Deployment's container. */
export function argumentsOf(deployment: Json | undefined): readonly string[] {
  const template = fieldsOf(fieldsOf(deployment?.["spec"])["template"]);
  const [container] = asList(fieldsOf(template["spec"])["containers"]);
  return asList(fieldsOf(container)["args"]).map(String);
}
