// Bundles src/ and the libraries that it uses into one JavaScript file. Roles stay lazy: what `import()` reaches is in
// the same file, but runs only when its role starts, so `--version` and a single role start fast.
import path from "node:path";
import * as esbuild from "esbuild";

export interface BundleFacts {
  /** The commit of the sources; "unknown" outside of a git checkout. */
  readonly commit: string;
}

/**
 * Parts of libraries that the product does not use. esbuild does not tree-shake CommonJS, or modules that `import()`
 * reaches, so everything would stay. If a new version needs more of an index, the build fails: no matching
 * export.
 * - client-node: KubeConfig, which only users with an `auth-provider` need, takes two functions. The index also exports
 *   700 models and all API classes: 3 MB, and 40 ms of every start. Declaring the modules free of side effects instead
 *   leaves 0.4 MB of models in the bundle.
 * - undici: its index loads mocks of the network, a cache in SQLite and EventSource.
 */
const narrowIndexes: readonly { readonly filter: RegExp; readonly exports: readonly string[] }[] = [
  {
    filter: /@kubernetes.client-node.dist.gen.index\.js$/,
    exports: ['{ createConfiguration } from "./configuration.js"', '{ ServerConfiguration } from "./servers.js"'],
  },
  { filter: /node_modules.undici.lib.(?:mock|cache.sqlite|web.eventsource)[a-z/\\-]*\.js$/, exports: [] },
];

const narrowLibraries: esbuild.Plugin = {
  name: "narrow-libraries",
  setup(build) {
    for (const { filter, exports } of narrowIndexes) {
      build.onLoad({ filter }, () => ({ contents: exports.map((one) => `export ${one};`).join("\n") }));
    }
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
    plugins: [narrowLibraries],
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
