import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CertificateRequestError,
  checkClientName,
  checkDnsName,
  checkServerNames,
  validityOfDays,
} from "../../../src/certificates/request.ts";

const now = new Date("2026-11-20T12:00:00Z");

test("a certificate of days is valid from an hour ago until they have passed", () => {
  const { notBefore, notAfter } = validityOfDays(30, now);
  assert.equal(notBefore.toISOString(), "2026-11-20T11:00:00.000Z");
  assert.equal(notAfter.toISOString(), "2026-12-20T12:00:00.000Z");
});

for (const [what, check] of [
  ["no name at all", () => checkServerNames({ dnsNames: [], ipAddresses: [] })],
  ["a name with a space", () => checkServerNames({ dnsNames: ["a b"], ipAddresses: [] })],
  ["a wildcard inside a name", () => checkDnsName("a.*.b")],
  ["a name in capitals", () => checkDnsName("Example.com")],
  ["an address that is none", () => checkServerNames({ dnsNames: [], ipAddresses: ["1.2.3"] })],
  ["a client without a name", () => checkClientName("")],
  ["a client whose name could hide another one", () => checkClientName("a,O=system:masters")],
  ["a client whose name has a space", () => checkClientName("a b")],
  ["a client whose name begins with a hyphen", () => checkClientName("-a")],
  ["a client whose name is too long", () => checkClientName("a".repeat(64))],
  ["zero days", () => validityOfDays(0, now)],
  ["half a day", () => validityOfDays(0.5, now)],
  ["more than ten years", () => validityOfDays(3651, now)],
] as const) {
  test(`a certificate for ${what} is refused`, () => {
    assert.throws(check, CertificateRequestError);
  });
}

test("a wildcard may stand in front of a name", () => {
  checkDnsName("*.example.org");
});
