/** Opens a page in the browser of whoever runs the command. */
import { spawn } from "node:child_process";

/** The program that opens a URL on this kind of machine, and its arguments. Pure. */
export function browserCommand(platform: NodeJS.Platform, url: string): readonly [string, readonly string[]] {
  switch (platform) {
    case "darwin":
      return ["open", [url]];
    case "win32":
      return ["explorer", [url]];
    default:
      return ["xdg-open", [url]];
  }
}

/** Resolves to what is wrong; undefined = it was started. The browser lives on when this program ends. */
export function openBrowser(url: string, platform: NodeJS.Platform = process.platform): Promise<string | undefined> {
  const [program, args] = browserCommand(platform, url);
  return new Promise((resolve) => {
    const child = spawn(program, args, { stdio: "ignore", detached: true });
    child.once("error", (error) => resolve(`cannot run ${program}: ${error.message}`));
    child.once("spawn", () => {
      child.unref();
      resolve(undefined);
    });
  });
}
