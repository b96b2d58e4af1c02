/**
 * Reads small files that settings name. A wrong name must not hang the process or fill its memory.
 */
import { closeSync, constants, fstatSync, openSync, readSync } from "node:fs";

/**
 * The text of a regular file of at most `bytesMax` bytes; symlinks are followed, because mounted Secrets are symlinks.
 * Throws an Error whose message can follow the file's name: for a folder, a device or a pipe (which may never end), and
 * for a longer file. Other errors are the system's.
 */
export function readRegularFile(path: string, bytesMax: number): string {
  // Without O_NONBLOCK, opening a pipe waits for its writer.
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stat = fstatSync(file);
    if (stat.isDirectory()) throw new Error("it is a directory");
    if (!stat.isFile()) throw new Error("it is not a regular file");
    // One more, to notice a longer file. Its size says nothing: it may grow meanwhile, and in /proc it is 0.
    const buffer = Buffer.alloc(bytesMax + 1);
    let length = 0;
    for (;;) {
      const read = readSync(file, buffer, length, buffer.length - length, null);
      if (read === 0) return buffer.toString("utf8", 0, length);
      length += read;
      if (length > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
    }
  } finally {
    closeSync(file);
  }
}
