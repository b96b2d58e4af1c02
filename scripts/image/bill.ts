// The software bill of materials of the image: that of the executable (scripts/sea/sbom.ts), and Debian's packages with
// each of their files that is in the image.

export interface DebianComponent {
  readonly name: string;
  readonly version: string;
  /** Of the .deb file. */
  readonly sha256: string;
  readonly architecture: string;
  readonly suite: string;
  /** What is in the image, by its absolute path. */
  readonly files: readonly { readonly path: string; readonly sha256: string }[];
}

const hashes = (content: string): readonly object[] => [{ alg: "SHA-256", content }];

/** A CycloneDX document as JSON text: `document` and the packages. */
export function imageBill(document: string, packages: readonly DebianComponent[]): string {
  const bill = JSON.parse(document) as { components: object[] };
  for (const { name, version, sha256, architecture, suite, files } of packages) {
    const named = `${encodeURIComponent(name)}@${encodeURIComponent(version)}`;
    const purl = `pkg:deb/debian/${named}?arch=${architecture}&distro=${suite}`;
    bill.components.push({
      "bom-ref": purl,
      type: "library",
      name,
      version,
      purl,
      hashes: hashes(sha256),
      licenses: [{ license: { name: `/usr/share/doc/${name}/copyright` } }],
      components: files.map((file) => ({
        "bom-ref": `${name}:${file.path}`,
        type: "file",
        name: file.path,
        hashes: hashes(file.sha256),
      })),
    });
  }
  return `${JSON.stringify(bill, null, 2)}\n`;
}
