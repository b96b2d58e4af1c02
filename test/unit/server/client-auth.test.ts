import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import https from "node:https";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { type TLSSocket } from "node:tls";
import { certificatePollMs } from "../../../src/server/certificate.ts";
import { authoritiesText, type ClientRejection } from "../../../src/server/client-auth.ts";
import { listen } from "../../../src/server/listen.ts";
import { createVirtualClock } from "../../support/virtual-clock.ts";
import { RecordedLog } from "../webhook/support/replica.ts";
import { type Authority, createAuthority, createPem, type Pem, temporaryFolder, writePem } from "./certificates.ts";

async function open(t: TestContext, authority: Authority, names: readonly string[] = []) {
  const folder = temporaryFolder(t);
  const files = writePem(folder, await createPem("server"));
  const caFile = path.join(folder, "ca.crt");
  writeFileSync(caFile, authority.cert);
  const clock = createVirtualClock();
  const rejections: ClientRejection[] = [];
  const log = new RecordedLog();
  let served = 0;
  const listener = await listen({
    name: "test",
    fetch: () => {
      served += 1;
      return new Response("hello");
    },
    bindAddress: "127.0.0.1",
    port: 0,
    portFlag: "test-port",
    tls: {
      ...files,
      clientAuth: { caFile, allowedNames: new Set(names), onRejected: (rejection) => rejections.push(rejection) },
    },
    readHeaderTimeoutMs: 10_000,
    connectionsMax: 10,
    clock,
    logger: log,
  });
  t.after(() => listener.close(0));
  const get = (options: https.RequestOptions = {}) => request(listener.port, options);
  return { get, caFile, files, clock, log, rejections, served: () => served };
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly isResumed: boolean;
}

/** One request; the agent decides whether it has a connection of its own. */
function request(port: number, options: https.RequestOptions): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = https.get({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      const isResumed = (response.socket as TLSSocket).isSessionReused();
      response.on("end", () => resolve({ status: response.statusCode, text, isResumed }));
    });
    sent.on("error", reject);
  });
}

test("a client without a certificate of the client CA gets a 401 with the reason", async (t) => {
  const [authority, stranger] = await Promise.all([createAuthority("ours"), createAuthority("theirs")]);
  const { get, rejections, served } = await open(t, authority);
  assert.equal((await get(await authority.issue("apiserver"))).text, "hello");
  const without = await get();
  assert.equal(without.status, 401);
  const { kind, code, reason, message } = JSON.parse(without.text) as Readonly<Record<string, unknown>>;
  assert.deepEqual({ kind, code, reason }, { kind: "Status", code: 401, reason: "Unauthorized" });
  assert.match(String(message), /^a client certificate of an accepted CA is required, and the client showed none$/);
  for (const pem of [await stranger.issue("apiserver"), await createPem("apiserver")]) {
    const { status, text } = await get(pem);
    assert.equal(status, 401);
    assert.match(text, /a client certificate of an accepted CA is required, and that of the client is not: [A-Z_]+"/);
  }
  assert.equal(served(), 1, "nothing is handled for the others");
  assert.deepEqual(
    rejections.map(({ status, peerAddress }) => ({ status, peerAddress })),
    Array.from({ length: 3 }, () => ({ status: 401, peerAddress: "127.0.0.1" })),
  );
});

test("with allowed names, the common name or any alternative name has to be one of them, exactly", async (t) => {
  const authority = await createAuthority("ours");
  const { get, rejections } = await open(t, authority, ["apiserver", "api.example.com", "spiffe://example.com/api"]);
  const allowed: Pem[] = [
    await authority.issue("apiserver"),
    await authority.issue("x", [
      { type: "dns", value: "other.example.com" },
      { type: "dns", value: "api.example.com" },
    ]),
    await authority.issue("x", [{ type: "url", value: "spiffe://example.com/api" }]),
  ];
  for (const pem of allowed) assert.equal((await get(pem)).status, 200);
  const others: Pem[] = [
    await authority.issue("apiserver2"),
    await authority.issue("x", [{ type: "dns", value: "evil.api.example.com" }]),
    // Looks like two names when split at commas.
    await authority.issue("x", [{ type: "url", value: "urn:x, DNS:api.example.com, y" }]),
  ];
  for (const pem of others) {
    const answer = await get(pem);
    assert.equal(answer.status, 403);
    const { message } = JSON.parse(answer.text) as { readonly message: string };
    assert.match(message, /^the client certificate is valid, but none of its names is allowed: "/);
  }
  assert.deepEqual(
    rejections.map(({ status }) => status),
    [403, 403, 403],
  );
});

test("a client that resumes its session is checked again", async (t) => {
  const authority = await createAuthority("ours");
  const { get } = await open(t, authority, ["apiserver"]);
  for (const [name, status] of [
    ["apiserver", 200],
    ["other", 403],
  ] as const) {
    const agent = new https.Agent({ ...(await authority.issue(name)), keepAlive: false, maxCachedSessions: 10 });
    t.after(() => agent.destroy());
    const resumed: boolean[] = [];
    for (let turn = 0; turn < 3; turn += 1) {
      const answer = await get({ agent });
      assert.equal(answer.status, status);
      resumed.push(answer.isResumed);
    }
    assert.deepEqual(resumed, [false, true, true], name);
  }
});

test("a changed CA file applies to new connections", async (t) => {
  const [old, next] = await Promise.all([createAuthority("old"), createAuthority("new")]);
  const { get, caFile, clock } = await open(t, old);
  const [oldClient, newClient] = [await old.issue("a"), await next.issue("a")];
  assert.equal((await get(newClient)).status, 401);
  writeFileSync(caFile, next.cert);
  await clock.advance(certificatePollMs);
  assert.equal((await get(newClient)).status, 200);
  assert.equal((await get(oldClient)).status, 401);
});

test("a connection whose authority is withdrawn ends with its next answer, and others are kept", async (t) => {
  const [old, kept, next] = await Promise.all(["old", "kept", "new"].map((name) => createAuthority(name)));
  assert.ok(old !== undefined && kept !== undefined && next !== undefined);
  const { get, caFile, clock, rejections } = await open(t, old);
  writeFileSync(caFile, `${old.cert}\n${kept.cert}`);
  await clock.advance(certificatePollMs);
  const [withdrawn, other] = await Promise.all(
    [old, kept].map(async (authority) => new https.Agent({ ...(await authority.issue("a")), keepAlive: true })),
  );
  t.after(() => [withdrawn, other].forEach((agent) => agent?.destroy()));
  for (const agent of [withdrawn, other]) assert.equal((await get({ agent })).status, 200);
  writeFileSync(caFile, `${kept.cert}\n${next.cert}`);
  await clock.advance(certificatePollMs);
  assert.equal((await get({ agent: withdrawn })).status, 200, "no review of an API server is lost");
  assert.equal(rejections.length, 0);
  const answer = await get({ agent: withdrawn });
  assert.equal(answer.status, 401, "on a new connection");
  for (let times = 0; times < 2; times += 1) assert.equal((await get({ agent: other })).status, 200);
  assert.equal(rejections.length, 1);
});

test("the authorities of clients are logged in one line, at the start and each time that they change", async (t) => {
  const [one, two] = await Promise.all([createAuthority("one"), createAuthority("two")]);
  const { caFile, files, clock, log } = await open(t, one);
  const lines = () => log.lines.filter(({ message }) => message.startsWith("Accepting client certificates"));
  const fields = { listener: "test", caFile };
  const until = "until 2100-01-01T00:00:00.000Z";
  assert.deepEqual(
    lines().map((line) => line.fields),
    [{ ...fields, authorities: [`CN=one ${until}`] }],
  );
  assert.equal(lines()[0]?.level, "info");
  writePem(path.dirname(files.certFile), await createPem("renewed"));
  await clock.advance(certificatePollMs);
  assert.equal(lines().length, 1, "another certificate of the server is no news of them");
  writeFileSync(caFile, `${one.cert}\n${two.cert}`);
  await clock.advance(certificatePollMs);
  assert.deepEqual(lines()[1]?.fields, { ...fields, authorities: [`CN=one ${until}`, `CN=two ${until}`] });
  assert.equal(lines().length, 2);
});

test("a line of the log names 50 authorities and counts the others", async () => {
  const { cert } = await createAuthority("one");
  const text = authoritiesText(`${cert}\n`.repeat(52));
  assert.equal(text.length, 51);
  assert.equal(text.at(-1), "and 2 more");
});
