import assert from "node:assert/strict";
import { test } from "node:test";
import { readCertificates } from "../../../src/util/pem-certificates.ts";
import { createPem } from "../server/certificates.ts";

const subjects = (pem: string): string[] => readCertificates(pem).map(({ subject }) => subject);

test("all certificates of a PEM file are read, whatever stands between them", async () => {
  const [one, two] = await Promise.all([createPem("one"), createPem("two")]);
  const text = `# the first\n${one.cert}\n${one.key}\r\nsubject=two\n${two.cert.replaceAll("\n", "\r\n")}`;
  assert.deepEqual(subjects(text), ["CN=one", "CN=two"]);
  assert.deepEqual(subjects(""), []);
  assert.deepEqual(subjects(one.key), []);
});

test("a broken certificate is an error that says which one it is, wherever it stands", async () => {
  const [one, two, three] = (await Promise.all(["1", "2", "3"].map((name) => createPem(name)))).map(
    ({ cert }) => `${cert.trim()}\n`,
  );
  assert.ok(one !== undefined && two !== undefined && three !== undefined);
  const [head, ...lines] = two.split("\n");
  const damages = [
    [head, "AAAA", ...lines].join("\n"),
    [head, ...lines.slice(2)].join("\n"),
    two.replace("-----END CERTIFICATE-----", ""),
    two.replace("END CERTIFICATE", "END"),
    two.trim(),
    ` ${two}`,
    `${head}\n-----END CERTIFICATE-----\n`,
  ];
  for (const damaged of damages) {
    assert.throws(() => readCertificates(`${one}${damaged}${three}`), /^Error: certificate 2 of 3 is broken$/, damaged);
  }
});
