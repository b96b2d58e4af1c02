/**
 * Makes the certificate by which the API server of one worker cluster shows the webhook who it is: a certificate
 * authority of its own, and a client certificate that it signed. The authority's key is never written, so nobody can
 * make another client of it; and to withdraw the client, its authority is taken out of the webhook's file.
 *
 *     node scripts/n.mjs scripts/client-tls.ts --client worker-1 --out my-worker-1/client
 *
 * writes client-ca.crt for the webhook (--webhook-client-ca-file), client.crt and client.key for the API server.
 */
import { parseArgs } from "node:util";
import { ArgumentError, readArguments, runProgram } from "./command-line.ts";
import { daysMax, issueClientCertificate } from "../src/certificates/index.ts";
import { parseDays, writeFiles } from "./tls-certificates.ts";

const usage = `usage: node scripts/n.mjs scripts/client-tls.ts --client NAME --out DIR [options]
  --client NAME  who the API server is: the name in --webhook-client-cells, best that of its cell
  --out DIR      write client-ca.crt, client.crt and client.key into DIR
  --days N       validity in days, 1 to ${daysMax} (default 365)`;

/** Reads and checks the command line. Throws an ArgumentError. */
export function parseClientCommandLine(args: readonly string[]) {
  const text = { type: "string" } as const;
  const options = { client: text, out: text, days: text };
  const { values } = readArguments(() => parseArgs({ args: [...args], options }));
  const { client, out, days = "365" } = values;
  if (client === undefined) throw new ArgumentError("--client is required");
  if (out === undefined || out === "") throw new ArgumentError("--out is required, and must not be empty");
  return { client, out, days: parseDays(days) };
}

async function main(args: readonly string[]): Promise<void> {
  const { client, out, days } = parseClientCommandLine(args);
  const issued = await issueClientCertificate({ client, days, now: new Date() });
  const files = {
    "client-ca.crt": issued.caCertificate,
    "client.crt": issued.certificate,
    "client.key": issued.privateKey,
  };
  writeFiles(out, files, ["client.key"]);
  process.stdout.write(`Wrote client-ca.crt, client.crt and client.key into ${out}.\n`);
}

if (import.meta.main) await runProgram("client-tls", usage, main);
