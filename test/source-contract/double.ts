/** The API double as a target: a core of its own with its generator, on a virtual clock. */
import { resourcePath } from "../../src/kube/kube-client.ts";
import { type KubeObject, handleRest, systemAdmin } from "../double/index.ts";
import { createCore, type GeneratorProcess } from "../unit/generator/core-cluster.ts";
import { type SourceSample } from "./samples.ts";
import { type Target } from "./target.ts";

const secondMs = 1_000;
const isGuarded = { matchExpressions: [{ key: "guard", operator: "NotIn", values: ["no"] }] } as const;

export interface DoubleOptions {
  /** Kinds that the generator works for. */
  readonly samples: readonly SourceSample[];
  readonly massChanges: "hold" | "allow";
  readonly hasCrds: boolean;
}

export interface DoubleTarget {
  readonly target: Target;
  /** The one that runs now. */
  readonly generator: () => GeneratorProcess;
  stop(): Promise<void>;
}

/** A core with a generator that leads. */
export async function startDoubleTarget({ samples, massChanges, hasCrds }: DoubleOptions): Promise<DoubleTarget> {
  const core = await createCore();
  const { engine, clock } = core;
  for (const { crd } of samples) if (hasCrds && crd !== undefined) await engine.installCrd(crd);
  const sources = [...new Set(["deployments.apps" as const, ...samples.map(({ id }) => id)])];
  const ids = massChanges === "hold" ? sources : samples.map(({ id }) => id);
  const options = {
    sources: ids,
    rule: { sourceSelector: isGuarded },
    massChanges: { policy: massChanges, allow: [] },
  };
  const generators: GeneratorProcess[] = [];
  const generator = (): GeneratorProcess => generators.at(-1)!;
  const start = async (): Promise<void> => {
    generators.push(core.startGenerator({ protectionSelector: isGuarded }, options));
    await generator().ready();
  };
  const typeOf = ({ kind: { resource } }: SourceSample) =>
    engine.registry.all().find((one) => one.group === resource.group && one.resource === resource.resource)!;
  await start();
  const target: Target = {
    namespace: "default",
    stateNamespace: "default",
    async request(method, path, body) {
      const contentType = method === "PATCH" ? "application/merge-patch+json" : "application/json";
      const call = { method, path, query: new URLSearchParams(), contentType, body };
      const answer = await handleRest(engine, undefined, { ...call, caller: systemAdmin, userAgent: "kubectl" });
      if (answer.kind !== "json") throw new Error(`${method} ${path}: no JSON`);
      return { code: answer.code, body: JSON.parse(answer.text) };
    },
    wait: () => clock.advance(secondMs),
    waits: { soon: 10, late: 180, unchanged: 30 },
    epochMs: () => clock.epochMicros() / 1_000,
    async erase(objects: readonly KubeObject[], of) {
      // Of a kind without finalizers, whoever watches cannot tell it from a deletion.
      const isUnseen = of !== "PodProtectors" && of.kind.isNeverWritten === true;
      if (isUnseen) generator().client.dropWatches();
      const type = of === "PodProtectors" ? core.protectorType : typeOf(of);
      for (const { metadata } of objects) engine.erase(type, metadata.namespace, metadata.name);
      if (isUnseen) engine.forgetHistory();
    },
    async whileAway(job) {
      await generator().stop();
      await job();
      await start();
    },
    inTurn: (job) => job(),
    async errors() {
      const lines = generators.flatMap((one) => one.errors()).map((one) => JSON.stringify(one));
      return lines.filter((line) => line.includes('"default/'));
    },
    manyCount: 100,
  };
  return { target, generator, stop: () => generator().stop() };
}

/** Single objects of the kind that the generator has read, their scales left out. */
export function readsOf({ generator }: DoubleTarget, { kind }: SourceSample): number {
  const collection = resourcePath(kind.resource, { namespace: "default" });
  return generator().client.log.filter((line) => {
    return line.startsWith(`GET ${collection}/`) && !line.endsWith("/scale");
  }).length;
}
