/**
 * The routes of the profiles, at the paths of Go's net/http/pprof. What is sent are Node's own formats, which the
 * developer tools of browsers and speedscope read.
 */
import { Hono, type Context } from "hono";
import { cpuSecondsDefault, cpuSecondsMax, type Profile, type Profiler } from "../observability/profiler.ts";

const index = `Profiles of this process:
/debug/pprof/profile?seconds=${cpuSecondsDefault}  CPU, for 1 to ${cpuSecondsMax} seconds: save it as x.cpuprofile
/debug/pprof/heap                live objects by where they were allocated: save it as x.heapprofile
Open the files in the developer tools of a browser (Performance, Memory), or in speedscope.
`;

export function createProfilesApp(profiler: Pick<Profiler, "cpu" | "heap">): Hono {
  const app = new Hono();
  app.get("/debug/pprof/", (context) => context.text(index));
  app.get("/debug/pprof/profile", async (context) => {
    const text = context.req.query("seconds") ?? String(cpuSecondsDefault);
    const seconds = /^\d{1,9}$/.test(text) ? Number(text) : 0;
    if (seconds < 1 || seconds > cpuSecondsMax)
      return context.text(`seconds: ${JSON.stringify(text)} is invalid; allowed: 1 to ${cpuSecondsMax}\n`, 400);
    return answer(context, await profiler.cpu(seconds, context.req.raw.signal), "profile.cpuprofile");
  });
  app.get("/debug/pprof/heap", async (context) => answer(context, await profiler.heap(), "heap.heapprofile"));
  app.notFound((context) => context.text(`404 page not found\n${index}`, 404));
  return app;
}

function answer(context: Context, profile: Profile, file: string): Response {
  context.header("X-Content-Type-Options", "nosniff");
  context.header("Cache-Control", "no-store");
  switch (profile.kind) {
    case "profile":
      return context.body(profile.text, 200, {
        "Content-Type": "application/json",
        "Content-Disposition": `attachment; filename="${file}"`,
      });
    case "busy": {
      const seconds = Math.max(1, Math.ceil(profile.retryAfterMs / 1000));
      return context.text(`${profile.reason}; try again in ${seconds} s\n`, 429, { "Retry-After": String(seconds) });
    }
    case "tooLarge":
      return context.text(`the profile has ${profile.bytes} bytes, which is too much; ask for fewer seconds\n`, 500);
    default:
      return profile satisfies never;
  }
}
