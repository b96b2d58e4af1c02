/**
 * What one cluster gets to work in another: a kubeconfig, and a token of an account there that ends. Both are in a
 * Secret, and are read again when it changes; so a renewal is to run the step again.
 */
import path from "node:path";
import { dump } from "js-yaml";
import { fieldsOf, type Json } from "../../api/json.ts";
import { formatWholeSeconds } from "../../api/micro-time.ts";
import { annotations } from "../../api/v1alpha1/names.ts";
import { serverOf } from "../../config/kubeconfig-contexts.ts";
import { Problem } from "../../config/reading/problem.ts";
import { quote } from "../../config/types/value-type.ts";
import { type Resource, resourcePath } from "../../kube/kube-client.ts";
import { findContext, readKubeconfigs } from "../clusters/kubeconfig.ts";
import { type Reading, reading } from "../clusters/reading.ts";
import { type CommandSurroundings } from "../command.ts";
import { apply, readObject, type Site, type Step } from "./apply.ts";
import { systemNamespace } from "./objects.ts";
import { base64, secretWith } from "./settings.ts";

/** Where an API server is, for another cluster. */
export interface ServerAddress {
  readonly server: string;
  /** PEM; undefined = what kube-root-ca.crt of that cluster says. */
  readonly authority: string | undefined;
}

export interface HandOver {
  readonly title: string;
  /** The cluster with the account. */
  readonly from: Site;
  readonly account: string;
  readonly address: ServerAddress;
  /** The cluster that gets the Secret. */
  readonly to: Site;
  readonly secret: string;
  readonly key: string;
  readonly tokenKey: string;
  readonly seconds: number;
}

const serviceAccounts: Resource = { group: "", version: "v1", resource: "serviceaccounts" };
const authorityBytesMax = 1024 * 1024;

/** `given`: the address that an option names. */
export function readAddress(
  kubeconfig: string | undefined,
  context: string | undefined,
  given: string | undefined,
  reads: Pick<CommandSurroundings, "environment" | "readFile">,
): ServerAddress | Problem {
  const files = readKubeconfigs(kubeconfig, reads);
  if (files instanceof Problem) return files;
  const found = findContext(files, context);
  if (found instanceof Problem) return found;
  const read = serverOf(reads.readFile(found.file, 4 * authorityBytesMax), found.context);
  if (read === undefined) return new Problem(`the context ${quote(found.context)} names no cluster with a server`);
  const server = given ?? read.server;
  if (!server.startsWith("https://"))
    return new Problem(`the context ${quote(found.context)} has the server ${quote(server)}: it is no https URL`);
  if (read.authorityData !== undefined)
    return { server, authority: Buffer.from(read.authorityData, "base64").toString("utf8") };
  if (read.authorityFile === undefined) return { server, authority: undefined };
  const file = path.resolve(path.dirname(found.file), read.authorityFile);
  try {
    return { server, authority: reads.readFile(file, authorityBytesMax) };
  } catch {
    return new Problem(`the context ${quote(found.context)} has the authority ${quote(file)}, which cannot be read`);
  }
}

/** Whether only the machine of the person reaches it, as clusters for trials have it. */
export function isOfThisMachine({ server }: ServerAddress): boolean {
  const host = URL.parse(server)?.hostname ?? "";
  return host === "localhost" || host === "[::1]" || host.startsWith("127.");
}

export function handOverStep(handOver: HandOver): Step {
  const { title, from, account, address, to, secret, seconds } = handOver;
  const place = `${systemNamespace}/${secret}`;
  const kubeconfig = `a kubeconfig for ${address.server} and a token of ${account} for ${hoursText(seconds)}`;
  const changes = [
    `${to.client.cluster}: Secret ${place} gets ${kubeconfig}`,
    ...(isOfThisMachine(address)
      ? [`mind that ${address.server} is an address of this machine: ${optionFor(handOver)} names another one`]
      : []),
  ];
  return {
    title,
    plan: () => Promise.resolve({ changes, unseen: [] }),
    async run(tell) {
      const authority = await authorityOf(from, address);
      if (!authority.ok) return authority.problem;
      const token = await requestToken(from, account, seconds);
      if (!token.ok) return token.problem;
      const done = await apply(to, secretOf(handOver, authority.value, token.value.token));
      if (!done.ok) return done.problem;
      const noted = await apply(from, accountWith(account, from, token.value.ends));
      if (!noted.ok) return noted.problem;
      tell(`the token of ${account} ends ${token.value.ends}; to renew it, run this again before`);
      return undefined;
    },
  };
}

function optionFor({ secret, key }: HandOver): string {
  return secret.includes("core") && key === "kubeconfig" ? "--core-server" : "--worker-server";
}

function hoursText(seconds: number): string {
  return seconds % 3_600 === 0 ? `${seconds / 3_600} h` : `${Math.floor(seconds / 60)} min`;
}

async function authorityOf(from: Site, { authority }: ServerAddress): Promise<Reading<string>> {
  if (authority !== undefined) return { ok: true, value: authority };
  const name = "kube-root-ca.crt";
  const named = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: systemNamespace, name } };
  const read = await readObject(from, named);
  if (!read.ok) return read;
  const text = fieldsOf(read.value?.["data"])["ca.crt"];
  // Without one, the usual authorities of the Internet are trusted.
  return { ok: true, value: typeof text === "string" ? text : "" };
}

interface Token {
  readonly token: string;
  /** As the API server says it. */
  readonly ends: string;
}

async function requestToken({ client, signal }: Site, account: string, seconds: number): Promise<Reading<Token>> {
  const at = { namespace: systemNamespace, name: account, subresource: "token" };
  const access = {
    cluster: client.cluster,
    verb: "create",
    resource: serviceAccounts,
    ...at,
    role: "cluster-admin",
  } as const;
  const read = await reading(access, () =>
    client.request({
      method: "POST",
      path: resourcePath(serviceAccounts, at),
      body: {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: { expirationSeconds: seconds },
      },
      signal,
    }),
  );
  if (!read.ok) return read;
  const { token, expirationTimestamp } = fieldsOf(fieldsOf(read.value)["status"]);
  return { ok: true, value: { token: String(token), ends: String(expirationTimestamp) } };
}

/** Whoever may list accounts, and read no Secret, sees when the token ends: `podseidon check` tells. */
function accountWith(name: string, { clock }: Site, ends: string): Json {
  const validity = `${formatWholeSeconds(clock.epochMicros())}/${ends}`;
  const metadata = { name, namespace: systemNamespace, annotations: { [annotations.handedToken]: validity } };
  return { apiVersion: "v1", kind: "ServiceAccount", metadata };
}

function secretOf({ address, secret, key, tokenKey }: HandOver, authority: string, token: string): Json {
  const kubeconfig = dump({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "podseidon",
    clusters: [
      {
        name: "podseidon",
        cluster: {
          server: address.server,
          ...(authority !== "" && { "certificate-authority-data": base64(authority) }),
        },
      },
    ],
    // Beside it in the same Secret.
    users: [{ name: "podseidon", user: { tokenFile: tokenKey } }],
    contexts: [{ name: "podseidon", context: { cluster: "podseidon", user: "podseidon" } }],
  });
  return secretWith(secret, { [key]: base64(kubeconfig), [tokenKey]: base64(token) });
}
