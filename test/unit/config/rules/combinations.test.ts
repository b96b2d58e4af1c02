import assert from "node:assert/strict";
import { test } from "node:test";
import { load, loadGood } from "../load.ts";
import { contextsOf, serverOf } from "../../../../src/config/kubeconfig-contexts.ts";

test("the same values are accepted where nothing conflicts", () => {
  const possible = [
    "--role=aggregator --aggregator-leader-elector-enable=false --aggregator-leader-elector-lease-duration=1s",
    "--role=generator --healthz-port=9090 --healthz-bind-addr=127.0.0.2",
    "--role=generator --generator-sources=dbs.example.com,dbs.example.comx,caches.example.com-x",
    "--role=generator --healthz-port=0 --prometheus-http-port=0",
    "--role=generator --healthz-port=9090 --prometheus-http-enable=false",
    "--role=generator --healthz-port=8080",
    "--role=webhook --webhook-handler-health-criterion-ready-value=Running " +
      "--webhook-handler-health-criterion-ready-key=other",
    "--role=webhook --webhook-requires-pod-name=by-cell --webhook-requires-pod-name.by-cell-filter=a",
    "--role=webhook --webhook-enable=false --webhook-https-enable --webhook-https-cert-file=c " +
      "--webhook-https-key-file=k --webhook-client-ca-file=ca --webhook-client-allowed-names=a,b",
    "--role=webhook --webhook-https-enable --webhook-https-issued-certificate",
    "--role=webhook --webhook-drain-delay=45s",
    "--role=webhook --webhook-refusal-hold=0",
    "--role=aggregator --aggregator-rate-jitter-low=1 --aggregator-settle-window=10s",
    "--role=aggregator --worker-kube-target-namespace=a --update-trigger-dummy-pod-namespace=a",
    "--role=aggregator --worker-kube-target-namespace=a --update-trigger-dummy-pod-namespace=b " +
      "--update-trigger-enable=false",
    "--role=generator,webhook --core-kube-impersonate-uid=1 --core-kube-impersonate-username=u",
  ];
  for (const argv of possible) loadGood(argv.split(" "));
});

test("combinations of roles that do not run are not checked", () => {
  const env = { PODSEIDON_FLAG_WEBHOOK_ENABLE: "false", PODSEIDON_FLAG_AGGREGATOR_RATE_JITTER_LOW: "2" };
  assert.equal(load(["--role=generator"], { env }).kind, "config");
  assert.equal(load(["--role=webhook"], { env }).kind, "error");
});

test("cells by label work in one process and in several, however the selector is spelled", () => {
  const key = "--webhook-cell-label=example.com/cell";
  const served = "--webhook-allowed-cells=blue,green";
  assert.equal(loadGood(["--role=webhook", key, served]).webhook.cellLabel, "example.com/cell");
  assert.equal(loadGood(["--role=webhook", served]).webhook.cellLabel, undefined);
  const aggregator = ["--aggregator-cell-id=blue", "--update-trigger-dummy-pod-labels=example.com/cell=blue"];
  for (const spelled of ["example.com/cell=blue", "example.com/cell in (blue)"])
    loadGood(["--role=aggregator,webhook", key, served, `--aggregator-pod-label-selector=${spelled}`, ...aggregator]);
});

test("a client is bound to all cells of its pairs, and only bound cells are served", () => {
  const { webhook } = loadGood([
    "--role=webhook",
    "--webhook-enable=false",
    "--webhook-https-enable",
    "--webhook-https-cert-file=c",
    "--webhook-https-key-file=k",
    "--webhook-client-ca-file=ca",
    "--webhook-client-cells=a=c1,b=c2,a=c3",
  ]);
  assert.deepEqual(
    webhook.clientCells,
    new Map([
      ["a", new Set(["c1", "c3"])],
      ["b", new Set(["c2"])],
    ]),
  );
  assert.deepEqual(webhook.clientAuth?.allowedNames, new Set(["a", "b"]), "nobody else is a client");
  assert.deepEqual(webhook.allowedCells, new Set(["c1", "c3", "c2"]));
});

test("the contexts of a kubeconfig are read with their namespaces, and what is malformed is left out", () => {
  const text = `
current-context: b
contexts:
- name: a
  context: { cluster: x, namespace: shop }
- name: b
- name: 7
- text
`;
  assert.deepEqual(contextsOf(text), { current: "b", names: ["a", "b"], namespaces: new Map([["a", "shop"]]) });
  assert.deepEqual(contextsOf("current-context: [1]"), { current: undefined, names: [], namespaces: new Map() });
});

test("text that is no mapping is refused", () => {
  for (const text of ["[]", "text", "7"]) {
    if (text === "[]") assert.deepEqual(contextsOf(text).names, []);
    else assert.throws(() => contextsOf(text), /it is not a YAML mapping/);
  }
});

test("the address of a context's cluster is read with its authority", () => {
  const text = `
contexts:
- { name: a, context: { cluster: x } }
- { name: b, context: { cluster: y } }
- { name: c, context: { cluster: z } }
clusters:
- { name: x, cluster: { server: "https://x:6443", certificate-authority-data: QQ== } }
- { name: y, cluster: { server: "https://y", certificate-authority: ca.crt } }
- { name: z, cluster: {} }
`;
  const none = { authorityData: undefined, authorityFile: undefined };
  assert.deepEqual(serverOf(text, "a"), { ...none, server: "https://x:6443", authorityData: "QQ==" });
  const b = { ...none, server: "https://y", authorityFile: "ca.crt" };
  assert.deepEqual(serverOf(text, "b"), b);
  assert.equal(serverOf(text, "c"), undefined);
  assert.equal(serverOf(text, "d"), undefined);
});
