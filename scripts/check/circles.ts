// No circle of imports, imports of types included: what stands in a circle can only be understood together. Files must
// form none anywhere, and in src/ the folders beside each other must form none either. The lint's import/no-cycle sees
// no circle that types alone close, and none of folders.
import path from "node:path";
import { type Repository } from "./repository.ts";

/** Files, or folders of one parent, each with those that it imports. */
type Graph = Map<string, Set<string>>;

const addEdge = (graph: Graph, from: string, to: string): void => {
  graph.set(from, (graph.get(from) ?? new Set()).add(to));
};

/** Which files each source imports, as paths from the root. */
function readFiles(repository: Repository): Graph {
  const graph: Graph = new Map();
  for (const { path: file, syntax } of repository.sources) {
    for (const { specifier } of syntax.imports) {
      if (specifier?.startsWith(".") === true)
        addEdge(graph, file, path.posix.join(path.posix.dirname(file), specifier));
    }
  }
  return graph;
}

/** For each folder of src/: which of the folders and files directly in it import which others of them. */
function readFolders(files: Graph): Graph[] {
  const graphs = new Map<string, Graph>();
  for (const [from, targets] of files) {
    for (const to of targets) {
      if (!from.startsWith("src/") || !to.startsWith("src/")) continue;
      const [fromParts, toParts] = [from.split("/"), to.split("/")];
      const depth = fromParts.findIndex((part, index) => part !== toParts[index]);
      if (depth === -1) continue; // a file that imports itself is no circle of folders
      const parent = fromParts.slice(0, depth).join("/");
      const graph = graphs.get(parent) ?? new Map();
      graphs.set(parent, graph);
      addEdge(graph, fromParts.slice(0, depth + 1).join("/"), toParts.slice(0, depth + 1).join("/"));
    }
  }
  return Array.from(graphs.values());
}

/** The shortest way from `start` back to it, `start` at both ends; undefined when there is none. */
function findCircle(graph: Graph, start: string): readonly string[] | undefined {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const node of queue) {
    for (const target of graph.get(node) ?? []) {
      if (target === start) {
        const circle = [node, start];
        for (let at = node; at !== start; at = circle[0] ?? start) circle.unshift(cameFrom.get(at) ?? start);
        return circle;
      }
      if (cameFrom.has(target)) continue;
      cameFrom.set(target, node);
      queue.push(target);
    }
  }
  return undefined;
}

/** One circle, the shortest, through each node that is in none of the circles found before. */
function findCircles(graph: Graph): (readonly string[])[] {
  const found: (readonly string[])[] = [];
  const seen = new Set<string>();
  for (const node of Array.from(graph.keys()).toSorted()) {
    const circle = seen.has(node) ? undefined : findCircle(graph, node);
    if (circle === undefined) continue;
    for (const member of circle) seen.add(member);
    found.push(circle);
  }
  return found;
}

/** Checks all sources; returns one line for each circle. */
export function checkCircles(repository: Repository): string[] {
  const files = readFiles(repository);
  const ofFiles = findCircles(files);
  // A circle of files in one folder is one of the entries of that folder, too.
  const known = new Set(ofFiles.map((circle) => circle.join(" > ")));
  const ofFolders = readFolders(files).flatMap(findCircles);
  const all = [...ofFiles, ...ofFolders.filter((circle) => !known.has(circle.join(" > ")))];
  return all.map((circle) => `${circle[0]}: imports itself in a circle: ${circle.join(" > ")}`);
}
