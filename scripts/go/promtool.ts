/** promtool, the program of Prometheus that checks and tests rules, for `make alerts`. */
import path from "node:path";
import { type GoTool } from "./go-tool.ts";

export const promtool: GoTool = {
  title: "promtool",
  name: "promtool",
  variable: "PROMTOOL",
  kind: "a promtool of Prometheus 3",
  goPackage: "github.com/prometheus/prometheus/cmd/promtool",
  moduleDirectory: path.join(import.meta.dirname, "../../test/monitoring/promtool"),
  // Without the clients of all clouds, by which Prometheus finds what to scrape: they are most of its packages, and
  // rules need none.
  flags: ["-trimpath", "-tags=netgo,remove_all_sd", "-ldflags=-s -w"],
};
