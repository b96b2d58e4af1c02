import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import https from "node:https";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { listen } from "../../../../src/server/index.ts";
import { silentLogger } from "../../../../src/util/logger.ts";
import { ClientCells } from "../../../../src/webhook/http/client-cells.ts";
import { createVirtualClock } from "../../../support/virtual-clock.ts";
import { createAuthority, createPem, type Pem, temporaryFolder, writePem } from "../../server/certificates.ts";
import { RecordedLog } from "../support/replica.ts";
import { ServedCells } from "../../../../src/webhook/http/served-cells.ts";

const bound = new Map([
  ["one", new Set(["c1"])],
  ["spiffe://example.com/one", new Set(["c3"])],
  ["two", new Set(["c2"])],
]);

/** A listener that answers with why the client may not speak for the cell of the path. */
async function open(t: TestContext, caPem: string) {
  const folder = temporaryFolder(t);
  const caFile = path.join(folder, "ca.crt");
  writeFileSync(caFile, caPem);
  const log = new RecordedLog();
  const clients = new ClientCells(bound, log);
  const listener = await listen({
    name: "test",
    fetch: (request, { incoming }) =>
      new Response(clients.refusal(incoming.socket, new URL(request.url).pathname.slice(1)) ?? "ok"),
    bindAddress: "127.0.0.1",
    port: 0,
    portFlag: "test-port",
    tls: {
      ...writePem(folder, await createPem("server")),
      clientAuth: { caFile, allowedNames: new Set(), onRejected() {} },
    },
    readHeaderTimeoutMs: 10_000,
    connectionsMax: 10,
    clock: createVirtualClock(),
    logger: silentLogger,
  });
  t.after(() => listener.close(0));
  return { port: listener.port, log };
}

function ask(port: number, pem: Pem, cell: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const options = { host: "127.0.0.1", port, path: `/${cell}`, rejectUnauthorized: false, agent: false, ...pem };
    const sent = https.get(options, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () => resolve(text));
    });
    sent.on("error", reject);
  });
}

test("a client may speak for the cells of all its names, and is told which ones when it names another", async (t) => {
  const authority = await createAuthority("ours");
  const { port, log } = await open(t, authority.cert);
  const one = await authority.issue("one", [{ type: "url", value: "spiffe://example.com/one" }]);
  for (const cell of ["c1", "c3"]) assert.equal(await ask(port, one, cell), "ok");
  const refusal =
    'the client "one", "spiffe://example.com/one" may not speak for the cell "c2" (--webhook-client-cells); ' +
    'allowed: "c1", "c3"';
  assert.equal(await ask(port, one, "c2"), refusal);
  assert.equal(await ask(port, one, "c2"), refusal);
  assert.deepEqual(
    log.lines.map(({ fields }) => fields["reason"]),
    [refusal],
    "logged once",
  );
});

test("what a certificate calls itself is shown without control characters, and not at any length", async (t) => {
  const authority = await createAuthority("ours");
  const { port } = await open(t, authority.cert);
  const names = [{ type: "url", value: `urn:${"x".repeat(300)}` } as const];
  const odd = await authority.issue("a\u202eb\u0085c", names);
  assert.equal(
    await ask(port, odd, "c1"),
    `the client "a\\u{202e}b\\u{85}c", "urn:${"x".repeat(249)}…" may not speak for the cell "c1" ` +
      "(--webhook-client-cells); allowed: no cell",
  );
});

test("who has shown no certificate may speak for no cell, and without bound clients everybody for every cell", () => {
  const message =
    'a client without a certificate may not speak for the cell "c1" (--webhook-client-cells); allowed: no cell';
  assert.equal(new ClientCells(bound, silentLogger).refusal(undefined, "c1"), message);
  assert.equal(new ClientCells(new Map(), silentLogger).refusal(undefined, "c1"), undefined);
});

test("without allowed cells every valid cell is served, and nothing else", () => {
  const cells = new ServedCells(new Set());
  for (const cellID of ["c1", "c1", "Eu-west.1", "x".repeat(63)]) assert.equal(cells.refusal(cellID), undefined);
  for (const cellID of ["", "a/b", "a\nb", "-a", "zelle-ä", "x".repeat(64)]) {
    const refusal = cells.refusal(cellID);
    assert.equal(refusal?.tag, "InvalidCell");
    assert.match(refusal.message, /^the last part of the URL is not a cell: 1 to 63 letters, digits and - _ \. that /);
  }
});

test("with allowed cells only these are served, and the name of another one is quoted only when it is valid", () => {
  const cells = new ServedCells(new Set(["c1", "c2"]));
  for (const cellID of ["c1", "c2", "c1"]) assert.equal(cells.refusal(cellID), undefined);
  assert.deepEqual(cells.refusal("c3"), {
    tag: "CellNotAllowed",
    message: 'the cell "c3" is not served by this webhook (--webhook-allowed-cells, --webhook-client-cells)',
  });
  assert.equal(cells.refusal("c3")?.tag, "CellNotAllowed", "and is not remembered");
  assert.equal(cells.refusal("evil\ncell")?.tag, "InvalidCell");
});

test("more cells than are remembered are still served, and others still refused", () => {
  const cells = new ServedCells(new Set());
  for (let index = 0; index < 1_200; index += 1) assert.equal(cells.refusal(`c${index}`), undefined);
  assert.equal(cells.refusal("c1100"), undefined);
  assert.equal(cells.refusal("c1100-")?.tag, "InvalidCell");
});

test("with cells by label only the URL that says so is served, whatever its end would be otherwise", () => {
  const cells = new ServedCells(new Set(["blue"]), "example.com/cell");
  assert.equal(cells.refusal("by-label"), undefined);
  assert.deepEqual(cells.refusal("blue"), {
    tag: "CellNotAllowed",
    message:
      'the URL ends with "blue", but this webhook reads the cell from the label example.com/cell of the pod ' +
      "(--webhook-cell-label): its URL must end with /by-label",
  });
  assert.equal(cells.refusal("evil\ncell")?.tag, "InvalidCell");
});
