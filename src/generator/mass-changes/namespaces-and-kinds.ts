/**
 * What is asked of the core about a source before a change of it is judged: its namespace, and whether its kind, or
 * that of its owner, is still served. Only changes that count cause such questions. The rights are optional: what is
 * forbidden is not known, and is said once.
 * - Releases are held however few they are, of sources whose own kind, or whose owner's kind, is being lost. A CRD that
 *   is deleted takes all its objects with it, with a deletionTimestamp each, and nobody has asked for that
 *   (docs/mass-changes.md#how-many-are-too-many).
 * - Held deletions whose namespace is being deleted too are found: nothing tells of that, and what was a change of its
 *   own becomes a part of the namespace's end (docs/mass-changes.md#terminating-namespaces).
 */
import { type OwnerKind, type SourceRecord } from "../../sources/source.ts";
import { asList, fieldsOf } from "../../api/json.ts";
import { labels } from "../../api/v1alpha1/names.ts";
import { isKubeError, type KubeClient, type Resource, resourcePath } from "../../kube/kube-client.ts";
import { namespaces } from "../../kube/resources.ts";
import { type Clock, later, type MonotonicMs } from "../../util/clock.ts";
import { type Logger } from "../../util/logger.ts";
import { type Counter } from "../../util/metrics.ts";
import { type Cause } from "./change.ts";
import { type JudgedChange } from "./judged-change.ts";
import { type ObjectKey } from "../../api/object-key.ts";
import { Turns } from "../../util/turns.ts";

export interface NamespaceFacts {
  readonly uid: string;
  /** Its changes never count. */
  readonly isExempt: boolean;
  readonly isTerminating: boolean;
}

export interface NamespacesAndKindsOptions {
  readonly core: KubeClient;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Questions that were not answered, by `error`. */
  readonly failures: Counter;
}

const crds: Resource = { group: "apiextensions.k8s.io", version: "v1", resource: "customresourcedefinitions" };
/** A burst asks once for each namespace and owner. Shorter than the delay before a change is judged. */
const rememberMs = 1_500;
/** Bounds the memory; far more namespaces than burst within that time. */
const answersMax = 10_000;

interface Answer<T> {
  readonly value: Promise<T>;
  readonly untilMs: MonotonicMs;
}

export class NamespacesAndKinds {
  readonly #options: NamespacesAndKindsOptions;
  readonly #namespaces = new Map<string, Answer<NamespaceFacts | undefined>>();
  readonly #owners = new Map<string, Answer<boolean>>();
  readonly #told = new Set<string>();

  constructor(options: NamespacesAndKindsOptions) {
    this.#options = options;
  }

  /** Undefined = not known. Rejects with a KubeError when there is no answer. */
  namespace(name: string, signal: AbortSignal): Promise<NamespaceFacts | undefined> {
    return this.#remembered(this.#namespaces, name, async () => {
      const raw = await this.#get(resourcePath(namespaces, { name }), "namespaces", signal);
      if (raw === undefined || raw === "absent") return undefined;
      const { uid, labels: own, deletionTimestamp } = fieldsOf(fieldsOf(raw)["metadata"]);
      return {
        uid: String(uid),
        isExempt: fieldsOf(own)[labels.massChanges] === "allow",
        isTerminating: deletionTimestamp !== undefined && deletionTimestamp !== null,
      };
    });
  }

  /** Whether the API server no longer serves this kind, or its CRD is being deleted. Rejects with a KubeError. */
  isLost(owner: OwnerKind, signal: AbortSignal): Promise<boolean> {
    const { apiVersion, kind } = owner;
    return this.#remembered(this.#owners, `${kind}.${apiVersion}`, async () => {
      const root = apiVersion.includes("/") ? "/apis" : "/api";
      const path = `${root}/${apiVersion.split("/").map(encodeURIComponent).join("/")}`;
      const list = await this.#get(path, "API groups", signal);
      if (list === undefined) return false;
      if (list === "absent") return true;
      const resources = asList(fieldsOf(list)["resources"]).map(fieldsOf);
      const served = resources.find(({ kind: one, name }) => one === kind && !String(name).includes("/"));
      if (served === undefined) return true;
      const [group = "", version] = apiVersion.split("/");
      // Only groups with a dot have CRDs.
      if (version === undefined || !group.includes(".")) return false;
      const name = `${String(served["name"])}.${group}`;
      const crd = await this.#get(resourcePath(crds, { name }), "CustomResourceDefinitions", signal);
      if (crd === undefined || crd === "absent") return false; // forbidden, or served by another API server
      const { deletionTimestamp } = fieldsOf(fieldsOf(crd)["metadata"]);
      return deletionTimestamp !== undefined && deletionTimestamp !== null;
    });
  }

  /** The answer; "absent" for 404, undefined when there will be none. */
  async #get(path: string, what: string, signal: AbortSignal): Promise<unknown> {
    const { core, failures, logger } = this.#options;
    try {
      return await core.request({ method: "GET", path, signal });
    } catch (error) {
      if (isKubeError(error, "notFound")) return "absent";
      // An aggregated API server may be down for ever: its kinds are not known then, and nobody waits for it.
      const isUnknown = isKubeError(error, "forbidden", "unauthorized") || isOfAnother(path, error);
      if (!isKubeError(error) || !isUnknown) throw error;
      failures.inc({ error: error.kind });
      if (!this.#told.has(what)) {
        this.#told.add(what);
        logger.warn(`Cannot read ${what}: mass changes are judged without them`, { err: error });
      }
      return undefined;
    }
  }

  async #remembered<T>(answers: Map<string, Answer<T>>, key: string, ask: () => Promise<T>): Promise<T> {
    const nowMs = this.#options.clock.monotonicMs();
    const known = answers.get(key);
    if (known !== undefined && nowMs < known.untilMs) return await known.value;
    if (answers.size >= answersMax) answers.clear();
    const answer = { value: ask(), untilMs: later(nowMs, rememberMs) };
    answers.set(key, answer);
    try {
      return await answer.value;
    } catch (error) {
      if (answers.get(key) === answer) answers.delete(key);
      throw error;
    }
  }
}

function isOfAnother(path: string, error: unknown): boolean {
  return /^\/apis\/[^/]+\/[^/]+$/.test(path) && isKubeError(error, "serverError");
}

type Questions = Pick<NamespacesAndKinds, "isLost">;

const prefix = "kind/";

/** The cause of a release while the source's own kind is being lost; undefined = it is not. As `isLost`. */
export async function causeOfLostKind(
  { kind }: SourceRecord,
  questions: Questions,
  signal: AbortSignal,
): Promise<Cause | undefined> {
  const { group } = kind.resource;
  // Only groups with a dot have CRDs: what is built in cannot be lost.
  if (!group.includes(".") || !(await questions.isLost(kind, signal))) return undefined;
  return { text: `${prefix}${kind.kind}.${group}`, isHalfTooMany: true };
}

/** Whether the kind of the source or of its owner is being lost. As `isLost`. */
export async function isOfLostKind(source: SourceRecord, questions: Questions, signal: AbortSignal): Promise<boolean> {
  if ((await causeOfLostKind(source, questions, signal)) !== undefined) return true;
  return source.owner !== undefined && (await questions.isLost(source.owner, signal));
}

/** Whether that is what the cause says. */
export function isLostKind(cause: string): boolean {
  return cause.startsWith(prefix);
}

/** Namespaces in a round: two requests a second, when a disaster holds deletions in thousands of them. */
const askedMax = 10;

export class EndingNamespaces {
  readonly #questions: Pick<NamespacesAndKinds, "namespace">;
  readonly #turns = new Turns(askedMax);

  constructor(questions: Pick<NamespacesAndKinds, "namespace">) {
    this.#questions = questions;
  }

  /** Which of the changes are to be judged anew; call it now and then. Never throws KubeErrors. */
  async among(changes: ReadonlyMap<ObjectKey, JudgedChange>, signal: AbortSignal): Promise<readonly ObjectKey[]> {
    const held = [...changes.values()].filter(isHeldDeletion).map(namespaceOf);
    const ending = new Set<string>();
    for (const namespace of this.#turns.next(held)) if (await this.#isEnding(namespace, signal)) ending.add(namespace);
    // Meanwhile they may have been approved.
    const due = [...changes].filter(([, change]) => isHeldDeletion(change) && ending.has(namespaceOf(change)));
    return due.map(([key]) => key);
  }

  async #isEnding(namespace: string, signal: AbortSignal): Promise<boolean> {
    try {
      return (await this.#questions.namespace(namespace, signal))?.isTerminating === true;
    } catch (error) {
      if (!isKubeError(error)) throw error;
      return false;
    }
  }
}

function isHeldDeletion({ state, change, terminatingNamespace }: JudgedChange): boolean {
  return state === "held" && change.to === undefined && terminatingNamespace === undefined;
}

function namespaceOf({ source }: JudgedChange): string {
  return source.namespace;
}
