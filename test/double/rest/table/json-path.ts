/** The JSON paths of printer columns: `.a.b`, `.a[0]`, `.a\.b` and `.a[?(@.type=="X")].b`. */
import { asArray, asObject, isObject } from "../../engine/object.ts";
import { notImplemented } from "../../engine/status.ts";

type Step = (value: unknown) => unknown;

const field = /^\.((?:[\w/-]|\\\.)+)/;
const index = /^\[(\d+)\]/;
const filter = /^\[\?\(@\.([\w]+)\s*==\s*["']([^"']*)["']\)\]/;

function nextStep(path: string): { readonly step: Step; readonly length: number } {
  const named = field.exec(path);
  if (named !== null) {
    const key = named[1]!.replaceAll("\\.", ".");
    return { step: (value) => (isObject(value) ? value[key] : undefined), length: named[0].length };
  }
  const numbered = index.exec(path);
  if (numbered !== null) return { step: (value) => asArray(value)[Number(numbered[1])], length: numbered[0].length };
  const filtered = filter.exec(path);
  if (filtered === null) throw notImplemented(`the JSON path ${path}`);
  const [text, key = "", wanted = ""] = filtered;
  return { step: (value) => asArray(value).find((item) => asObject(item)[key] === wanted), length: text.length };
}

/** A reader of the first value that `path` leads to; undefined = there is none. Throws 501 for paths of other forms. */
export function compileJsonPath(path: string): Step {
  const steps: Step[] = [];
  for (let rest = path; rest !== "";) {
    const { step, length } = nextStep(rest);
    steps.push(step);
    rest = rest.slice(length);
  }
  return (value) => steps.reduce((found, step) => step(found), value);
}
