/**
 * The certificate by which the API servers of a worker show the webhook who they are: its authority goes into a Secret
 * of the core, the rest into files, which a person puts on the hosts of the API servers (docs/install.md).
 */
import { X509Certificate } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { issueClientCertificate } from "../../certificates/index.ts";
import { messageOf } from "../../util/printable.ts";
import { type Reading } from "../clusters/reading.ts";
import { apply, type Site, type Step } from "./apply.ts";
import { apiServerFiles, secretNames, systemNamespace } from "./objects.ts";
import { base64, readSecret, secretWith } from "./settings.ts";

const days = 365;
/** A run with less left makes another one, beside it. */
const renewedBeforeDays = 60;
const dayMs = 86_400_000;
const documentedHost = "podseidon.example.com";
/** Nobody else may pass for the API servers. */
const folderMode = 0o700;
const fileMode = 0o600;

export interface ClientFiles {
  readonly core: Site;
  readonly cell: string;
  /** As in the webhook configuration; the port only if it is not 443. */
  readonly webhookAddress: string;
  /** Made when it is not there. */
  readonly folder: string;
  /** Told when files were written, which the API servers do not have yet. */
  readonly written: () => void;
}

export function clientFilesStep(files: ClientFiles): Step {
  const { core, cell, folder } = files;
  const place = `${systemNamespace}/${secretNames.clients}`;
  return {
    title: `Make a client certificate for the API servers of ${cell}, by which the webhook knows them`,
    async plan() {
      const present = await isPresent(core, cell);
      if (!present.ok) return { changes: [], unseen: [present.problem] };
      const changes = [`write files into ${folder}`, `${core.client.cluster}: Secret ${place} gets their authority`];
      return { changes: present.value ? [] : changes, unseen: [] };
    },
    async run(tell) {
      const present = await isPresent(core, cell);
      if (!present.ok) return present.problem;
      return present.value ? undefined : make(files, tell);
    },
  };
}

function keyOf(cell: string): string {
  return `${cell}.crt`;
}

/** Whether the cell has a certificate, made by an earlier run, that does not end soon. */
async function isPresent(core: Site, cell: string): Promise<Reading<boolean>> {
  const secret = await readSecret(core, secretNames.clients);
  if (!secret.ok) return secret;
  const authority = certificateIn(secret.value?.get(keyOf(cell)) ?? "");
  const leftMs = (authority?.validToDate.getTime() ?? 0) - core.clock.epochMicros() / 1_000;
  return { ok: true, value: leftMs > renewedBeforeDays * dayMs };
}

async function make(files: ClientFiles, tell: (line: string) => void): Promise<string | undefined> {
  const { core, cell, folder, webhookAddress } = files;
  const now = new Date(core.clock.epochMicros() / 1_000);
  const issued = await issueClientCertificate({ client: cell, days, now });
  const problem = write(folder, {
    "client.crt": issued.certificate,
    "client.key": issued.privateKey,
    "client-ca.crt": issued.caCertificate,
    ...Object.fromEntries(
      Array.from(apiServerFiles(), ([name, text]) => [
        name,
        text.replaceAll(documentedHost, hostInKubeconfig(webhookAddress)),
      ]),
    ),
  });
  if (problem !== undefined) return problem;
  const secret = await readSecret(core, secretNames.clients);
  if (!secret.ok) return secret.problem;
  // Those of other cells, and the one that ends, stay.
  const all = `${secret.value?.get("ca.crt") ?? ""}${issued.caCertificate}`;
  const data = { "ca.crt": base64(all), [keyOf(cell)]: base64(issued.caCertificate) };
  const done = await apply(core, secretWith(secretNames.clients, data));
  if (!done.ok) return done.problem;
  files.written();
  tell(`files for the hosts of the API servers of ${cell} are in ${folder}; the certificate is good for a year`);
  return undefined;
}

/** API servers look for the host, with its port unless that is 443. */
function hostInKubeconfig(address: string): string {
  const host = address.replace(/:443$/, "");
  // In YAML, colons and brackets have a meaning.
  return host.includes(":") ? JSON.stringify(host) : host;
}

function write(folder: string, files: Readonly<Record<string, string>>): string | undefined {
  try {
    mkdirSync(folder, { recursive: true, mode: folderMode });
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(path.join(folder, name), text, { mode: fileMode });
    }
    return undefined;
  } catch (error) {
    return `cannot write into ${folder}: ${messageOf(error)}`;
  }
}

/** Undefined = it is none. */
function certificateIn(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text);
  } catch {
    return undefined;
  }
}
