/** `podseidon install systemd`: prints the unit and the environment files, or writes them into a folder. */
import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { messageOf } from "../../util/printable.ts";
import { invalid } from "../clusters/options.ts";
import { type CommandContext, type CommandEnd, wrongUsage } from "../command.ts";
import { systemdFiles } from "./objects.ts";
import { type InstallOptions } from "./options.ts";

/** The cell in the files of manifests/systemd. */
const documentedCell = "worker-1";

/** Where each file belongs. */
function targetOf(name: string): string {
  return name.endsWith(".service") ? `/etc/systemd/system/${name}` : `/etc/podseidon/${name}`;
}

export function systemd({ write }: CommandContext, { cells, out, isDryRun }: InstallOptions): CommandEnd {
  const [cell = documentedCell, ...others] = cells;
  if (others.length > 0) {
    const problem = invalid("cells", cells.join(","), "is more than one cell", "that of the aggregator on this host");
    return wrongUsage(`install: ${problem.message}`);
  }
  for (const [name, text] of systemdFiles()) {
    const ofCell = text.replaceAll(documentedCell, cell);
    if (out === undefined) {
      write(`# ${targetOf(name)}\n${ofCell}\n`);
      continue;
    }
    const file = path.join(out, name);
    const problem = isDryRun ? undefined : writeFile(out, file, ofCell);
    if (problem !== undefined) return { exitCode: 1, problem: `install: ${problem}` };
    write(`${isDryRun ? "would write" : "wrote"} ${file}, for ${targetOf(name)}\n`);
  }
  return { exitCode: 0 };
}

function writeFile(folder: string, file: string, text: string): string | undefined {
  try {
    mkdirSync(folder, { recursive: true });
    writeFileSync(file, text);
    return undefined;
  } catch (error) {
    return `cannot write ${file}: ${messageOf(error)}`;
  }
}
