/**
 * Plays the kubelet's part for a Secret that is mounted into a pod: the keys as files behind a symbolic link, which is
 * replaced in one step when the Secret changes.
 */
import { chmodSync, chownSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { type Cluster } from "../clusters/cluster.ts";

export interface SecretVolumeOptions {
  readonly cluster: Cluster;
  readonly namespace: string;
  readonly secretName: string;
  /** Where the files go. */
  readonly directory: string;
  /** As in the pod's volume; 288 is octal 0440. */
  readonly mode: number;
  /** The pod's fsGroup. Needs root; without it the files belong to the user of the run. */
  readonly group?: number;
}

export class SecretVolume {
  readonly directory: string;
  readonly #options: SecretVolumeOptions;
  #generation = 0;

  constructor(options: SecretVolumeOptions) {
    this.#options = options;
    this.directory = options.directory;
  }

  /** Makes the files what the Secret holds now. Throws when the Secret does not exist. */
  async sync(): Promise<void> {
    const { cluster, namespace, secretName, directory, mode, group } = this.#options;
    const secret = await cluster.admin.get<{ readonly data: Readonly<Record<string, string>> }>(
      `/api/v1/namespaces/${namespace}/secrets/${secretName}`,
    );
    const old = `..generation-${this.#generation}`;
    const next = `..generation-${++this.#generation}`;
    mkdirSync(path.join(directory, next), { recursive: true });
    for (const [key, value] of Object.entries(secret.data)) {
      const file = path.join(directory, next, key);
      writeFileSync(file, Buffer.from(value, "base64"));
      if (group !== undefined) chownSync(file, 0, group);
      chmodSync(file, mode);
    }
    symlinkSync(next, path.join(directory, "..data_tmp"));
    renameSync(path.join(directory, "..data_tmp"), path.join(directory, "..data"));
    if (this.#generation === 1)
      for (const key of Object.keys(secret.data)) symlinkSync(path.join("..data", key), path.join(directory, key));
    rmSync(path.join(directory, old), { recursive: true, force: true });
  }
}
