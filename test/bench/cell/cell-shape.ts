/**
 * What the cells of the benchmark hold: workloads of 20 pods in 100 namespaces, nine of ten of them Deployments, whose
 * pods share their labels, and one a StatefulSet, whose pods have labels of their own. As bytes, so that a server can
 * send as fast as they are read.
 */
import { createTemplate, fill, type Mark, type PodShape, type Template } from "./pod-template.ts";
import { type JsonObject } from "../../double/index.ts";

export const podsOfWorkload = 20;
const namespaces = 100;
/** Every tenth. */
const statefulSetEvery = 10;
const firstVersion = 1_000_000;
/** Of the list: above all pods. */
export const listVersion = 2_000_000;

const workloadOf = (pod: number): number => Math.floor(pod / podsOfWorkload);

const pod: Mark = { text: "@@@@@@", numberOf: (index) => index };
const version: Mark = { text: "$$$$$$$", numberOf: (index) => firstVersion + index };
const workload: Mark = { text: "#####", numberOf: workloadOf };
const namespace: Mark = { text: "^^", numberOf: (index) => workloadOf(index) % namespaces };
/** Of a pod in its workload. */
const ordinal: Mark = { text: "%%", numberOf: (index) => index % podsOfWorkload };
const marks = [pod, version, workload, namespace, ordinal];

const uid = `0a1b2c3d-4e5f-6071-8293-a4b5c6${pod.text}`;
const ofDeployment: PodShape = {
  namespace: `team-${namespace.text}`,
  name: `app-${workload.text}-5d4f8c7b9d-${pod.text}`,
  uid,
  version: version.text,
  labels: { app: `app-${workload.text}`, "pod-template-hash": "5d4f8c7b9d", tier: "frontend", zone: "z1" },
};
const ofStatefulSet: PodShape = {
  ...ofDeployment,
  name: `app-${workload.text}-${pod.text}`,
  labels: {
    app: `app-${workload.text}`,
    "controller-revision-hash": `app-${workload.text}-5d4f8c7b9d`,
    "apps.kubernetes.io/pod-index": ordinal.text,
    "statefulset.kubernetes.io/pod-name": `app-${workload.text}-${pod.text}`,
  },
};

/** A pod's way through a rolling update: from pending over ready to gone. */
const life = ["ADDED", "MODIFIED", "MODIFIED", "MODIFIED", "MODIFIED", "DELETED"] as const;
/** Of several rolling updates at once. */
const podsOfRound = 100;
export const eventsOfRound = podsOfRound * life.length;

interface Shapes {
  readonly deployment: Template;
  readonly statefulSet: Template;
}

function shapesOf(as: "item" | "event"): Shapes {
  return {
    deployment: createTemplate("protobuf", as, ofDeployment, marks),
    statefulSet: createTemplate("protobuf", as, ofStatefulSet, marks),
  };
}

const listed: Readonly<Record<"item" | "event", Shapes>> = { item: shapesOf("item"), event: shapesOf("event") };

/** The pods from `first` on, which is the first of a workload, as items of a list or as events of a WatchList. */
export function podBytes(as: "item" | "event", first: number, count: number): Buffer {
  const parts: Buffer[] = [];
  for (let next = first; next < first + count; next += podsOfWorkload) {
    const { deployment, statefulSet } = listed[as];
    const template = isStateful(workloadOf(next)) ? statefulSet : deployment;
    parts.push(fill(template, next, Math.min(podsOfWorkload, first + count - next)));
  }
  return Buffer.concat(parts);
}

function isStateful(index: number): boolean {
  return index % statefulSetEvery === statefulSetEvery - 1;
}

/** Writes the events of rolling updates in a cell of `pods` pods, one round after the other. */
export class Churn {
  readonly #pods: number;
  readonly #templates: ReadonlyMap<string, Template>;
  #round = 0;
  #version = listVersion;

  constructor(pods: number) {
    this.#pods = pods;
    const present = (index: number): number => index % pods;
    const ofChurn: readonly Mark[] = [
      pod,
      { ...version, numberOf: () => (this.#version += 1) },
      { ...workload, numberOf: (index) => workload.numberOf(present(index)) },
      { ...namespace, numberOf: (index) => namespace.numberOf(present(index)) },
    ];
    this.#templates = new Map(
      life.map((eventType) => [
        eventType,
        createTemplate("protobuf", "event", { ...ofDeployment, eventType }, ofChurn),
      ]),
    );
  }

  /** Of its last event. */
  get version(): number {
    return this.#version;
  }

  /** More pods of the workloads that are there: so many come, change and go. */
  round(): Buffer {
    const first = this.#pods + ((this.#round * podsOfRound) % this.#pods);
    this.#round += 1;
    return Buffer.concat(life.map((eventType) => this.#events(eventType, first, podsOfRound)));
  }

  /** A pod that was listed is gone. */
  gone(index: number): Buffer {
    return this.#events("DELETED", index, 1);
  }

  #events(eventType: (typeof life)[number], first: number, count: number): Buffer {
    return fill(this.#templates.get(eventType)!, first, count);
  }
}

/** A PodProtector for each workload of `pods` pods. */
export function cellProtectors(pods: number): readonly JsonObject[] {
  return Array.from({ length: Math.ceil(pods / podsOfWorkload) }, (_, index) => {
    const { namespace: where, name } = protectorName(index);
    return {
      apiVersion: "podseidon.kubewharf.io/v1alpha1",
      kind: "PodProtector",
      metadata: { namespace: where, name },
      spec: { minAvailable: podsOfWorkload / 2, minReadySeconds: 0, selector: { matchLabels: { app: name } } },
    };
  });
}

export function protectorName(index: number): { readonly namespace: string; readonly name: string } {
  return { namespace: namespaceName(index), name: `app-${String(index).padStart(workload.text.length, "0")}` };
}

/** All namespaces of PodProtectors. */
export function cellNamespaces(): readonly string[] {
  return Array.from({ length: namespaces }, (_, index) => namespaceName(index));
}

function namespaceName(index: number): string {
  return `team-${String(index % namespaces).padStart(namespace.text.length, "0")}`;
}
