/**
 * Finds out how to reach a cluster, and as whom: from a kubeconfig, from the URL of a server, or from the pod that this
 * process runs in. client-node reads the entries of a kubeconfig. What it drops (`tokenFile`, `as-uid`, `as-groups`) is
 * read here. Only its small parser is loaded, not its class KubeConfig:
 * docs/decisions/0012-kubeconfig-by-client-node.md.
 */
import { isIPv6 } from "node:net";
import path from "node:path";
import {
  type Cluster,
  newClusters,
  newContexts,
  newUsers,
  type User,
} from "@kubernetes/client-node/dist/config_types.js";
import { load } from "js-yaml";
import { StartError } from "../../lifecycle/component.ts";
import { readRegularFile } from "../../util/regular-file.ts";
import { maskPasswords } from "../../config/types/address.ts";
import type { ClusterConfig } from "../../config/clusters.ts";
import { AuthProvider } from "./auth-provider.ts";
import { type CredentialPlugin, type Environment, ExecPlugin } from "./exec-plugin.ts";

/** Ten times what a kubeconfig of 100 clusters with certificates inside takes. */
const kubeConfigBytesMax = 4 * 1024 * 1024;
/** Where the kubelet puts the ServiceAccount of a pod. */
const serviceAccountRoot = "/var/run/secrets/kubernetes.io/serviceaccount";

export interface Impersonation {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
}

export interface LoadedKubeConfig {
  /** URL of the API server without a trailing slash. */
  readonly server: string;
  readonly proxyUrl: string | undefined;
  /** What the entries of the context say; the paths of files are absolute. */
  readonly cluster: Pick<Cluster, "caData" | "caFile" | "skipTLSVerify" | "tlsServerName">;
  readonly user: Pick<User, "certData" | "certFile" | "keyData" | "keyFile" | "token" | "username" | "password">;
  /** File that holds the bearer token and is read again when it is rotated. */
  readonly tokenFile: string | undefined;
  readonly impersonation: Impersonation | undefined;
  /** What else has to be asked for credentials. It remembers them, so it lasts as long as this. */
  readonly plugin: CredentialPlugin | undefined;
  /** For messages: `kubeconfig "/path"` or `in-cluster configuration`. */
  readonly origin: string;
}

/** The entries of one context. */
interface Entries {
  readonly cluster: Cluster;
  readonly user: User;
  readonly rawUser: RawUser;
}

/** What of a user entry client-node does not keep. */
interface RawUser {
  readonly tokenFile?: unknown;
  readonly as?: unknown;
  readonly "as-uid"?: unknown;
  readonly "as-groups"?: unknown;
}

const anonymous: User = { name: "anonymous" };

/**
 * Loads what `config` names. Throws a StartError of one line. `inClusterRoot` is put before the paths of the
 * ServiceAccount (tests).
 */
export function loadKubeConfig(config: ClusterConfig, environment: Environment, inClusterRoot = ""): LoadedKubeConfig {
  const origin = originOf(config);
  try {
    return { ...resolve(entriesOf(config, environment, inClusterRoot), config, environment), origin };
  } catch (error) {
    throw startErrorOf(origin, error);
  }
}

function originOf(config: ClusterConfig): string {
  if (config.kubeConfigPath !== "") return `kubeconfig "${config.kubeConfigPath}"`;
  return config.master === "" ? "in-cluster configuration" : `API server "${config.master}"`;
}

/** A StartError of one line that names the file, if one could not be read. */
export function startErrorOf(origin: string, error: unknown): StartError {
  if (error instanceof StartError) return error;
  const { code, path: file, message } = error as NodeJS.ErrnoException;
  const reasons: Readonly<Record<string, string>> = {
    ENOENT: "no such file",
    EACCES: "permission denied",
    EISDIR: "it is a directory",
  };
  const firstLine = message.trim().split("\n", 1)[0] || "failed without saying why";
  if (file === undefined || code === undefined) return new StartError(`${origin}: ${firstLine}`, { cause: error });
  return new StartError(`${origin}: cannot read "${file}": ${reasons[code] ?? firstLine}`, { cause: error });
}

function entriesOf(config: ClusterConfig, environment: Environment, inClusterRoot: string): Entries {
  if (config.kubeConfigPath !== "") return entriesOfFile(config.kubeConfigPath, config.context);
  if (config.master === "") return entriesOfPod(environment, inClusterRoot);
  const cluster = { name: "cluster", server: config.master, skipTLSVerify: false };
  return { cluster, user: anonymous, rawUser: {} };
}

/** The entries of one context of a kubeconfig, by default the current one. */
function entriesOfFile(file: string, chosen: string | undefined): Entries {
  const document = load(readRegularFile(file, kubeConfigBytesMax));
  if (typeof document !== "object" || document === null) throw new Error("it is not a YAML mapping");
  const raw = document as Readonly<Record<"clusters" | "contexts" | "users" | "current-context", unknown>>;
  const [clusters, contexts, users] = [newClusters(raw.clusters), newContexts(raw.contexts), newUsers(raw.users)];

  const context = contexts.find(({ name }) => name === (chosen ?? raw["current-context"]));
  const what = chosen === undefined ? "the current context" : `the context "${chosen}"`;
  if (context === undefined) throw new Error(chosen === undefined ? "it has no current context" : `it lacks ${what}`);
  const cluster = clusters.find(({ name }) => name === context.cluster);
  if (cluster === undefined) throw new Error(`the cluster "${context.cluster}" of ${what} is missing`);
  // Declared as always there, but a context may name no user.
  const userName = context.user as string | undefined;
  const user = userName === undefined ? anonymous : users.find(({ name }) => name === userName);
  if (user === undefined) throw new Error(`the user "${userName}" of ${what} is missing`);

  const root = path.dirname(path.resolve(file));
  const rawUsers = raw.users as readonly { readonly name?: unknown; readonly user?: RawUser | null }[] | undefined;
  const rawUser = rawUsers?.find(({ name }) => name === userName)?.user ?? {};
  return {
    cluster: { ...cluster, ...(cluster.caFile && { caFile: path.resolve(root, cluster.caFile) }) },
    user: {
      ...user,
      ...(user.certFile && { certFile: path.resolve(root, user.certFile) }),
      ...(user.keyFile && { keyFile: path.resolve(root, user.keyFile) }),
    },
    rawUser: {
      ...rawUser,
      ...(typeof rawUser.tokenFile === "string" && { tokenFile: path.resolve(root, rawUser.tokenFile) }),
    },
  };
}

/** Ports on which client-node expects HTTP: a proxy in the pod. */
const inClusterHttpPorts: ReadonlySet<string> = new Set(["80", "8080", "8001"]);

/** The ServiceAccount of the pod. */
function entriesOfPod(environment: Environment, inClusterRoot: string): Entries {
  const host = environment["KUBERNETES_SERVICE_HOST"] ?? "";
  const port = environment["KUBERNETES_SERVICE_PORT"] ?? "";
  if (host === "" || port === "") {
    throw new Error(
      "not running in a Kubernetes pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set), and no " +
        "kubeconfig and no API server URL are given",
    );
  }
  const root = `${inClusterRoot}${serviceAccountRoot}`;
  const scheme = inClusterHttpPorts.has(port) ? "http" : "https";
  const server = `${scheme}://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const cluster = { name: "in-cluster", server, caFile: `${root}/ca.crt`, skipTLSVerify: false };
  return { cluster, user: anonymous, rawUser: { tokenFile: `${root}/token` } };
}

function resolve(
  { cluster, user, rawUser }: Entries,
  config: ClusterConfig,
  environment: Environment,
): Omit<LoadedKubeConfig, "origin"> {
  return {
    server: serverUrl(config.master === "" ? cluster.server : config.master),
    proxyUrl: proxyUrl(cluster.proxyUrl),
    cluster,
    user,
    tokenFile: typeof rawUser.tokenFile === "string" ? rawUser.tokenFile : undefined,
    impersonation: impersonationOf(config, rawUser),
    plugin: pluginOf(user, environment),
  };
}

function serverUrl(text: string): string {
  const full = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new Error(`"${maskPasswords(full)}" is not a URL of an API server`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function proxyUrl(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol)) return text;
  const shown = maskPasswords(text);
  throw new Error(`proxy-url "${shown}" is not an http or https URL (no other proxies are supported)`);
}

function pluginOf(user: User, environment: Environment): CredentialPlugin | undefined {
  const provider = user.authProvider as { readonly config?: { readonly exec?: unknown } | null } | null | undefined;
  // Before `exec` was a field of its own, it was one of a provider.
  const exec: unknown = user.exec ?? provider?.config?.exec;
  if (exec) return new ExecPlugin(exec, environment);
  return provider ? new AuthProvider(provider) : undefined;
}

/**
 * The flags take precedence over the kubeconfig, as a whole: mixing the groups of one with the name of the other would
 * grant too much.
 */
function impersonationOf(config: ClusterConfig, rawUser: RawUser): Impersonation | undefined {
  const { impersonateUsername: username, impersonateUid: uid, impersonateGroups: groups } = config;
  if (username !== "") return { username, uid, groups };
  if (uid !== "" || groups.length > 0) {
    throw new Error(`impersonating a UID or groups needs the user name to impersonate as well`);
  }
  if (typeof rawUser.as !== "string" || rawUser.as === "") return undefined;
  const rawGroups = rawUser["as-groups"];
  return {
    username: rawUser.as,
    uid: typeof rawUser["as-uid"] === "string" ? rawUser["as-uid"] : "",
    groups: Array.isArray(rawGroups) ? rawGroups.filter((group) => typeof group === "string") : [],
  };
}
