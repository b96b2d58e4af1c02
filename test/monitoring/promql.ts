/** Which series a PromQL expression reads, as far as the expressions of this repository go. */

export interface Selector {
  readonly metric: string;
  /** Labels by which it selects, and how. */
  readonly labels: readonly string[];
}

export interface Reading {
  readonly selectors: readonly Selector[];
  /** Labels of by, without, on and ignoring. */
  readonly grouped: readonly string[];
}

const words = new Set(["and", "or", "unless", "by", "without", "on", "ignoring", "bool", "offset", "inf", "nan"]);

/** Throws for an expression that it cannot read, rather than to miss a metric. */
export function readPromQL(expression: string): Reading {
  const selectors: Selector[] = [];
  const grouped: string[] = [];
  const rest = { text: expression };
  const take = (pattern: RegExp): string | undefined => {
    const found = pattern.exec(rest.text)?.[0];
    if (found !== undefined) rest.text = rest.text.slice(found.length);
    return found;
  };
  while (rest.text !== "") {
    if (take(/^\s+/) !== undefined) continue;
    const grouping = take(/^(?:by|without|on|ignoring)\s*\([^)]*\)/i);
    if (grouping !== undefined) {
      grouped.push(...(grouping.replace(/^\w+\s*\(/, "").match(/[A-Za-z_]\w*/g) ?? []));
      continue;
    }
    const name = take(/^[A-Za-z_:][\w:]*/);
    if (name !== undefined) {
      if (words.has(name.toLowerCase()) || /^\s*\(/.test(rest.text) || /^\s+(?:by|without)\s*\(/.test(rest.text))
        continue;
      const matchers = take(/^\{[^}]*\}/) ?? "";
      const labels = Array.from(matchers.matchAll(/([A-Za-z_]\w*)\s*(?:=~|!~|!=|=)\s*"/g), ([, label = ""]) => label);
      selectors.push({ metric: name, labels });
      continue;
    }
    const other = take(/^(?:\[\w+\]|\d+(?:\.\d+)?(?:ms|[smhdwy])?|[-+*/()<>=!,]+|"[^"]*")/);
    if (other === undefined) throw new Error(`cannot read ${JSON.stringify(rest.text)} of ${expression}`);
  }
  return { selectors, grouped };
}
