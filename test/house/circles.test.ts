import assert from "node:assert/strict";
import { test } from "node:test";
import { checkCircles } from "../../scripts/check/circles.ts";
import { problemsOf, refuses } from "./planted-tree.ts";

refuses(checkCircles, "a circle of imports  is found once", [
  [
    "of values",
    { "src/api/a.ts": `import "./b.ts";`, "src/api/b.ts": `export * from "./a.ts";` },
    "src/api/a.ts: imports itself in a circle: src/api/a.ts > src/api/b.ts > src/api/a.ts",
  ],
  [
    "of types alone",
    { "src/api/a.ts": `import type { B } from "./b.ts";`, "src/api/b.ts": `import { type A } from "./a.ts";` },
    "src/api/a.ts: imports itself in a circle: src/api/a.ts > src/api/b.ts > src/api/a.ts",
  ],
  [
    "that a type by import() closes",
    { "src/api/a.ts": `import "./b.ts";`, "src/api/b.ts": `export type A = import("./a.ts").A;` },
    "src/api/a.ts: imports itself in a circle: src/api/a.ts > src/api/b.ts > src/api/a.ts",
  ],
  [
    "of three files in two folders of tests",
    {
      "test/unit/a.ts": `import "./b.ts";`,
      "test/unit/b.ts": `import "../double/c.ts";`,
      "test/double/c.ts": `import "../unit/a.ts";`,
    },
    "test/double/c.ts: imports itself in a circle: " +
      "test/double/c.ts > test/unit/a.ts > test/unit/b.ts > test/double/c.ts",
  ],
  [
    "of folders of one layer",
    {
      "src/kube/a.ts": `import "../lifecycle/b.ts";`,
      "src/lifecycle/b.ts": "",
      "src/lifecycle/c.ts": `import "../observability/d.ts";`,
      "src/observability/d.ts": `import "../kube/e.ts";`,
      "src/kube/e.ts": "",
    },
    "src/kube: imports itself in a circle: src/kube > src/lifecycle > src/observability > src/kube",
  ],
  [
    "of folders in a folder",
    {
      "src/webhook/http/a.ts": `import "../decide/b.ts";`,
      "src/webhook/decide/b.ts": "",
      "src/webhook/decide/deep/c.ts": `import type { D } from "../../http/d.ts";`,
      "src/webhook/http/d.ts": "",
    },
    "src/webhook/decide: imports itself in a circle: src/webhook/decide > src/webhook/http > src/webhook/decide",
  ],
  [
    "of a folder and a file beside it",
    {
      "src/webhook/webhook.ts": `import "./http/a.ts";`,
      "src/webhook/http/a.ts": "",
      "src/webhook/http/b.ts": `import "../webhook.ts";`,
    },
    "src/webhook/http: imports itself in a circle: src/webhook/http > src/webhook/webhook.ts > src/webhook/http",
  ],
  [
    "of one file",
    { "scripts/a.ts": `import "./a.ts";` },
    "scripts/a.ts: imports itself in a circle: scripts/a.ts > scripts/a.ts",
  ],
]);

test("two ways to one file are no circle", () => {
  const planted = {
    "src/api/a.ts": `import "./b.ts";\nimport "./c.ts";`,
    "src/api/b.ts": `import "./c.ts";\n// import "./a.ts"`,
    "src/api/c.ts": `export const text = 'import "./a.ts"';`,
  };
  assert.deepEqual(problemsOf(checkCircles, planted), []);
});
