/** The roles that the pages start by `docker run`. */
import { allCommandBlocks } from "./command-blocks.ts";

export interface DockerRun {
  readonly file: string;
  /** Behind the name of the image. */
  readonly argv: readonly string[];
}

/** All `docker run` of the pages that start a role. */
export function roleRuns(): readonly DockerRun[] {
  return allCommandBlocks().flatMap(({ file, text }) => {
    const commands = text.replaceAll(/\s*\\\n\s*/g, " ").split("\n");
    return commands.flatMap((command) => {
      const [, args] = /^docker run .* podseidon(?::\S+)? (--role=.*)$/.exec(command) ?? [];
      return args === undefined ? [] : [{ file, argv: args.split(/\s+/) }];
    });
  });
}
