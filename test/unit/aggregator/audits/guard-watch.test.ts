import assert from "node:assert/strict";
import { test } from "node:test";
import { GuardWatch } from "../../../../src/aggregator/audits/guard-watch.ts";
import { entriesOf } from "../../../../src/aggregator/audits/guarded-namespaces.ts";
import { asList, fieldsOf, type Json } from "../../../../src/api/json.ts";
import { type Labels } from "../../../../src/api/pod.ts";
import { ownConfiguration } from "../../../../src/carried/admission.ts";
import { KubeError } from "../../../../src/kube/kube-client.ts";
import { createCountingMetrics } from "../../kube/counting-metrics.ts";
import { createScriptedKubeClient } from "../../kube/scripted-kube-client.ts";
import { RecordedLog } from "../../webhook/support/replica.ts";

const name = "kubernetes.io/metadata.name";
const own = ownConfiguration();

/** The configuration of the manifests, each entry changed. */
function changed(change: (entry: Json) => Json): Json {
  return { ...own, webhooks: asList(own["webhooks"]).map((entry) => change(fieldsOf(entry))) };
}

function leavingOut(...names: readonly string[]): Json {
  const matchExpressions = [{ key: name, operator: "NotIn", values: names }];
  return changed((entry) => ({ ...entry, namespaceSelector: { matchExpressions } }));
}

class Bench {
  configuration: Json | KubeError = own;
  namespaces: Readonly<Record<string, Labels>> | KubeError = { shop: {}, pay: {}, dummy: {} };
  floors: readonly string[] = ["shop", "pay", "shop", "elsewhere"];
  readonly events: string[] = [];
  readonly logger = new RecordedLog();
  readonly worker = createScriptedKubeClient();
  readonly metrics = createCountingMetrics();
  readonly watch = new GuardWatch({
    cellID: "a",
    worker: this.worker,
    configuration: "podseidon",
    own: () => entriesOf(own),
    floors: () => this.floors,
    dummyNamespace: "dummy",
    event: (type, reason) => void this.events.push(`${type} ${reason}`),
    logger: this.logger,
    metrics: this.metrics,
  });

  constructor() {
    this.worker.onRequest = ({ path }) => {
      if (path.endsWith("/validatingwebhookconfigurations/podseidon")) return orThrow(this.configuration);
      const all = Object.entries(orThrow(this.namespaces));
      const items = all.map(([key, labels]) => ({ metadata: { name: key, labels: { [name]: key, ...labels } } }));
      return { metadata: { resourceVersion: "1" }, items };
    };
  }

  look(isProven = true): Promise<void> {
    return this.watch.look(isProven, new AbortController().signal);
  }

  count(state: "open" | "unjudged"): number | undefined {
    return this.metrics.value("aggregator_unguarded_namespaces", { state });
  }

  texts(level: string): readonly string[] {
    return this.logger.lines.filter((line) => line.level === level).map(({ message }) => message);
  }
}

function orThrow<T>(answer: T | KubeError): T {
  if (answer instanceof KubeError) throw answer;
  return answer;
}

test("where all namespaces with floors are guarded, nothing is said", async () => {
  const bench = new Bench();
  assert.equal(bench.watch.named(), undefined);
  await bench.look();
  assert.equal(bench.watch.named(), null);
  assert.deepEqual([bench.count("open"), bench.count("unjudged")], [0, 0]);
  assert.deepEqual([bench.events, bench.logger.lines], [[], []]);
});

test("namespaces that are left out are told once, by metric, log and Event, and so is their end", async () => {
  const bench = new Bench();
  bench.configuration = leavingOut("shop", "pay", "elsewhere", "quiet");
  await bench.look();
  await bench.look();
  assert.equal(bench.watch.named(), "not-guarded pay,shop");
  assert.equal(bench.watch.isOpen, true);
  assert.equal(bench.count("open"), 2);
  assert.deepEqual(bench.events, ["Warning NamespacesNotGuarded"]);
  assert.deepEqual(bench.texts("error"), [
    'Deletions in namespaces pay, shop of cell "a" are not sent to the webhook, so no floor holds there: entry ' +
      "podseidon.kubewharf.io of webhook configuration podseidon leaves it out by namespaceSelector: " +
      `${name} NotIn has pay`,
  ]);

  bench.configuration = leavingOut("shop");
  await bench.look();
  assert.equal(bench.watch.named(), "not-guarded shop");
  assert.deepEqual(bench.events, ["Warning NamespacesNotGuarded", "Warning NamespacesNotGuarded"]);

  bench.configuration = own;
  await bench.look();
  assert.equal(bench.watch.named(), null);
  assert.equal(bench.watch.isOpen, false);
  assert.equal(bench.count("open"), 0);
  assert.equal(bench.events.at(-1), "Normal NamespacesGuarded");
});

test("a namespace whose last floor goes is no longer named", async () => {
  const bench = new Bench();
  bench.configuration = leavingOut("shop");
  await bench.look();
  bench.floors = ["pay"];
  await bench.look();
  assert.equal(bench.watch.named(), null);
});

test("another address than that of the dummy pod guards nothing, once our webhook has answered there", async () => {
  const bench = new Bench();
  const [main, ...rest] = asList(own["webhooks"]).map(fieldsOf);
  const ofDummy = { ...main, namespaceSelector: { matchLabels: { [name]: "dummy" } } };
  const elsewhere = { ...main, clientConfig: { url: "https://other.example.com" } };
  const entries = [ofDummy, { ...elsewhere, namespaceSelector: { matchLabels: { [name]: "shop" } } }, ...rest];
  bench.configuration = { ...own, webhooks: entries };
  bench.floors = ["shop"];
  await bench.look(false);
  assert.equal(bench.watch.named(), null);
  await bench.look(true);
  assert.equal(bench.watch.named(), "not-guarded shop");
  await bench.look(false);
  assert.equal(bench.watch.named(), "not-guarded shop", "a webhook that is away makes the other address no better");
});

test("what cannot be judged is counted and said once, and is neither guarded nor not", async () => {
  const bench = new Bench();
  bench.configuration = changed((entry) => ({ ...entry, matchConditions: [{ name: "mine", expression: "true" }] }));
  await bench.look();
  await bench.look();
  assert.equal(bench.watch.named(), null);
  assert.deepEqual([bench.count("open"), bench.count("unjudged")], [0, 2]);
  assert.match(
    bench.texts("warn").join(),
    /^Cannot judge whether deletions in namespaces pay, shop are sent: .* mine,/,
  );
  assert.equal(bench.texts("warn").length, 1);
  assert.deepEqual(bench.events, []);
});

for (const what of ["configuration", "namespaces"] as const) {
  test(`without the right to read ${what} nothing is known, which is said once`, async () => {
    const bench = new Bench();
    bench[what] = new KubeError("forbidden", "403");
    await bench.look();
    await bench.look();
    assert.equal(bench.watch.named(), undefined);
    assert.equal(bench.texts("warn").length, 1);
    assert.match(
      bench.texts("warn")[0] ?? "",
      /^May not see which namespaces .* Grant get on it, and list on namespaces$/,
    );
  });
}

test("a right that is missing is said although the configuration has another name", async () => {
  const bench = new Bench();
  bench.configuration = new KubeError("notFound", "404");
  await bench.look();
  assert.deepEqual([bench.texts("warn").length, bench.texts("info").length], [0, 1]);
  bench.namespaces = new KubeError("forbidden", "403");
  await bench.look();
  assert.equal(bench.texts("warn").length, 1);
});

test("a read that fails changes nothing, and a new term forgets all", async () => {
  const bench = new Bench();
  bench.configuration = leavingOut("shop");
  await bench.look();
  bench.configuration = new KubeError("serverError", "500");
  await bench.look();
  assert.equal(bench.watch.named(), "not-guarded shop");
  assert.equal(bench.count("open"), 1);
  bench.watch.reset();
  assert.equal(bench.watch.named(), undefined);
  assert.equal(bench.count("open"), 0);
  bench.configuration = leavingOut("shop");
  await bench.look();
  assert.deepEqual(bench.events, ["Warning NamespacesNotGuarded", "Warning NamespacesNotGuarded"]);
});

test("a look that the term's end cuts off says nothing", async () => {
  const bench = new Bench();
  bench.configuration = leavingOut("shop");
  const term = new AbortController();
  const looking = bench.watch.look(true, term.signal);
  term.abort();
  await looking;
  assert.equal(bench.watch.named(), undefined);
  assert.deepEqual(bench.events, []);
});

test("a beat names fifty namespaces, and how many more there are", async () => {
  const bench = new Bench();
  const names = Array.from({ length: 53 }, (_, index) => `n${index + 10}`);
  bench.namespaces = Object.fromEntries(names.map((one) => [one, {}]));
  bench.floors = names;
  bench.configuration = leavingOut(...names);
  await bench.look();
  const named = String(bench.watch.named());
  assert.match(named, /^not-guarded n10,n11,.*,n59 \+3$/);
  assert.match(bench.texts("error")[0] ?? "", /namespaces n10, n11, n12, n13, n14 and 48 more of cell/);
});
