/** What somebody does to the webhook configuration of a cell: the gate that all deletions pass. */
import { webhookConfiguration } from "../../clusters/webhook-configurations.ts";
import { type Run } from "./stage.ts";

/** gate CELL remove | install | as=C */
export const changeGate: Run = async (stage, args) => {
  const cell = args.word("the cell");
  const { webhookConfigurations } = stage.server(cell);
  const as = args.setting("as");
  webhookConfigurations.length = 0;
  if (args.flag("remove")) return;
  if (as === undefined && !args.flag("install")) throw args.error("what is done to the gate?");
  webhookConfigurations.push(webhookConfiguration(as ?? cell));
};
