/** Puts the profiles on demand together (--pprof-*): without a listener there is no inspector either. */
import { type ServerConfig } from "../config/config.ts";
import { type Component } from "../lifecycle/component.ts";
import { createInspectorSession, createProfiler } from "../observability/index.ts";
import { createProfilesApp, type ServerOptions } from "../server/index.ts";
import { type Clock } from "../util/clock.ts";

export function createProfiles(
  config: ServerConfig,
  deps: {
    readonly clock: Clock;
    readonly createServer: (options: Pick<ServerOptions, "name" | "config" | "fetch">) => Component;
  },
): Component {
  const isOn = config.http.enable || config.https.enable;
  const profiler = createProfiler({ clock: deps.clock, createSession: createInspectorSession });
  // Upstream's name.
  const server = deps.createServer({ name: "pprof", config, fetch: createProfilesApp(profiler).fetch });
  return {
    name: server.name,
    async start() {
      if (isOn) await profiler.start();
      await server.start();
    },
    async stop() {
      await server.stop();
      profiler.stop();
    },
  };
}
