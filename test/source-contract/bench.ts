/** What the cases of the contract do and ask: one kind of source in one namespace of a target. */
import assert from "node:assert/strict";
import { isDeepStrictEqual } from "node:util";
import { annotations, apiGroup, finalizer } from "../../src/api/v1alpha1/names.ts";
import { protectorNameOf } from "../../src/generator/sources/source-plan.ts";
import { generatorStateName } from "../../src/kube/generator-state.ts";
import { resourcePath, type Resource } from "../../src/kube/kube-client.ts";
import { customResourceDefinitions, namespaces, podProtectors } from "../../src/kube/resources.ts";
import { sourceKindOf } from "../../src/sources/index.ts";
import { type JsonObject, type KubeObject } from "../double/index.ts";
import { Limiter } from "../e2e/clusters/limiter.ts";
import { labelsOf, sampleBody, sampleOf, type SourceSample } from "./samples.ts";
import { type Answer, type Patience, type Target } from "./target.ts";

export interface ContractCase {
  /** A sentence of behaviour. */
  readonly name: string;
  /** No generator runs for a while, or a CRD goes: no other case may be played meanwhile, of whatever kinds. */
  readonly isAlone?: true;
  /** What the generator logs as an error here; absent = nothing. */
  readonly logs?: RegExp;
  /** Throws (assert) when the behaviour is not there. */
  readonly play: (bench: Bench) => Promise<void>;
}

const requestsInFlight = 16;
const events: Resource = { group: "", version: "v1", resource: "events" };
const configMaps: Resource = { group: "", version: "v1", resource: "configmaps" };
const deployments = sourceKindOf("deployments.apps").resource;

export class Bench {
  readonly sample: SourceSample;
  readonly target: Target;
  readonly #limiter = new Limiter(requestsInFlight);
  /** What was last waited for. */
  #step = "the beginning";

  constructor(sample: SourceSample, target: Target) {
    this.sample = sample;
    this.target = target;
  }

  /** Plays a case. Whatever goes wrong, the error names the kind, the case and the step. */
  async play(one: ContractCase): Promise<void> {
    try {
      await one.play(this);
      const isExpected = (line: string): boolean => one.logs?.test(line) ?? false;
      const errors = (await this.target.errors()).filter((line) => !isExpected(line));
      assert.deepEqual(errors, [], "errors that the generator logged");
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause);
      const where = `${this.sample.id}: "${one.name}": at or after "${this.#step}"`;
      throw new Error(`${where}: ${reason}`, { cause });
    }
  }

  /** Waits until `read` gives what is expected. Throws with what it gave last. */
  async becomes<T>(what: string, read: () => Promise<T>, expected: T, patience: Patience = "soon"): Promise<void> {
    this.#step = what;
    for (let waits = 0; waits < this.target.waits[patience]; waits++) {
      if (isDeepStrictEqual(await read(), expected)) return;
      await this.target.wait();
    }
    const last = await read();
    if (isDeepStrictEqual(last, expected)) return;
    assert.fail(`${what} did not become ${JSON.stringify(expected)} but is ${JSON.stringify(last)}`);
  }

  /** Looks for a while whether `read` goes on to give what is expected. */
  async stays<T>(what: string, read: () => Promise<T>, expected: T): Promise<void> {
    this.#step = what;
    for (let waits = 0; waits < this.target.waits.unchanged; waits++) {
      assert.deepEqual(await read(), expected, what);
      await this.target.wait();
    }
  }

  /** Answers that are no success throw. */
  async ask(method: string, path: string, body?: JsonObject): Promise<JsonObject> {
    const answer = await this.target.request(method, path, body);
    if (answer.code > 299) throw new Error(`${method} ${path}: ${answer.code} ${JSON.stringify(answer.body)}`);
    return answer.body;
  }

  path(resource: Resource, name?: string, subresource?: string): string {
    const { namespace } = this.target;
    return resourcePath(resource, {
      namespace,
      ...(name === undefined ? {} : { name }),
      ...(subresource === undefined ? {} : { subresource }),
    });
  }

  /** The object; undefined = there is none. */
  async find(path: string): Promise<KubeObject | undefined> {
    const { code, body } = await this.target.request("GET", path);
    if (code === 404) return undefined;
    assert.equal(code, 200, `GET ${path}`);
    return body as unknown as KubeObject;
  }

  async list(resource: Resource): Promise<readonly KubeObject[]> {
    return (await this.ask("GET", this.path(resource)))["items"] as readonly KubeObject[];
  }

  /** A source of ten replicas, and what belongs to it. */
  async create(name = "web"): Promise<void> {
    const { isAboutDeployment = false } = this.sample;
    // A CRD that was deleted took the budget along, but not the Deployment that it is about.
    const hasDeployment = isAboutDeployment && (await this.find(this.path(deployments, name))) !== undefined;
    if (isAboutDeployment && !hasDeployment) await this.createDeployment(name);
    await this.createAlone(name);
  }

  /** Of the source alone. */
  async createAlone(name = "web"): Promise<void> {
    const { resource } = this.sample.kind;
    await this.ask("POST", this.path(resource), sampleBody(this.sample, name, this.target.namespace));
    const status = this.sample.status?.(labelsOf(name));
    if (status !== undefined) await this.ask("PATCH", this.path(resource, name, "status"), { status });
  }

  async createDeployment(name: string): Promise<void> {
    const body = sampleBody(sampleOf("deployments.apps"), name, this.target.namespace);
    await this.ask("POST", this.path(deployments), body);
  }

  async createAll(names: readonly string[]): Promise<void> {
    await this.#limiter.all(names, (name) => this.create(name));
  }

  patch = (body: JsonObject, name = "web"): Promise<JsonObject> =>
    this.ask("PATCH", this.path(this.sample.kind.resource, name), body);

  /** Of the namespace of the sources; null takes a label off. */
  async labelNamespace(labels: Readonly<Record<string, string | null>>): Promise<void> {
    await this.ask("PATCH", resourcePath(namespaces, { name: this.target.namespace }), { metadata: { labels } });
  }

  /** By the subresource scale, as kubectl and autoscalers do. */
  async scale(replicas: number): Promise<void> {
    const resource = this.sample.isAboutDeployment === true ? deployments : this.sample.kind.resource;
    await this.ask("PATCH", this.path(resource, "web", "scale"), { spec: { replicas } });
  }

  /** Of the names of overrides. */
  async annotate(values: Readonly<Record<string, string | null>>): Promise<void> {
    const entries = Object.entries(values).map(([name, value]) => [`${apiGroup}/${name}`, value]);
    await this.patch({ metadata: { annotations: Object.fromEntries(entries) } });
  }

  async delete(name = "web", resource: Resource = this.sample.kind.resource): Promise<void> {
    // As kubectl does: the default of ReplicationControllers is another.
    await this.ask("DELETE", this.path(resource, name), { propagationPolicy: "Background" });
  }

  source = (name = "web"): Promise<KubeObject | undefined> => this.find(this.path(this.sample.kind.resource, name));

  /** The finalizer is there, where the kind has one at all. */
  isGuarded = async (name = "web"): Promise<boolean> => {
    const source = await this.source(name);
    return source !== undefined && hasFinalizer(source) === !(this.sample.kind.isNeverWritten ?? false);
  };

  protectorName(name = "web", kind: SourceSample["kind"] = this.sample.kind): string {
    return protectorNameOf(kind, name);
  }

  protector = (name = "web"): Promise<KubeObject | undefined> =>
    this.find(this.path(podProtectors, this.protectorName(name)));

  async createProtector(name: string): Promise<void> {
    const selector = { matchLabels: { app: "mine" } };
    await this.ask("POST", this.path(podProtectors), {
      apiVersion: `${apiGroup}/v1alpha1`,
      kind: "PodProtector",
      metadata: { name, namespace: this.target.namespace },
      spec: { minAvailable: 3, minReadySeconds: 0, selector },
    });
  }

  patchProtector = (body: JsonObject, name = "web"): Promise<JsonObject> =>
    this.ask("PATCH", this.path(podProtectors, this.protectorName(name)), body);

  /** What the PodProtector of a source enforces; undefined = nothing. */
  floor = async (name = "web"): Promise<unknown> => floorOf(await this.protector(name));

  /** Of a Deployment that was created beside the sources. */
  deploymentFloor = async (name: string): Promise<unknown> => {
    const { kind } = sampleOf("deployments.apps");
    return floorOf(await this.find(this.path(podProtectors, this.protectorName(name, kind))));
  };

  /** Of many, by one LIST. */
  floors = async (names: readonly string[]): Promise<readonly unknown[]> => {
    const found = new Map((await this.list(podProtectors)).map((one) => [one.metadata.name, floorOf(one)]));
    return names.map((name) => found.get(this.protectorName(name)));
  };

  /** Of the sources and of their PodProtectors. */
  versions = async (): Promise<readonly string[]> => {
    const all = [...(await this.list(this.sample.kind.resource)), ...(await this.list(podProtectors))];
    return all.map(({ metadata }) => `${metadata.name} ${metadata.resourceVersion}`).toSorted();
  };

  /**
   * Whether an Event of this namespace or a condition of a PodProtector has such a text. A generator sends an Event a
   * second, so where all kinds have much to tell only the condition may be there; the core of unit tests has none.
   */
  isTold = async (text: RegExp): Promise<boolean> => {
    const conditions = (await this.list(podProtectors)).map(({ status }) => status?.["conditions"] ?? []);
    return text.test(JSON.stringify(conditions)) || text.test(JSON.stringify(await this.list(events)));
  };

  async eraseProtectors(): Promise<void> {
    await this.target.erase(await this.list(podProtectors), "PodProtectors");
  }

  async eraseSources(): Promise<void> {
    await this.target.erase(await this.list(this.sample.kind.resource), this.sample);
  }

  get crd(): JsonObject {
    const { crd } = this.sample;
    assert.ok(crd !== undefined, `${this.sample.id} has a CRD`);
    return crd;
  }

  get #crdPath(): string {
    const { group, resource } = this.sample.kind.resource;
    return resourcePath(customResourceDefinitions, { name: `${resource}.${group}` });
  }

  hasCrd = async (): Promise<boolean> => (await this.find(this.#crdPath)) !== undefined;

  /** Resolves when the resource is served. */
  async installCrd(): Promise<void> {
    await this.ask("POST", resourcePath(customResourceDefinitions), this.crd);
    await this.becomes("the CRD is served", () => this.#codeOfList(), 200, "late");
  }

  deleteCrd = (): Promise<JsonObject> => this.ask("DELETE", this.#crdPath);

  /** The CRD and all its objects, however they are held. */
  async removeCrd(): Promise<void> {
    if (!(await this.hasCrd())) return;
    await this.deleteCrd();
    const isGone = async (): Promise<boolean> => {
      await this.letGo();
      return !(await this.hasCrd());
    };
    await this.becomes("the CRD is gone", isGone, true, "late");
  }

  /** A person takes the finalizers off all objects of the kind, in all namespaces. */
  async letGo(): Promise<void> {
    // What is never written has none, and goes with its CRD at once.
    if (this.sample.kind.isNeverWritten === true) return;
    const { resource } = this.sample.kind;
    const { code, body } = await this.target.request("GET", resourcePath(resource));
    if (code !== 200) return;
    for (const { metadata } of body["items"] as readonly KubeObject[]) {
      const path = resourcePath(resource, { namespace: metadata.namespace, name: metadata.name });
      await this.target.request("PATCH", path, { metadata: { finalizers: null } });
    }
  }

  /** Of the generator; undefined = there is none. */
  state = (): Promise<KubeObject | undefined> =>
    this.find(resourcePath(configMaps, { namespace: this.target.stateNamespace, name: generatorStateName }));

  /** A person approves what is held for that cause. */
  async approve(cause: string): Promise<void> {
    const until = new Date(this.target.epochMs() + 3_600_000).toISOString();
    const text = JSON.stringify({ cause, until, reason: "planned" });
    const path = resourcePath(configMaps, { namespace: this.target.stateNamespace, name: generatorStateName });
    await this.ask("PATCH", path, { metadata: { annotations: { [annotations.approve]: text } } });
  }

  async #codeOfList(): Promise<Answer["code"]> {
    return (await this.target.request("GET", this.path(this.sample.kind.resource))).code;
  }
}

function floorOf(protector: KubeObject | undefined): unknown {
  const isInForce = protector !== undefined && protector.metadata.annotations?.[annotations.released] === undefined;
  return isInForce ? protector.spec?.["minAvailable"] : undefined;
}

export function hasFinalizer(object: KubeObject | undefined): boolean {
  return object?.metadata.finalizers?.includes(finalizer) === true;
}
