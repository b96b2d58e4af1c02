import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test, type TestContext } from "node:test";

const program = path.join(import.meta.dirname, "../../scripts/playground/main.ts");
/** Far above what a start takes on a busy machine; a playground that hangs must not hang the tests. */
const patienceMs = 300_000;
const shop = "/api/v1/namespaces/shop";
const protectors = "/apis/podseidon.kubewharf.io/v1alpha1/namespaces/shop/podprotectors";

interface Item {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly minAvailable?: number };
}
interface Answer {
  readonly code: number;
  readonly body: { readonly items?: readonly Item[]; readonly message?: string };
}

class Playground {
  readonly #child: ChildProcessWithoutNullStreams;
  #output = "";

  constructor(t: TestContext) {
    this.#child = spawn(process.execPath, [program], { timeout: patienceMs });
    // SIGKILL would leave its processes behind.
    t.after(async () => {
      if (this.#child.exitCode === null) await this.#end("SIGTERM");
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => (this.#output += text));
    }
  }

  /** The first match in what it has printed. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    const signal = AbortSignal.timeout(patienceMs);
    for (;;) {
      const found = pattern.exec(this.#output);
      if (found !== null) return found;
      assert.equal(this.#child.exitCode, null, this.#output);
      await once(this.#child.stdout, "data", { signal });
    }
  }

  type(line: string): void {
    this.#child.stdin.write(`${line}\n`);
  }

  async interrupt(): Promise<number | null> {
    return await this.#end("SIGINT");
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const closed = once(this.#child, "close") as Promise<[number | null]>;
    this.#child.kill(signal);
    return (await closed)[0];
  }
}

/** The addresses in a kubeconfig, by context. */
function serversOf(file: string): ReadonlyMap<string, string> {
  const config = JSON.parse(readFileSync(file, "utf8")) as {
    readonly clusters: readonly { readonly name: string; readonly cluster: { readonly server: string } }[];
    readonly contexts: readonly { readonly name: string; readonly context: { readonly cluster: string } }[];
  };
  const clusters = new Map(config.clusters.map(({ name, cluster }) => [name, cluster.server]));
  return new Map(config.contexts.map(({ name, context }) => [name, clusters.get(context.cluster) ?? ""]));
}

async function ask(url: string, method = "GET", body?: unknown): Promise<Answer> {
  const headers = { "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json" };
  const answer = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  return { code: answer.status, body: (await answer.json()) as Answer["body"] };
}

async function firstPod(server: string, app: string): Promise<string> {
  const { body } = await ask(`${server}${shop}/pods?labelSelector=app%3D${app}`);
  return `${server}${shop}/pods/${body.items?.[0]?.metadata.name}`;
}

/** Resolves when a watch tells that as many pods must stay. */
async function untilMustStay(core: string, name: string, pods: number): Promise<void> {
  const controller = new AbortController();
  const query = `watch=1&fieldSelector=metadata.name%3D${name}`;
  const { body } = await fetch(`${core}${protectors}?${query}`, { signal: controller.signal });
  assert.ok(body !== null);
  let text = "";
  for await (const chunk of body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    const lines = text.split("\n").slice(0, -1);
    if (lines.some((line) => (JSON.parse(line) as { object: Item }).object.spec.minAvailable === pods)) break;
  }
  controller.abort();
}

test("the playground guards pods, is broken and mended by typing, and leaves nothing behind", async (t) => {
  const playground = new Playground(t);
  const kubeconfig = (await playground.printed(/export KUBECONFIG=(\S+)\n[^]*Ctrl-C ends it/))[1] ?? "";
  const servers = serversOf(kubeconfig);
  assert.deepEqual([...servers.keys()], ["core", "worker-1", "worker-2", "worker-3"]);
  const [core = "", worker = ""] = servers.values();
  const { body } = await ask(`${core}${protectors}`);
  assert.deepEqual(
    body.items?.map(({ metadata, spec }) => [metadata.name, spec.minAvailable]),
    [
      ["deployment-cart", 9],
      ["deployment-mail", 3],
      ["deployment-web", 18],
    ],
  );

  assert.equal((await ask(await firstPod(worker, "web"), "DELETE")).code, 200);
  // With no pod free, a deletion is refused however fast others are replaced.
  const rollingUpdate = { maxUnavailable: 0 };
  const spec = { spec: { strategy: { rollingUpdate } } };
  const patched = await ask(`${core}/apis/apps/v1/namespaces/shop/deployments/mail`, "PATCH", spec);
  assert.equal(patched.code, 200);
  await untilMustStay(core, "deployment-mail", 4);
  const refused = await ask(await firstPod(worker, "mail"), "DELETE");
  assert.equal(refused.code, 429);
  assert.match(refused.body.message ?? "", /must stay/);

  playground.type("stop aggregator-worker-3");
  await playground.printed(/aggregator-worker-3 \(pid \d+\) is killed/);
  playground.type("start aggregator-worker-3");
  await playground.printed(/aggregator-worker-3 is ready/);

  assert.equal(await playground.interrupt(), 0);
  await playground.printed(/Everything is taken down/);
  assert.equal(existsSync(path.dirname(kubeconfig)), false);
  await assert.rejects(ask(core));
});
