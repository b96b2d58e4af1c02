import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { type ServerResponse } from "node:http";
import path from "node:path";
import { type TLSSocket } from "node:tls";
import { test } from "node:test";
import { isKubeError } from "../../../../src/kube/kube-client.ts";
import { createCredentialSource } from "../../../../src/kube/transport/credentials.ts";
import type { ClusterConfig } from "../../../../src/config/clusters.ts";
import { StartError } from "../../../../src/lifecycle/component.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { plainCluster } from "../../../support/cluster-config.ts";
import { type Authority, createAuthority } from "../../server/certificates.ts";
import { temporaryFolder, writeKubeConfig, type Context } from "./kubeconfigs.ts";
import { connectBy, sendJson, startLoopbackServer } from "./loopback-server.ts";

async function headersFor(t: Context, user: object | undefined, change: Partial<ClusterConfig> = {}) {
  const file = writeKubeConfig(temporaryFolder(t), { server: "http://127.0.0.1:1" }, user);
  const source = await createCredentialSource(
    { ...plainCluster, kubeConfigPath: file, ...change },
    { clock: createVirtualClock(), logger: silentLogger },
  );
  return (await source.current()).headers;
}

test("token, basic and no credentials", async (t) => {
  assert.deepEqual(await headersFor(t, { token: "secret" }), { authorization: "Bearer secret" });
  assert.deepEqual(await headersFor(t, { username: "me", password: "pw" }), {
    authorization: `Basic ${btoa("me:pw")}`,
  });
  assert.deepEqual(await headersFor(t, {}), {});
  assert.deepEqual(await headersFor(t, undefined), {});
});

test("impersonation in flags takes precedence over that in the kubeconfig, as a whole", async (t) => {
  const user = { token: "x", as: "file-user", "as-uid": "7", "as-groups": ["g1", "g2"] };
  assert.deepEqual(await headersFor(t, user), {
    authorization: "Bearer x",
    "impersonate-user": "file-user",
    "impersonate-uid": "7",
    "impersonate-group": ["g1", "g2"],
  });
  assert.deepEqual(await headersFor(t, user, { impersonateUsername: "flag-user" }), {
    authorization: "Bearer x",
    "impersonate-user": "flag-user",
  });
});

test("a token takes precedence over a plugin, a token file over both, and each over a password", async (t) => {
  const exec = { command: process.execPath, args: ["-e", 'console.log(\'{"status":{"token":"plugin"}}\')'] };
  const password = { username: "me", password: "pw" };
  const folder = temporaryFolder(t);
  const tokenFile = path.join(folder, "token");
  writeFileSync(tokenFile, "file");
  assert.deepEqual(await headersFor(t, { ...password, exec }), { authorization: "Bearer plugin" });
  assert.deepEqual(await headersFor(t, { ...password, exec, token: "secret" }), { authorization: "Bearer secret" });
  assert.deepEqual(await headersFor(t, { ...password, exec, token: "secret", tokenFile }), {
    authorization: "Bearer file",
  });
});

test("an exec plugin is run with its description, and its token is used", async (t) => {
  const script =
    "const { kind, apiVersion } = JSON.parse(process.env.KUBERNETES_EXEC_INFO);" +
    'console.log(JSON.stringify({ status: { token: kind + "-" + apiVersion } }))';
  const exec = { apiVersion: "client.authentication.k8s.io/v1", command: process.execPath, args: ["-e", script] };
  assert.deepEqual(await headersFor(t, { exec }), {
    authorization: "Bearer ExecCredential-client.authentication.k8s.io/v1",
  });
});

test("credentials are loaded again after a refresh that could not read the kubeconfig", async (t) => {
  const folder = temporaryFolder(t);
  writeFileSync(path.join(folder, "token"), "first");
  const kubeConfigPath = writeKubeConfig(folder, { server: "http://127.0.0.1:1" }, { tokenFile: "token" });
  const kubeConfig = readFileSync(kubeConfigPath);
  const clock = createVirtualClock();
  const source = await createCredentialSource({ ...plainCluster, kubeConfigPath }, { clock, logger: silentLogger });
  const first = await source.current();
  rmSync(kubeConfigPath);
  assert.equal(await source.refresh(first), false);
  writeFileSync(kubeConfigPath, kubeConfig);
  writeFileSync(path.join(folder, "token"), "second");
  await clock.advance(10_000);
  assert.deepEqual((await source.current()).headers, { authorization: "Bearer second" });
});

test("a rotated token file is read again after 10 s; while it is missing, the old token is kept", async (t) => {
  const folder = temporaryFolder(t);
  const tokenFile = path.join(folder, "token");
  writeFileSync(tokenFile, "first\n");
  const kubeConfigPath = writeKubeConfig(
    folder,
    { server: "http://127.0.0.1:1" },
    { tokenFile: "token", token: "ignored" },
  );
  const clock = createVirtualClock();
  const source = await createCredentialSource({ ...plainCluster, kubeConfigPath }, { clock, logger: silentLogger });
  const token = async (): Promise<unknown> => (await source.current()).headers["authorization"];
  assert.equal(await token(), "Bearer first");
  writeFileSync(tokenFile, "second\n");
  await clock.advance(9_999);
  assert.equal(await token(), "Bearer first");
  await clock.advance(1);
  assert.equal(await token(), "Bearer second");
  rmSync(tokenFile);
  await clock.advance(10_000);
  assert.equal(await token(), "Bearer second");
  writeFileSync(tokenFile, "third");
  await clock.advance(10_000);
  assert.equal(await token(), "Bearer third");
});

test("a 401 loads the credentials once and sends the request again", async (t) => {
  const folder = temporaryFolder(t);
  const tokenFile = path.join(folder, "token");
  writeFileSync(tokenFile, "old");
  const server = await startLoopbackServer(t, (request, response) => {
    if (request.headers.authorization === "Bearer new") sendJson(response, 200, { ok: true });
    else sendJson(response, 401, { kind: "Status", code: 401 });
  });
  const kubeConfigPath = writeKubeConfig(folder, { server: `http://127.0.0.1:${server.port}` }, { tokenFile });
  const { client, clock } = await connectBy(t, { kubeConfigPath });
  writeFileSync(tokenFile, "new");
  const answers = await Promise.all([1, 2, 3].map(() => client.request({ method: "POST", path: "/x", body: {} })));
  assert.deepEqual(answers, [{ ok: true }, { ok: true }, { ok: true }]);
  await client.stream({ method: "GET", path: "/w" }, 1_000).then((stream) => stream[Symbol.asyncIterator]().return?.());
  writeFileSync(tokenFile, "revoked");
  await clock.advance(10_000);
  const before = server.requests.length;
  await assert.rejects(client.request({ method: "GET", path: "/x" }), { kind: "unauthorized" });
  await assert.rejects(client.request({ method: "GET", path: "/x" }), { kind: "unauthorized" });
  assert.equal(server.requests.length - before, 3, "within a second nothing is loaded twice");
});

test("a request loads the credentials once, however long the refusals take", async (t) => {
  const clock = createVirtualClock();
  const server = await startLoopbackServer(t, (_, response) => {
    void clock.advance(2_000).then(() => sendJson(response, 401, { kind: "Status", code: 401 }));
  });
  const kubeConfigPath = writeKubeConfig(
    temporaryFolder(t),
    { server: `http://127.0.0.1:${server.port}` },
    { token: "revoked" },
  );
  const { client } = await connectBy(t, { kubeConfigPath }, clock);
  await assert.rejects(client.request({ method: "GET", path: "/x" }), { kind: "unauthorized" });
  assert.equal(server.requests.length, 2);
});

test("in a pod the token of the ServiceAccount is trimmed and its CA is used", async (t) => {
  const folder = temporaryFolder(t);
  const account = path.join(folder, "var/run/secrets/kubernetes.io/serviceaccount");
  mkdirSync(account, { recursive: true });
  writeFileSync(path.join(account, "token"), "pod-token\n");
  writeFileSync(path.join(account, "ca.crt"), (await createAuthority("test-ca")).cert);
  const deps = { clock: createVirtualClock(), logger: silentLogger };
  await assert.rejects(createCredentialSource(plainCluster, deps, folder), (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /^in-cluster configuration: not running in a Kubernetes pod/);
    return true;
  });
  const environment = { KUBERNETES_SERVICE_HOST: "::1", KUBERNETES_SERVICE_PORT: "443" };
  const source = await createCredentialSource(plainCluster, { ...deps, environment }, folder);
  const credentials = await source.current();
  assert.deepEqual(credentials.headers, { authorization: "Bearer pod-token" });
  assert.equal(credentials.server, "https://[::1]");
  assert.match(String(credentials.tls.ca), /BEGIN CERTIFICATE/);
});

/** A leaf for 127.0.0.1, of the authority. */
const issue = (authority: Authority, name: string) => authority.issue(name, [{ type: "ip", value: "127.0.0.1" }]);

test("a client certificate opens the connection, and a rotated one opens a new connection", async (t) => {
  const folder = temporaryFolder(t);
  const authority = await createAuthority("test-ca");
  const server = await startLoopbackServer(
    t,
    (request, response) => {
      const { subject } = (request.socket as TLSSocket).getPeerCertificate();
      sendJson(response, 200, { name: subject.CN });
    },
    { ...(await issue(authority, "server")), ca: authority.cert, requestCert: true, rejectUnauthorized: true },
  );
  const place = async (name: string): Promise<void> => {
    const { cert, key } = await issue(authority, name);
    writeFileSync(path.join(folder, "client.crt"), cert);
    writeFileSync(path.join(folder, "client.key"), key);
  };
  await place("first");
  const kubeConfigPath = writeKubeConfig(
    folder,
    { server: `https://127.0.0.1:${server.port}`, "certificate-authority-data": btoa(authority.cert) },
    { "client-certificate": "client.crt", "client-key": "client.key" },
  );
  const { client, clock } = await connectBy(t, { kubeConfigPath });
  const whoAmI = (): Promise<unknown> => client.request({ method: "GET", path: "/" });
  assert.deepEqual(await whoAmI(), { name: "first" });
  await place("second");
  assert.deepEqual(await whoAmI(), { name: "first" });
  await clock.advance(10_000);
  assert.deepEqual(await whoAmI(), { name: "second" });
  assert.deepEqual(await whoAmI(), { name: "second" });

  const stranger = writeKubeConfig(folder, { server: `https://127.0.0.1:${server.port}` }, {});
  const { client: distrustful } = await connectBy(t, { kubeConfigPath: stranger });
  await assert.rejects(distrustful.request({ method: "PUT", path: "/", body: {} }), { kind: "network" });
});

test("an authority that does not fit the server is loaded again, and the request is sent once", async (t) => {
  const folder = temporaryFolder(t);
  const [old, rotated, other] = [
    await createAuthority("test-ca"),
    await createAuthority("test-ca"),
    await createAuthority("test-ca"),
  ];
  const answer = (_: unknown, response: ServerResponse): void => sendJson(response, 200, { ok: true });
  const server = await startLoopbackServer(t, answer, await issue(rotated, "server"));
  const kubeConfigWith = (authority: { readonly cert: string }): string => {
    const data = btoa(authority.cert);
    return writeKubeConfig(
      folder,
      { server: `https://127.0.0.1:${server.port}`, "certificate-authority-data": data },
      {},
    );
  };
  const { client } = await connectBy(t, { kubeConfigPath: kubeConfigWith(old) });
  const write = (): Promise<unknown> => client.request({ method: "PUT", path: "/x", body: {} });
  kubeConfigWith(rotated);
  assert.deepEqual(await write(), { ok: true });
  assert.equal(server.requests.length, 1);

  const { client: stranger } = await connectBy(t, { kubeConfigPath: kubeConfigWith(other) });
  const distrusted = await stranger.request({ method: "PUT", path: "/x", body: {} }).catch((error: unknown) => error);
  assert.ok(isKubeError(distrusted, "network"), String(distrusted));
  assert.equal(server.requests.length, 1, "nothing was sent to a server that is not trusted");
});

test("requests go through the proxy that the kubeconfig names", async (t) => {
  const proxy = await startLoopbackServer(t, (_request, response) => sendJson(response, 200, { through: "proxy" }));
  const cluster = { server: "http://api.test:6443", "proxy-url": `http://127.0.0.1:${proxy.port}` };
  const kubeConfigPath = writeKubeConfig(temporaryFolder(t), cluster, {});
  const { client } = await connectBy(t, { kubeConfigPath });
  assert.deepEqual(await client.request({ method: "GET", path: "/x" }), { through: "proxy" });
  assert.equal(proxy.requests[0]?.url, "http://api.test:6443/x");
});

test("what cannot be used is named in one line", async (t) => {
  const folder = temporaryFolder(t);
  const { cert: pem } = await createAuthority("test-ca");
  const other = await issue(await createAuthority("test-ca"), "other");
  const https = { server: "https://127.0.0.1:1" };
  const pems = { "client-certificate-data": btoa(pem) };
  const torn = btoa("-----BEGIN CERTIFICATE-----\nAA\n-----END CERTIFICATE-----");
  /** A kubeconfig whose cluster and user have these fields too. */
  const by = (cluster: object, user: object = {}) => ({
    kubeConfigPath: writeKubeConfig(folder, { ...https, ...cluster }, user),
  });
  const cases: readonly [string, () => Partial<ClusterConfig>, RegExp][] = [
    ["missing file", () => ({ kubeConfigPath: "/nowhere/config" }), /cannot read "\/nowhere\/config": no such file/],
    ["a folder", () => ({ kubeConfigPath: folder }), /^kubeconfig ".*": it is a directory$/],
    ["a device", () => ({ kubeConfigPath: "/dev/zero" }), /^kubeconfig "\/dev\/zero": it is not a regular file$/],
    ["a long file", () => ({ kubeConfigPath: write(folder, "#".repeat(2 ** 22 + 1)) }), /has more than 4194304 bytes/],
    [
      "a device as token file",
      () => by({}, { tokenFile: "/dev/zero" }),
      /the token file "\/dev\/zero" cannot be used: it is not a regular file/,
    ],
    ["empty file", () => ({ kubeConfigPath: write(folder, "") }), /the input is empty/],
    ["not a mapping", () => ({ kubeConfigPath: write(folder, "text") }), /not a YAML mapping/],
    ["not YAML", () => ({ kubeConfigPath: write(folder, "a: [b\nc: d") }), /^kubeconfig ".*config"/],
    ["no context", () => ({ kubeConfigPath: write(folder, "apiVersion: v1") }), /no current context/],
    ["missing CA", () => by({ "certificate-authority": "ca.pem" }), /cannot read ".*ca\.pem": no such file/],
    ["bad CA", () => by({ "certificate-authority-data": torn }), /certificate authority cannot be used/],
    ["missing key", () => by({}, { ...pems, "client-key": "k.pem" }), /cannot read ".*k\.pem"/],
    [
      "key of another",
      () => by({}, { ...pems, "client-key-data": btoa(other.key) }),
      /pair of client certificate and client key/,
    ],
    ["missing token file", () => by({}, { tokenFile: "t" }), /cannot read ".*\/t": no such file/],
    ["bad server", () => ({ master: "ftp://host" }), /"ftp:\/\/host" is not a URL/],
    ["bad proxy", () => by({ "proxy-url": "socks5://x:1" }), /proxy-url "socks5:\/\/x:1"/],
    [
      "bad proxy with a password, which is not shown",
      () => by({ "proxy-url": "socks5://me:secret@x:1" }),
      /proxy-url "socks5:\/\/\*\*\*@x:1"/,
    ],
    ["bad server with a password", () => ({ master: "ftp://me:secret@host" }), /"ftp:\/\/\*\*\*@host" is not a URL/],
    ["groups alone", () => ({ master: "http://127.0.0.1:1", impersonateGroups: ["g"] }), /needs the user name/],
  ];
  for (const [what, change, message] of cases) {
    await assert.rejects(
      async () => connectBy(t, change()),
      (error) => {
        assert.ok(error instanceof StartError, `${what}: ${String(error)}`);
        assert.match(error.message, message, what);
        assert.ok(!error.message.includes("\n"), what);
        return true;
      },
      what,
    );
  }
});

function write(folder: string, text: string): string {
  const file = path.join(folder, "config");
  writeFileSync(file, text);
  return file;
}
