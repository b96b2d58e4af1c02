/**
 * What `status` says first when somebody has deleted the CRD of PodProtectors: the table below it may look well, since
 * finalizers keep the objects for a while (docs/disasters.md#the-crd-is-lost).
 */
import { type CoreLook } from "../fleet/look.ts";
import { type Terminal } from "../command.ts";
import { coloured } from "../text/colour.ts";
import { wrapped } from "../text/wrap.ts";

/** "" when it is there, or not known to be lost. Ends with a line end. */
export function lostDefinitionText(
  { definition }: Pick<CoreLook, "definition">,
  { terminal, program }: { readonly terminal: Pick<Terminal, "columns" | "isColoured">; readonly program: string },
): string {
  if (definition !== "terminating" && definition !== "gone") return "";
  const [what, command] =
    definition === "gone"
      ? ["The CRD of PodProtectors is gone, and all PodProtectors with it", `${program} restore crd --file=FILE`]
      : ["The CRD of PodProtectors has been deleted; finalizers alone keep what is left", `${program} restore crd`];
  const cure = `${what}. Do not restart webhooks. Stop the generator, leave it stopped, and then:`;
  const lines = wrapped(cure, terminal.columns, "  ").map((line) => coloured(terminal, "bad", line));
  // On a line of its own, which is not broken, so that it can be copied.
  return `${[...lines, `  ${command}`].join("\n")}\n`;
}
