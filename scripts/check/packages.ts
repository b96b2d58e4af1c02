// Rules for what the project depends on: exact versions, a lock file that names no server, and a reason for every
// package.
import { type Repository } from "./repository.ts";

type Manifest = Readonly<Partial<Record<(typeof sections)[number], Readonly<Record<string, string>>>>>;

const sections = ["dependencies", "devDependencies", "optionalDependencies", "peerDependencies"] as const;
const exactVersion = /^\d+\.\d+\.\d+(?:-[\w.]+)?$/;
const reasonLine = /^\| `([^`]+)` \|[^|]*\|\s*\S/gm;

/** Checks package.json, package-lock.json and docs/dependencies.md; returns one line for each violation. */
export function checkPackages(repository: Repository): string[] {
  const manifest = JSON.parse(repository.read("package.json") ?? "{}") as Manifest;
  const versions = sections.flatMap((section) => Object.entries(manifest[section] ?? {}));
  const problems: string[] = [];

  for (const [name, version] of versions) {
    if (!exactVersion.test(version)) problems.push(`package.json: ${name} "${version}" is not an exact version`);
  }
  const lock = repository.read("package-lock.json");
  if (lock === undefined) problems.push("package-lock.json: missing");
  else if (/^\s*"resolved":/m.test(lock)) {
    problems.push(
      'package-lock.json: carries "resolved", which names a server (.npmrc: omit-lockfile-registry-resolved)',
    );
  }

  const names = new Set(versions.map(([name]) => name));
  const doc = repository.read("docs/dependencies.md") ?? "";
  const explained = new Set(Array.from(doc.matchAll(reasonLine), (match) => match[1] ?? ""));
  for (const name of names.difference(explained)) problems.push(`docs/dependencies.md: no reason for ${name}`);
  for (const name of explained.difference(names))
    problems.push(`docs/dependencies.md: ${name} is no longer a dependency`);
  return problems;
}
