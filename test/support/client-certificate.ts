/** The certificate of an API server as docs/install.md makes it, with openssl. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";

const guide = path.join(import.meta.dirname, "../../docs/install.md");
/** Twice what it takes on a busy machine. */
const limitMs = 30_000;

/** Makes client.crt and client.key in `folder`, by the function of the guide. Throws with what openssl said. */
export function makeClientCertificate(client: string, folder: string): void {
  const [documented] = /^client_certificate\(\) \{[^]*?^\}$/m.exec(readFileSync(guide, "utf8")) ?? [];
  if (documented === undefined) throw new Error("docs/install.md has no function client_certificate");
  const script = `${documented}\nclient_certificate "$1" "$2"`;
  execFileSync("sh", ["-euc", script, "sh", client, folder], { timeout: limitMs, stdio: "pipe" });
}
