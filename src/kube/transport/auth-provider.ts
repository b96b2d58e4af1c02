/**
 * Tokens of a user with an `auth-provider` (azure, gcp, oidc, a token file), which client-node's KubeConfig gets and
 * renews. These forms are old and rare, and KubeConfig takes half a second and 80 MB to load from its sources, so it is
 * loaded for them alone.
 */
import { type RequestOptions } from "node:https";
import type { KubeConfig } from "@kubernetes/client-node/dist/config.js";
import { type CredentialPlugin, type PluginCredential } from "./exec-plugin.ts";

export class AuthProvider implements CredentialPlugin {
  readonly #entry: unknown;
  #kubeConfig: KubeConfig | undefined;

  /** `entry` is the user's `auth-provider`; client-node keeps renewed tokens in it. */
  constructor(entry: unknown) {
    this.#entry = entry;
  }

  async credential(): Promise<PluginCredential> {
    const kubeConfig = (this.#kubeConfig ??= await this.#load());
    const options: RequestOptions = {};
    await kubeConfig.applyToHTTPSOptions(options);
    const authorization = (options.headers as Readonly<Record<string, unknown>> | undefined)?.["Authorization"];
    // A token file that client-node has read ends with a line break, which is no header value.
    return typeof authorization === "string" ? { token: authorization.replace(/^Bearer /, "").trim() } : {};
  }

  /** Their commands, if they have any, end by themselves. */
  kill(): undefined {
    return undefined;
  }

  async #load(): Promise<KubeConfig> {
    const { KubeConfig } = await import("@kubernetes/client-node/dist/config.js");
    const kubeConfig = new KubeConfig();
    kubeConfig.loadFromClusterAndUser(
      { name: "cluster", server: "https://localhost", skipTLSVerify: false },
      { name: "user", authProvider: this.#entry },
    );
    return kubeConfig;
  }
}
