import { checkFiles, checkFolders } from "../../scripts/check/files.ts";
import { allows, type Planted, refuses } from "./planted-tree.ts";

const unfinished = ["TO", "DO"].join("");
const lines = (count: number): string => "// a line\n".repeat(count);

refuses(checkFiles, "a file is refused for:", [
  ["a file over 400 lines", { "test/unit/util/long.ts": lines(401) }, /^test\/unit\/util\/long\.ts: 401 lines/],
  ["a mark of unfinished work", { "docs/plan.md": `# Plan\n\n${unfinished}: all\n` }, /^docs\/plan\.md:3: .*finish it/],
  ["a file called utils", { "test/kube/utils.ts": "" }, /name the file after its one idea/],
  ["a file called something-helpers", { "test/kube/list-helpers.ts": "" }, /name the file after its one idea/],
  [
    "a registry host",
    { Dockerfile: `FROM ${["registry", "example", "com"].join(".")}/node\n` },
    /^Dockerfile:1: .*no registry host/,
  ],
  [
    "somebody's home folder",
    { Makefile: `all:\n\tcp a ${["", "home", "me"].join("/")}/bin\n` },
    /^Makefile:2: .*a path of one machine/,
  ],
  ["the path of this checkout", { "docs/a.md": "see <root>/src\n" }, /is a path of this machine/],
]);

allows(checkFiles, "the rules for files allow", [
  ["a file of exactly 400 lines", { "test/unit/util/long.ts": lines(400) }],
]);

const sources = (folder: string, count: number): Planted =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`${folder}/source-${index}.ts`, ""]));

refuses(checkFolders, "the rule for folders refuses", [
  [
    "a folder of 17 sources, tests included",
    { ...sources("test/unit/kube", 16), "test/unit/kube/a.test.ts": "" },
    "test/unit/kube: 17 sources (at most 16): make rooms in it",
  ],
  ["17 programs beside each other", sources("scripts", 16), "scripts: 17 sources (at most 16): make rooms in it"],
]);

allows(checkFolders, "the rule for folders allows", [
  ["16 sources, more in the rooms of the folder", { ...sources("src/kube", 16), ...sources("src/kube/watch", 16) }],
  ["data beside the sources", { ...sources("src/kube", 16), "src/kube/a.txt": "", "src/kube/b.json": "" }],
]);
