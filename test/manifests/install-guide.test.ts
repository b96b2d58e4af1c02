import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { test } from "node:test";
import { installOptions } from "../../src/commands/install/options.ts";
import { isFlagName } from "../../src/config/flag-table.ts";

const repository = path.join(import.meta.dirname, "../..");
const guide = readFileSync(path.join(repository, "docs/install.md"), "utf8");

const ofInstall = new Set(installOptions.map(({ usage }) => /--([-a-z]+)/.exec(usage)?.[1]));

test("every flag of the program that the installation guide uses exists", () => {
  const used = [
    ...guide.matchAll(
      /--((?:role|webhook|aggregator|generator|update-trigger|deployment-plugin|core-kube|worker-kube)[-.a-z]*)/g,
    ),
  ];
  const names = used.map((match) => match[1] ?? "");
  assert.ok(names.length >= 10);
  assert.deepEqual(
    names.filter((name) => !isFlagName(name) && !ofInstall.has(name)),
    [],
  );
});

test("every file and folder of the repository that the installation guide names exists", () => {
  const used = [...guide.matchAll(/(?<![-\w/])(?:\.\.\/)?((?:manifests|scripts)\/[-\w/@.]*[\w])/g)].map(
    (match) => match[1] ?? "",
  );
  assert.ok(used.length >= 8);
  for (const name of used) assert.ok(existsSync(path.join(repository, name)), name);
});

test("every heading that the installation guide links to exists", () => {
  const headings = [...guide.matchAll(/^#+ (.*)$/gm)].map((match) =>
    (match[1] ?? "")
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, "")
      .replaceAll(" ", "-"),
  );
  const anchors = [...guide.matchAll(/\]\(#([^)]+)\)/g)].map((match) => match[1] ?? "");
  assert.ok(anchors.length >= 5);
  for (const anchor of anchors) assert.ok(headings.includes(anchor), anchor);
});
