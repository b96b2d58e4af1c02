/** Who acts in a core: the owner of the budget, those of the sources, who approves, and what the core itself loses. */
import { type Core } from "../core.ts";
import { type World } from "../world.ts";
import { Approvers } from "./people/approvers.ts";
import { CoreLosses } from "./strikes/core-losses.ts";
import { ModeOwners } from "./people/modes.ts";
import { ProtectorOwner } from "./people/protectors.ts";
import { SourceOwners } from "./sources.ts";

export class CoreCast {
  readonly core: Core;
  readonly owner: ProtectorOwner;
  readonly sources: SourceOwners;
  readonly modes: ModeOwners;
  readonly approvers: Approvers;
  readonly losses: CoreLosses;

  constructor(world: World, core: Core) {
    this.core = core;
    this.owner = new ProtectorOwner(world, core);
    this.sources = new SourceOwners(world, core, this.owner);
    this.modes = new ModeOwners(world, core);
    this.approvers = new Approvers(world, core);
    this.losses = new CoreLosses(world, core);
  }
}
