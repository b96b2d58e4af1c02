/** helm, which lints and renders manifests/chart, for `make chart`. */
import path from "node:path";
import { type GoTool } from "./go-tool.ts";

export const helm: GoTool = {
  title: "helm",
  name: "helm",
  variable: "HELM",
  kind: "a helm 3.14 or newer",
  goPackage: "helm.sh/helm/v4/cmd/helm",
  moduleDirectory: path.join(import.meta.dirname, "../../test/chart/helm"),
  flags: ["-trimpath", "-ldflags=-s -w"],
};
