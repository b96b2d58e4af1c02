/** An exec plugin that hangs on demand, and tells over a connection to the test that it runs and that it has ended. */
import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo, type Socket } from "node:net";
import path from "node:path";
import { temporaryFolder, type Context } from "./kubeconfigs.ts";

/** Far above what the start of a process takes on a busy machine. */
const patienceMs = 30_000;

export interface HangingPlugin {
  /** For the user of a kubeconfig. */
  readonly exec: { readonly command: string; readonly args: readonly string[] };
  /** From now on it hangs, or prints a token that has expired already. */
  setHanging(hangs: boolean): void;
  /** Resolves when it hangs; the inner promise when that process has ended. */
  hanging(): Promise<{ readonly ended: Promise<unknown> }>;
}

/** `viaWrapper`: a child of the plugin hangs, not the plugin itself. */
export async function createHangingPlugin(t: Context, viaWrapper = false): Promise<HangingPlugin> {
  const server = createServer().listen(0, "127.0.0.1");
  t.after(() => server.close());
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const flag = path.join(temporaryFolder(t), "hangs");
  const hang = `require("node:net").connect(${port}, "127.0.0.1").resume();`;
  const hangingChild = `process.execPath, ["-e", ${JSON.stringify(hang)}], { stdio: "inherit" }`;
  const wrapped = `require("node:child_process").spawnSync(${hangingChild});`;
  const answer = { status: { token: "token", expirationTimestamp: "2000-01-01T00:00:00Z" } };
  const script = `if (require("node:fs").existsSync(${JSON.stringify(flag)})) { ${viaWrapper ? wrapped : hang} }
    else console.log(${JSON.stringify(JSON.stringify(answer))});`;
  return {
    exec: { command: process.execPath, args: ["-e", script] },
    setHanging(hangs) {
      if (hangs) writeFileSync(flag, "");
      else rmSync(flag);
    },
    async hanging() {
      const signal = AbortSignal.timeout(patienceMs);
      const [socket] = (await once(server, "connection", { signal })) as [Socket];
      // The end of a process that was killed may also come as a reset connection.
      return { ended: once(socket.on("error", () => {}).resume(), "close", { signal }) };
    },
  };
}
