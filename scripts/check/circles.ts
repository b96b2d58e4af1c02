// No circle of imports among files, imports of types included: files in a circle can only be understood together. The
// lint's import/no-cycle sees no circle that is closed by types alone.
import path from "node:path";
import { type Repository } from "./repository.ts";

type Graph = ReadonlyMap<string, readonly string[]>;

/** Which files of the repository each source names, as paths from the root. */
function readGraph(repository: Repository): Graph {
  const graph = new Map<string, readonly string[]>();
  for (const { path: file, syntax } of repository.sources) {
    const targets = syntax.imports.flatMap(({ specifier }) =>
      specifier?.startsWith(".") === true ? [path.posix.join(path.posix.dirname(file), specifier)] : [],
    );
    graph.set(file, targets);
  }
  return graph;
}

/** The shortest way from `start` back to it, `start` at both ends; undefined when there is none. */
function findCircle(graph: Graph, start: string): readonly string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const file of queue) {
    for (const target of graph.get(file) ?? []) {
      if (target === start) {
        const circle = [file, start];
        for (let at = file; at !== start; at = circle[0] ?? start) circle.unshift(cameFrom.get(at) ?? start);
        return circle;
      }
      if (cameFrom.has(target)) continue;
      cameFrom.set(target, file);
      queue.push(target);
    }
  }
  return undefined;
}

/** Checks all sources; returns one line for each circle, the shortest through a file that is in no other line. */
export function checkCircles(repository: Repository): string[] {
  const graph = readGraph(repository);
  const reported = new Set<string>();
  const problems: string[] = [];
  for (const file of graph.keys()) {
    if (reported.has(file)) continue;
    const circle = findCircle(graph, file);
    if (circle === undefined) continue;
    for (const member of circle) reported.add(member);
    problems.push(`${file}: imports itself in a circle: ${circle.join(" > ")}`);
  }
  return problems;
}
