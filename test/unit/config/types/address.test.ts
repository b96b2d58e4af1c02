import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bindAddressProblem,
  cellIDProblem,
  certificateNameProblem,
  serverNameProblem,
  ipv4Fallback,
  isIPv4Fallback,
  isWildcard,
  maskPasswords,
  masterUrlProblem,
  pathPrefixProblem,
  clientCellProblem,
  readClientCell,
} from "../../../../src/config/types/address.ts";
import {
  labelKeyProblem,
  labelValueProblem,
  namespaceProblem,
  objectNameProblem,
} from "../../../../src/config/types/kubernetes-names.ts";

const good = (check: (text: string) => string | undefined, ...texts: string[]): void => {
  for (const text of texts) assert.equal(check(text), undefined, text);
};
const bad = (check: (text: string) => string | undefined, ...texts: string[]): void => {
  for (const text of texts) assert.notEqual(check(text), undefined, text);
};

test("a bind address is an IP address, a host name or nothing", () => {
  good(bindAddressProblem, "", "::1", "::", "127.0.0.1", "localhost", "node-1.example.com");
  bad(bindAddressProblem, "[::1]", "1.2.3", "1.2.3.4.5", "a b", "::1:80:x", "-a");
});

test("a master is an http or https URL or nothing", () => {
  good(masterUrlProblem, "", "https://10.0.0.1:6443", "http://localhost:8080/prefix");
  bad(masterUrlProblem, "10.0.0.1:6443", "ftp://a", "https:/a", "https://");
  bad(masterUrlProblem, "https://a/x?token=abc", "https://a?", "https://a/#x", "https://a#");
});

test("a path prefix begins with a slash and does not end with one", () => {
  good(pathPrefixProblem, "", "/a", "/a/b.c-d");
  bad(pathPrefixProblem, "a", "/", "/a/", "/a//b", "/:x", "/*", "/a b");
});

test("a cell ID is what src/api/cell-id.ts says", () => {
  good(cellIDProblem, "default", "eu-west.1", "Zelle_7");
  bad(cellIDProblem, "", "a/b", "a b", "a,b", "a=b", "a?b", "zelle-ä", "x".repeat(64));
});

test("passwords in URLs are masked and everything else stays", () => {
  assert.equal(maskPasswords("a=https://u:p@h:1/x,b=http://h/"), "a=https://***@h:1/x,b=http://h/");
  assert.equal(maskPasswords('"https://h/x?token=abc" has'), '"https://h/x?***" has');
  assert.equal(maskPasswords("a=https://h#abc,b=http://h/"), "a=https://h#***,b=http://h/");
  assert.equal(maskPasswords("klog-v? #1"), "klog-v? #1");
  assert.equal(maskPasswords("mail@example.com"), "mail@example.com");
});

test("the IPv6 addresses that mean this host or all addresses have an IPv4 fallback", () => {
  assert.equal(ipv4Fallback("::1"), "127.0.0.1");
  assert.equal(ipv4Fallback("::"), "0.0.0.0");
  assert.equal(ipv4Fallback(""), "0.0.0.0");
  assert.equal(ipv4Fallback("fe80::1"), undefined);
  assert(isIPv4Fallback("127.0.0.1", "::1"));
  assert(!isIPv4Fallback("127.0.0.1", "::"));
  assert(isWildcard("0.0.0.0") && isWildcard("::") && isWildcard("") && !isWildcard("::1"));
});

test("a certificate name is what certificates contain, and one item of a list", () => {
  good(certificateNameProblem, "kube-apiserver", "api.example.com", "10.0.0.1", "spiffe://example.com/api", "a b");
  bad(certificateNameProblem, "", "a,b", "a\nb", "x".repeat(254));
});

test("a server is named by DNS names in lower case, with a wildcard in front at most, and by addresses", () => {
  good(serverNameProblem, "a", "podseidon-webhook.podseidon-system.svc", "*.example.com", "10.0.0.1", "::1");
  bad(serverNameProblem, "", "A.example", "a b", "a.*.b", "a:443", "x".repeat(254));
});

type Check = (text: string) => string | undefined;
const cases: readonly [Check, readonly string[], readonly string[]][] = [
  [namespaceProblem, ["default", "a-1"], ["", "A", "a.b", "-a", "a-", "a".repeat(64)]],
  [objectNameProblem, ["a", "a.b-c.d1"], ["", "A", "a..b", ".a", "a_b", "a".repeat(254)]],
  [
    labelKeyProblem,
    ["a", "A_b.c-d", "example.com/a"],
    ["", "/a", "a/", "a/b/c", "Example.com/a", "-a", "a".repeat(64)],
  ],
  [labelValueProblem, ["", "a", "A_b.c-d"], ["-a", "a b", "a/b", "a".repeat(64)]],
];

test("names are checked as by the API server", () => {
  for (const [check, good, bad] of cases) {
    for (const text of good) assert.equal(check(text), undefined, `${check.name} ${text}`);
    for (const text of bad) assert.notEqual(check(text), undefined, `${check.name} ${text}`);
  }
});

test("the cell of a client stands after the last equals sign, since names of certificates may hold some", () => {
  assert.deepEqual(readClientCell("spiffe://example.com/a?b=c=worker-1"), {
    name: "spiffe://example.com/a?b=c",
    cell: "worker-1",
  });
});

test("a client without a name, or with what is no cell, is a problem that names the part", () => {
  assert.equal(clientCellProblem("worker-1=worker-1"), undefined);
  assert.equal(clientCellProblem("worker-1"), "is not NAME=CELL");
  assert.equal(clientCellProblem("=worker-1"), "is not NAME=CELL");
  assert.equal(clientCellProblem("a\nb=worker-1"), "begins with what is not a certificate name");
  assert.equal(clientCellProblem(`${"a".repeat(254)}=worker-1`), "begins with what is not a certificate name");
  assert.equal(clientCellProblem("a=b/c"), 'ends with "b/c", which is not a cell ID');
  assert.equal(clientCellProblem("a="), 'ends with "", which is not a cell ID');
});
