/** Looks for a program as a shell does. */
import { accessSync, constants } from "node:fs";
import path from "node:path";

/** Whether a program of that name is in one of the folders of `searchPath`, the value of PATH. */
export function hasProgram(name: string, searchPath: string): boolean {
  return searchPath
    .split(path.delimiter)
    .filter((folder) => folder !== "")
    .some((folder) => {
      try {
        accessSync(path.join(folder, name), constants.X_OK);
        return true;
      } catch {
        return false; // not here
      }
    });
}
