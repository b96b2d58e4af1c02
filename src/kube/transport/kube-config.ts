/**
 * Loads a kubeconfig, or the ServiceAccount of the own pod, with client-node, and closes the gaps of client-node 2.0.1:
 * it ignores the standard `tokenFile`, `as-uid` and `as-groups`, leaves the line break at the end of an in-cluster
 * token, tells exec plugins nothing (KUBERNETES_EXEC_INFO), ignores the cluster's CA when there is no user, and refuses
 * http servers.
 */
import path from "node:path";
import { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { load } from "js-yaml";
import { StartError } from "../../lifecycle/component.ts";
import { readRegularFile } from "../../util/regular-file.ts";
import type { ClusterConfig } from "../../config/config.ts";
import { superviseExecPlugin, type ExecPlugin } from "./exec-plugin.ts";

/** Ten times what a kubeconfig of 100 clusters with certificates inside takes. */
const kubeConfigBytesMax = 4 * 1024 * 1024;

export interface Impersonation {
  readonly username: string;
  readonly uid: string;
  readonly groups: readonly string[];
}

export interface LoadedKubeConfig {
  readonly kubeConfig: KubeConfig;
  /** URL of the API server without a trailing slash. */
  readonly server: string;
  readonly proxyUrl: string | undefined;
  /** File that holds the bearer token and is read again when it is rotated. */
  readonly tokenFile: string | undefined;
  readonly impersonation: Impersonation | undefined;
  /** Runs when `kubeConfig` needs new credentials and the user has one. */
  readonly plugin: ExecPlugin;
  /** For messages: `kubeconfig "/path"` or `in-cluster configuration`. */
  readonly origin: string;
}

/** What of a user entry client-node does not keep. */
interface RawUser {
  readonly tokenFile?: unknown;
  readonly as?: unknown;
  readonly "as-uid"?: unknown;
  readonly "as-groups"?: unknown;
}

/**
 * Loads what `config` names. Throws a StartError of one line. `inClusterRoot` is put before the paths of the
 * ServiceAccount (tests).
 */
export function loadKubeConfig(config: ClusterConfig, inClusterRoot = ""): LoadedKubeConfig {
  const origin = originOf(config);
  try {
    const { kubeConfig, rawUser } = loadFrom(config, inClusterRoot);
    return { ...complete(kubeConfig, rawUser, config), origin };
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

function loadFrom(config: ClusterConfig, inClusterRoot: string): { kubeConfig: KubeConfig; rawUser: RawUser } {
  const kubeConfig = new KubeConfig();
  if (config.kubeConfigPath !== "") {
    const text = readRegularFile(config.kubeConfigPath, kubeConfigBytesMax);
    const document = load(text);
    if (typeof document !== "object" || document === null) throw new Error("it is not a YAML mapping");
    kubeConfig.loadFromString(text);
    const root = path.dirname(path.resolve(config.kubeConfigPath));
    kubeConfig.makePathsAbsolute(root);
    return { kubeConfig, rawUser: rawUserOf(document, kubeConfig, root) };
  }
  if (config.master !== "") {
    kubeConfig.loadFromClusterAndUser(
      { name: "cluster", server: config.master, skipTLSVerify: false },
      { name: "anonymous" },
    );
    return { kubeConfig, rawUser: {} };
  }
  kubeConfig.loadFromCluster(inClusterRoot);
  // client-node builds the URL of the two variables without looking whether they are set.
  if (kubeConfig.getCurrentCluster()?.server.includes("undefined") !== false) {
    throw new Error(
      "not running in a Kubernetes pod (KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set), and no kubeconfig and no API server URL are given",
    );
  }
  const tokenFile: unknown = kubeConfig.getCurrentUser()?.authProvider?.config?.tokenFile;
  return { kubeConfig, rawUser: { tokenFile } };
}

/** The current user's entry as it stands in the file, its token path made absolute. */
function rawUserOf(document: object, kubeConfig: KubeConfig, root: string): RawUser {
  const name = kubeConfig.getCurrentUser()?.name;
  const { users } = document as { users?: readonly { readonly name?: unknown; readonly user?: RawUser | null }[] };
  const user = users?.find((entry) => entry.name === name)?.user ?? {};
  return typeof user.tokenFile === "string" ? { ...user, tokenFile: path.resolve(root, user.tokenFile) } : user;
}

function complete(kubeConfig: KubeConfig, rawUser: RawUser, config: ClusterConfig): Omit<LoadedKubeConfig, "origin"> {
  const context = kubeConfig.getContextObject(kubeConfig.getCurrentContext());
  if (context === null) throw new Error(`it has no current context`);
  const cluster = kubeConfig.getCurrentCluster();
  if (cluster === null) throw new Error(`the cluster "${context.cluster}" of the current context is missing`);
  if (context.user === undefined) {
    (context as { user: string }).user = "anonymous";
    kubeConfig.addUser({ name: "anonymous" });
  }
  const user = kubeConfig.getCurrentUser();
  if (user === null) throw new Error(`the user "${context.user}" of the current context is missing`);

  // The interface of client-node declares these fields read-only; we hold the only copy.
  const writableCluster = cluster as { server: string; skipTLSVerify: boolean };
  if (config.master !== "") writableCluster.server = config.master;
  if (!writableCluster.server.includes("://")) writableCluster.server = `http://${writableCluster.server}`;
  const server = serverUrl(writableCluster.server);
  if (server.startsWith("http:")) writableCluster.skipTLSVerify = true;
  const tokenFile = typeof rawUser.tokenFile === "string" ? rawUser.tokenFile : undefined;
  const writableUser = user as { authProvider?: unknown; token?: unknown; exec?: unknown; impersonateUser?: unknown };
  if (tokenFile !== undefined) {
    // The file is read here, and its content goes before a token in the kubeconfig, as in client-go.
    delete writableUser.authProvider;
    delete writableUser.token;
  }
  delete writableUser.impersonateUser;
  if (user.exec) writableUser.exec = describeToPlugin(user.exec);
  return {
    kubeConfig,
    server,
    proxyUrl: proxyUrl(cluster.proxyUrl),
    tokenFile,
    impersonation: impersonationOf(config, rawUser),
    plugin: superviseExecPlugin(kubeConfig),
  };
}

function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !["http:", "https:"].includes(url.protocol)) {
    throw new Error(`"${text}" is not a URL of an API server`);
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
}

function proxyUrl(text: string | undefined): string | undefined {
  if (text === undefined || text === "") return undefined;
  if (URL.canParse(text) && ["http:", "https:"].includes(new URL(text).protocol)) return text;
  throw new Error(`proxy-url "${text}" is not an http or https URL (no other proxies are supported)`);
}

/** Plugins of large providers refuse to run without this variable (client authentication API of Kubernetes). */
function describeToPlugin(exec: { apiVersion?: string; env?: { name: string; value: string }[] | null }): unknown {
  const info = {
    apiVersion: exec.apiVersion ?? "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    spec: { interactive: false },
  };
  return { ...exec, env: [...(exec.env ?? []), { name: "KUBERNETES_EXEC_INFO", value: JSON.stringify(info) }] };
}

/**
 * The flags go before the kubeconfig, as a whole: mixing the groups of one with the name of the other would grant too
 * much.
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
