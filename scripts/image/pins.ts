// The Debian packages of the image: which ones, in which version, with which hash (packages.json). They are what Node
// needs to run (libc6, libgcc-s1, libstdc++6, libatomic1), whose licences they carry (gcc-14-base), and which Debian
// this is, with the texts of the licences that the others cite (base-files). Node brings its own certificate
// authorities and time zones.
import { readFileSync } from "node:fs";
import path from "node:path";
import { type Architecture, architectures } from "../sea/foreign-node.ts";

export interface Pin {
  readonly version: string;
  /** Of the .deb file, in hexadecimal. */
  readonly sha256: string;
}

export interface Pins {
  /** The code name of Debian's release. */
  readonly suite: string;
  readonly packages: Readonly<Record<string, Readonly<Record<Architecture, Pin>>>>;
}

export const pinsFile = path.join(import.meta.dirname, "packages.json");

/** Reads packages.json. Throws an Error that names the package whose version or hash has no valid form. */
export function readPins(text: string = readFileSync(pinsFile, "utf8")): Pins {
  const pins = JSON.parse(text) as Pins;
  if (!/^[a-z]+$/.test(pins.suite)) throw new Error(`packages.json: suite ${pins.suite} is not a code name of Debian`);
  for (const [name, pinned] of Object.entries(pins.packages)) {
    for (const architecture of architectures) {
      const { version, sha256 } = pinned[architecture] ?? { version: "", sha256: "" };
      if (!/^[\w.+:~-]+$/.test(version)) throw new Error(`packages.json: ${name} has no version for ${architecture}`);
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw new Error(`packages.json: ${name} has no SHA-256 for ${architecture}`);
    }
  }
  return pins;
}
