// Bundles src/ and the libraries that it uses into one JavaScript file. Roles stay lazy: what `import()` reaches is in
// the same file, but runs only when its role starts, so `--version` and a single role start fast.
import path from "node:path";
import * as esbuild from "esbuild";

export interface BundleFacts {
  /** The commit of the sources; "unknown" outside of a git checkout. */
  readonly commit: string;
}

/**
 * KubeConfig of client-node, which only users with an `auth-provider` need, takes two functions from an index that also
 * exports its 700 models and all API classes. esbuild does not tree-shake modules that `import()` reaches, so all of
 * them would stay: 3 MB, and 40 ms of every start. If a new KubeConfig needs more of the index, the build fails: no
 * matching export. Declaring the modules free of side effects instead leaves 0.4 MB of models in the bundle.
 */
const narrowClientNode: esbuild.Plugin = {
  name: "narrow-client-node",
  setup(build) {
    build.onLoad({ filter: /@kubernetes.client-node.dist.gen.index\.js$/ }, () => ({
      contents:
        'export { createConfiguration } from "./configuration.js"; export { ServerConfiguration } from "./servers.js";',
    }));
  },
};

/** Bundles `entry` (relative to `root`) into `outfile`. Throws on any warning about our own sources. */
export async function bundle(
  root: string,
  entry: string,
  outfile: string,
  facts: BundleFacts,
): Promise<esbuild.Metafile> {
  const result = await esbuild.build({
    absWorkingDir: root,
    entryPoints: [entry],
    outfile,
    bundle: true,
    platform: "node",
    target: "node26",
    format: "esm",
    minify: true,
    keepNames: true, // class and function names appear in logs and stack traces
    legalComments: "none", // dist/THIRD-PARTY-LICENSES.txt holds the whole texts
    metafile: true,
    logLevel: "silent",
    plugins: [narrowClientNode],
    define: {
      __PODSEIDON_COMMIT__: JSON.stringify(facts.commit),
    },
    // Some libraries are CommonJS and call require for Node's own modules.
    banner: {
      js: "import{createRequire as __createRequire}from'node:module';const require=__createRequire(import.meta.url);",
    },
  });
  const warning = result.warnings.find(({ location }) => location?.file.includes("node_modules") !== true);
  if (warning !== undefined) throw new Error(`esbuild: ${warning.location?.file ?? entry}: ${warning.text}`);
  return result.metafile;
}

/** The files that contribute to the bundle. esbuild reads others that it finds unused. */
export function filesInBundle(metafile: esbuild.Metafile): string[] {
  return Object.values(metafile.outputs).flatMap((output) =>
    Object.entries(output.inputs).flatMap(([file, { bytesInOutput }]) => (bytesInOutput > 0 ? [file] : [])),
  );
}

/** The files that run when `entry` is loaded: its imports, and theirs, without what only `import()` reaches. */
export function filesLoadedAtStart(metafile: esbuild.Metafile, entry: string): Set<string> {
  const seen = new Set([entry]);
  for (const file of seen) {
    for (const site of metafile.inputs[file]?.imports ?? []) {
      if (site.kind !== "dynamic-import" && site.external !== true) seen.add(path.posix.normalize(site.path));
    }
  }
  return seen;
}
