/** What the checks are about: facts that readers gather, and findings are made of. Nothing here reads or judges. */
import { type Finding as GateAnswer } from "../../aggregator/audits/gate-question.ts";
import { type WebhookEntry } from "../../aggregator/audits/guarded-namespaces.ts";
import { type CellLease } from "../../api/cell-lease.ts";
import { type Json } from "../../api/json.ts";
import { type Labels } from "../../api/pod.ts";
import { type GeneratorState } from "../../kube/generator-state.ts";
import { type WaitingWorkload } from "../../sources/waiting-deletions.ts";
import { type EpochMicros } from "../../util/clock.ts";
import { type ListedProtectors } from "../fleet/protectors.ts";
import { type ProtectorEvent } from "../fleet/refusals.ts";
import { type ReadyReplicas } from "../fleet/replicas.ts";

/** What was read, or why nothing was, as the end of a sentence: "you may not list leases in podseidon-system". */
export type Reading<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly why: string };

/** A Lease: who holds it, and since when it has not been renewed. */
export interface LeaseFacts {
  /** "" = nobody. */
  readonly holder: string;
  /** By the clock of the holder. */
  readonly renewedAt: EpochMicros | undefined;
  /** The same write by the clock of the API server, in whole seconds; undefined = it does not tell. */
  readonly writtenAt: EpochMicros | undefined;
}

/** Of the kubelet on it, which writes Ready times by the same clock. */
export interface NodeFacts extends LeaseFacts {
  readonly name: string;
}

export interface CellFacts extends LeaseFacts {
  readonly cellID: string;
  readonly lease: CellLease;
}

/** The Leases with the label of heartbeats. */
export interface HeartbeatFacts {
  readonly cells: readonly CellFacts[];
  /** Of the generator that marks silent cells. */
  readonly observer: (LeaseFacts & { readonly productVersion: string | undefined }) | undefined;
  /** When any of these Leases was written last, by anyone; undefined = none ever was. */
  readonly writtenAt?: EpochMicros | undefined;
}

/** A Deployment of Podseidon. */
export interface DeploymentFacts extends ReadyReplicas {
  readonly image: string;
  /** The ServiceAccount that it runs as. */
  readonly account: string;
  /** Of its container, `--flag=value` as `flag` to `value`; the last one of a flag. */
  readonly flags: ReadonlyMap<string, string>;
}

/** What a webhook has written about a certificate, on its Deployment. */
export interface CertificateEvent {
  readonly message: string;
  readonly at: EpochMicros | undefined;
}

/** A right that an account needs, and whether it has it. */
export interface RightFacts {
  readonly account: string;
  /** "get configmaps/podseidon-generator-state in podseidon-system". */
  readonly right: string;
  readonly isGranted: boolean;
}

/** The ValidatingAdmissionPolicies of a cluster. */
export interface PolicyFacts {
  /** Kubernetes below 1.30 has none. */
  readonly isServed: boolean;
  /** Specs, by name. */
  readonly policies: ReadonlyMap<string, Json>;
  /** Specs of what binds them. */
  readonly bindings: readonly Json[];
}

/** Two clocks at about the same moment. */
export interface ClockFacts {
  readonly server: EpochMicros;
  readonly own: EpochMicros;
}

/** A token that another cluster has of an account, as `podseidon install` has noted it. */
export interface TokenFacts {
  readonly account: string;
  /** Undefined = the note cannot be read. */
  readonly validity: { readonly from: EpochMicros; readonly to: EpochMicros } | undefined;
}

export interface CoreFacts {
  readonly name: string;
  /** Its API server, to anything at all. */
  readonly answers: Reading<unknown>;
  readonly clock: Reading<ClockFacts>;
  /** The CustomResourceDefinition as it is; undefined = it is gone. */
  readonly definition: Reading<unknown>;
  readonly protectors: Reading<ListedProtectors>;
  readonly heartbeats: Reading<HeartbeatFacts>;
  /** The Lease of the election; undefined = there is none. */
  readonly generator: Reading<LeaseFacts | undefined>;
  /** Workloads that somebody has deleted, while no generator leads, as far as they can be read. */
  readonly waiting: readonly WaitingWorkload[];
  readonly generatorState: Reading<GeneratorState>;
  readonly deployments: Reading<readonly DeploymentFacts[]>;
  readonly protectorEvents: Reading<readonly ProtectorEvent[]>;
  readonly certificateEvents: Reading<readonly CertificateEvent[]>;
  /** PEM of the authorities that it publishes for caBundle (docs/webhook.md#built-in); undefined = it issues none. */
  readonly published: Reading<string | undefined>;
  /** Namespaces whose label says another mode than enforced: by the mode, their names. */
  readonly modes: Reading<ReadonlyMap<string, readonly string[]>>;
  readonly rights: Reading<readonly RightFacts[]>;
  readonly tokens: Reading<readonly TokenFacts[]>;
  readonly policies: Reading<PolicyFacts>;
}

/** One entry of a ValidatingWebhookConfiguration of ours. */
export interface EntryFacts extends WebhookEntry {
  readonly name: string;
  readonly failurePolicy: string;
  /** The URL, or that of the Service as the API server calls it. */
  readonly url: string;
  readonly isService: boolean;
  /** The last segment of the path. */
  readonly cell: string;
  /** PEM; "" = the API server trusts what its host trusts. */
  readonly caBundle: string;
  /** "DELETE pods", "CREATE pods/eviction", and further ones. */
  readonly rules: readonly string[];
  readonly hasObjectSelector: boolean;
  /** One of those that decide about everybody's deletions. */
  readonly isMain: boolean;
}

/** What a webhook shows to a client that has no certificate. */
export interface ServedFacts {
  /** Whether its certificate fits the URL and the authorities; else why not, in OpenSSL's or Node's words. */
  readonly distrust: string | undefined;
  readonly validFrom: EpochMicros;
  readonly validTo: EpochMicros;
  /** Of an answer; undefined = it closed the connection. 401 = it wants a certificate. */
  readonly status: number | undefined;
}

export type ReadServed =
  | { readonly ok: true; readonly value: ServedFacts }
  /** `isPrivate`: its address is one within a cluster. */
  | { readonly ok: false; readonly why: string; readonly isPrivate?: boolean };

export interface WorkerFacts {
  /** Releases of the webhooks that answered about its dummy pods; earlier ones do not tell. */
  readonly webhookReleases: readonly string[];
  /** As the person calls it: the cell that it is given for, or the name of the core that is its own worker. */
  readonly name: string;
  /** A person has said that it is this cell. */
  readonly isNamed: boolean;
  /** Its API server, to anything at all. */
  readonly answers: Reading<unknown>;
  readonly clock: Reading<ClockFacts>;
  readonly nodes: Reading<readonly NodeFacts[]>;
  /** UID of its namespace kube-system. */
  readonly clusterUID: Reading<string>;
  readonly entries: Reading<readonly EntryFacts[]>;
  /** Labels of all its namespaces, by name. */
  readonly namespaces: Reading<ReadonlyMap<string, Labels>>;
  /** Those of aggregators. */
  readonly deployments: Reading<readonly DeploymentFacts[]>;
  /** By the dummy pod that was asked about. */
  readonly gates: ReadonlyMap<string, GateAnswer | "no pod">;
  /** By URL. */
  readonly served: ReadonlyMap<string, ReadServed>;
  readonly rights: Reading<readonly RightFacts[]>;
  readonly tokens: Reading<readonly TokenFacts[]>;
  readonly policies: Reading<PolicyFacts>;
}

export interface Facts {
  /** When all was read, by the clock of this machine. */
  readonly now: EpochMicros;
  /** Of this program, as roles name theirs: "0.1.0 (commit)". */
  readonly productVersion: string;
  readonly systemNamespace: string;
  readonly cores: readonly CoreFacts[];
  readonly workers: readonly WorkerFacts[];
}
