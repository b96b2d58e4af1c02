import { checkPackages } from "../../scripts/check/packages.ts";
import { refuses } from "./planted-tree.ts";

const manifest = (version: string): string => `{ "dependencies": { "valibot": "${version}" } }`;

refuses(checkPackages, "the rules for packages refuse", [
  ["a version range", { "package.json": manifest("^1.5.0") }, /valibot "\^1\.5\.0" is not an exact version/],
  ["a version by tag", { "package.json": manifest("latest") }, /valibot "latest" is not an exact version/],
  [
    "a lock file that names a server",
    { "package-lock.json": `{\n  "resolved": "https://example.test/valibot.tgz"\n}\n` },
    /package-lock\.json: carries "resolved"/,
  ],
  ["a package without a reason", { "docs/dependencies.md": "" }, /docs\/dependencies\.md: no reason for valibot/],
  [
    "a reason for a package that is gone",
    { "docs/dependencies.md": "| `valibot` | a | b |\n| `left` | a | b |\n" },
    /docs\/dependencies\.md: left is no longer a dependency/,
  ],
]);
