/** Finds the Chromium of the distribution, and starts it without a window. */
import { accessSync, constants } from "node:fs";
import path from "node:path";
import { launch, type Browser } from "puppeteer-core";

const names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/** The path of the executable; undefined = this machine has none. */
export function findChromium(): string | undefined {
  const folders = (process.env["PATH"] ?? "").split(path.delimiter);
  return folders.flatMap((folder) => names.map((name) => path.join(folder, name))).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Only end a hang: on a quiet machine it starts in a second and answers at once. */
const limitMs = 120_000;

export function startChromium(executablePath: string): Promise<Browser> {
  return launch({
    executablePath,
    timeout: limitMs,
    protocolTimeout: limitMs,
    // Containers have no user namespaces and a small /dev/shm. It only sees pages of this test.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--force-color-profile=srgb"],
  });
}
