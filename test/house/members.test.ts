import { checkMembers } from "../../scripts/check/members.ts";
import { allows, refuses } from "./planted-tree.ts";

const listPath = "test/house/unused-members.json";

refuses(checkMembers, "the rule for members refuses", [
  [
    "a method that only a test calls",
    {
      "src/util/box.ts": "export class Box {\n  open(): number {\n    return 1;\n  }\n}\n",
      "test/unit/util/box.test.ts": `import { Box } from "../../../src/util/box.ts";\nnew Box().open();\n`,
    },
    "src/util/box.ts:2: Box.open: nothing in src/ reads it",
  ],
  [
    "a getter whose name others use",
    {
      "src/util/box.ts": `export class Box {
  readonly #items = new Map<string, number>();
  get size(): number {
    return this.#items.size;
  }
}
`,
    },
    "src/util/box.ts:3: Box.size: nothing in src/ reads it",
  ],
  [
    "a public field that only its own class reads",
    {
      "src/util/box.ts": `export class Box {
  count = 1;
  readonly #twice = (): number => 2 * this.count;
}
`,
    },
    "src/util/box.ts:2: Box.count: nothing in src/ reads it",
  ],
  [
    "a field that is only written",
    {
      "src/util/box.ts": `export class Box {
  count = 1;
}
export const fill = (box: Box): void => {
  box.count = 2;
};
`,
    },
    "src/util/box.ts:2: Box.count: nothing in src/ reads it",
  ],
  [
    "a method of an interface that nothing calls",
    { "src/util/box.ts": "export interface Box {\n  open(): number;\n}\nexport const box: Box = { open: () => 1 };\n" },
    "src/util/box.ts:2: Box.open: nothing in src/ reads it",
  ],
  [
    "a method that only the script of a page seems to call",
    {
      "src/util/box.ts": "export class Box {\n  open(): number {\n    return 1;\n  }\n}\n",
      "assets/page/show.js": "export const show = (box) => box.open();\n",
    },
    "src/util/box.ts:2: Box.open: nothing in src/ reads it",
  ],
  [
    "a property of one variant that nothing reads",
    {
      "src/util/box.ts": `export type Box = { readonly kind: "full"; readonly items: 1 } | { readonly kind: "empty" };
export const isFull = (box: Box): boolean => box.kind === "full";
`,
    },
    "src/util/box.ts:1: Box.items: nothing in src/ reads it",
  ],
  [
    "a method of a type that it does not fit, although another type has it",
    {
      "src/util/box.ts": `export class Box {
  open(): void {}
}
export interface Door {
  open(): void;
  close(): void;
}
export const slam = (door: Door): void => {
  door.open();
  door.close();
};
`,
    },
    "src/util/box.ts:2: Box.open: nothing in src/ reads it",
  ],
  [
    "a listed member that is used",
    {
      "src/util/box.ts": "export const open = (box: { lid: number }): number => box.lid;\n",
      [listPath]: `{ "src/util/box.ts Box.lid": "a reason" }`,
    },
    `${listPath}: src/util/box.ts Box.lid is used or gone: strike it off`,
  ],
  [
    "a listed member without a reason",
    {
      "src/util/box.ts": "export interface Box {\n  lid: number;\n}\n",
      [listPath]: `{ "src/util/box.ts Box.lid": "" }`,
    },
    `${listPath}: src/util/box.ts Box.lid has no reason`,
  ],
]);

allows(checkMembers, "the rule for members allows", [
  [
    "members that are read, called, taken out of an object, or asked for by name",
    {
      "src/util/box.ts": `export interface Box {
  readonly width: number;
  readonly height: number;
  readonly depth: number;
  open(): void;
}
export const volume = ({ width, height: tall }: Box, box: Box): number => {
  box.open();
  return width * tall * box["depth"];
};
`,
    },
  ],
  [
    "methods that are called through an interface",
    {
      "src/util/box.ts": `export interface Door {
  open(): void;
}
export class Box implements Door {
  open(): void {}
}
export class Gate {
  open(): void {}
}
export const enter = (door: Door): void => door.open();
enter(new Box());
enter(new Gate());
`,
    },
  ],
  [
    "methods that a library calls",
    {
      "src/util/box.ts": `import { type Abortable } from "node:events";
import { Writable } from "node:stream";
export class Box extends Writable {
  _write(): void {}
}
export class Lid implements Abortable {
  signal = new AbortController().signal;
}
export class Handle implements AsyncIterable<number>, Disposable {
  async *[Symbol.asyncIterator](): AsyncGenerator<number> {
    yield 1;
  }
  [Symbol.dispose](): void {}
}
`,
    },
  ],
  [
    "data that is read through another type",
    {
      "src/util/box.ts": `export interface Settings {
  readonly lid: number;
}
export const open = (options: { readonly lid: number; readonly speed: number }): number => options.lid + options.speed;
export const slowly = (settings: Settings): number => open({ ...settings, speed: 1 });
`,
    },
  ],
  [
    "fields of objects as clusters store them",
    { "src/api/pod.ts": "export interface Pod {\n  readonly spec: object;\n}\n" },
  ],
  [
    "data that the script of a page reads",
    {
      "src/util/box.ts": "export interface Box {\n  readonly lid: number;\n}\n",
      "assets/page/show.js": "export const show = ({ lid }) => lid;\n",
    },
  ],
  [
    "a listed member",
    {
      "src/util/box.ts": "export interface Box {\n  lid: number;\n}\n",
      [listPath]: `{ "src/util/box.ts Box.lid": "the contract of boxes" }`,
    },
  ],
]);
