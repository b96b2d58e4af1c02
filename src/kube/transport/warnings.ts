/** Reads the Warning header, in which an API server passes on what admission webhooks warn of. */

/** As RFC 7234 writes it: code, agent, text in quotes, and perhaps a date. Proxies join several by commas. */
const warningValue = /(\d{3}) [^\s",]+ "((?:[^"\\]|\\.)*)"/g;

/** The texts of the header's values with the code 299, the only one that Kubernetes gives; others are left out. */
export function readWarnings(header: unknown): readonly string[] {
  if (header === undefined) return [];
  const values: readonly unknown[] = Array.isArray(header) ? header : [header];
  return values.flatMap((value) =>
    [...String(value).matchAll(warningValue)]
      .filter(([, code]) => code === "299")
      .map(([, , text = ""]) => text.replaceAll(/\\(.)/g, "$1")),
  );
}
