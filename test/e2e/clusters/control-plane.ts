/** The command lines of the control plane: what each program of a test cluster is started with, and why. */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";

/** A user of the API server's token file. */
export interface ClusterUser {
  readonly name: string;
  readonly token: string;
  readonly groups: readonly string[];
}

/** Where a cluster keeps its files. */
export interface ClusterFiles {
  readonly directory: string;
  readonly etcdData: string;
  readonly certificates: string;
  /** Self-signed by the API server: its own certificate, then the authority. */
  readonly caFile: string;
  readonly tokens: string;
  readonly serviceAccountKey: string;
  readonly serviceAccountPublicKey: string;
  readonly auditPolicy: string;
  /** One JSON object a line: what `auditPolicy` asks for. */
  readonly auditLog: string;
}

export function clusterFiles(directory: string): ClusterFiles {
  return {
    directory,
    etcdData: path.join(directory, "etcd"),
    certificates: path.join(directory, "certificates"),
    caFile: path.join(directory, "certificates", "apiserver.crt"),
    tokens: path.join(directory, "tokens.csv"),
    serviceAccountKey: path.join(directory, "service-account.key"),
    serviceAccountPublicKey: path.join(directory, "service-account.pub"),
    auditPolicy: path.join(directory, "audit-policy.json"),
    auditLog: path.join(directory, "logs", "audit.log"),
  };
}

/**
 * What Podseidon's own accounts ask for, which is what tells whether their rights are enough, and not too many; and who
 * deletes pods, with the webhook's own annotations.
 */
const auditPolicy = {
  apiVersion: "audit.k8s.io/v1",
  kind: "Policy",
  omitStages: ["RequestReceived"],
  rules: [
    { level: "Metadata", userGroups: ["system:serviceaccounts:podseidon-system"] },
    { level: "Metadata", verbs: ["delete", "deletecollection"], resources: [{ group: "", resources: ["pods"] }] },
    { level: "Metadata", verbs: ["create"], resources: [{ group: "", resources: ["pods/eviction"] }] },
    { level: "None" },
  ],
};

/** The names by which Kubernetes' own roles know these programs. */
export const controllerManagerUser = "system:kube-controller-manager";
export const schedulerUser = "system:kube-scheduler";

/** The API server reads it at its start only. */
export function writeTokens(files: ClusterFiles, users: readonly ClusterUser[]): void {
  const lines = users.map((user) => `${user.token},${user.name},${user.name},"${user.groups.join(",")}"\n`);
  writeFileSync(files.tokens, lines.join(""), { mode: 0o600 });
}

/** Writes the token file, the key pair that signs ServiceAccount tokens (TokenRequest), and the audit policy. */
export function writeClusterFiles(files: ClusterFiles, users: readonly ClusterUser[]): void {
  mkdirSync(files.directory, { recursive: true });
  writeTokens(files, users);
  const keys = generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "sec1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
  writeFileSync(files.serviceAccountKey, keys.privateKey, { mode: 0o600 });
  writeFileSync(files.serviceAccountPublicKey, keys.publicKey);
  writeFileSync(files.auditPolicy, JSON.stringify(auditPolicy));
}

export function etcdArgs(files: ClusterFiles, clientPort: number, quotaBytes = 0): readonly string[] {
  return [
    `--data-dir=${files.etcdData}`,
    `--listen-client-urls=http://127.0.0.1:${clientPort}`,
    `--advertise-client-urls=http://127.0.0.1:${clientPort}`,
    "--listen-peer-urls=http://127.0.0.1:0", // a single member has no peers
    "--unsafe-no-fsync", // nothing has to survive a power cut
    "--log-level=warn",
    `--quota-backend-bytes=${quotaBytes}`, // 0 = the default
  ];
}

export interface ApiServerOptions {
  readonly port: number;
  readonly etcdPort: number;
  /** Added to the default ones. */
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
}

export function apiServerArgs(files: ClusterFiles, options: ApiServerOptions): readonly string[] {
  const plugins = (flag: string, names: readonly string[]): string[] =>
    names.length === 0 ? [] : [`--${flag}=${names.join(",")}`];
  return [
    `--etcd-servers=http://127.0.0.1:${options.etcdPort}`,
    "--bind-address=127.0.0.1",
    `--secure-port=${options.port}`,
    `--cert-dir=${files.certificates}`,
    `--token-auth-file=${files.tokens}`,
    "--authorization-mode=RBAC",
    `--audit-policy-file=${files.auditPolicy}`,
    `--audit-log-path=${files.auditLog}`,
    ...plugins("enable-admission-plugins", options.enableAdmissionPlugins),
    ...plugins("disable-admission-plugins", options.disableAdmissionPlugins),
    "--service-account-issuer=https://kubernetes.default.svc",
    `--service-account-key-file=${files.serviceAccountPublicKey}`,
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    "--service-cluster-ip-range=10.0.0.0/24",
    "--endpoint-reconciler-type=none", // a loopback address is no valid endpoint
    "--allow-privileged=true",
    "--profiling=false",
  ];
}

/**
 * What the cases need: workloads that make pods, their clean-up, ServiceAccounts, PodDisruptionBudgets. Node life cycle
 * and pod garbage collection are left out: they would act on nodes that have no kubelet.
 */
export const defaultControllers: readonly string[] = [
  "deployment-controller",
  "replicaset-controller",
  "statefulset-controller",
  "garbage-collector-controller",
  "namespace-controller",
  "serviceaccount-controller",
  "disruption-controller",
];

export function controllerManagerArgs(
  kubeconfig: string,
  files: ClusterFiles,
  controllers: readonly string[],
): readonly string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--controllers=${controllers.join(",")}`,
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    // Each controller is a ServiceAccount of its own, as in every cluster that kubeadm makes: webhooks and audit logs
    // see its name.
    "--use-service-account-credentials",
    "--leader-elect=false",
    "--secure-port=0",
    "--profiling=false",
  ];
}

export function schedulerArgs(kubeconfig: string): readonly string[] {
  return [`--kubeconfig=${kubeconfig}`, "--leader-elect=false", "--secure-port=0", "--profiling=false"];
}
