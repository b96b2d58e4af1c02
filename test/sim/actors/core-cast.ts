/** Who acts in a core: the owner of the budget, those of the sources, who approves, and what the core itself loses. */
import { type Core } from "../core.ts";
import { type World } from "../world.ts";
import { Approvers } from "./people/approvers.ts";
import { CoreLosses } from "./strikes/core-losses.ts";
import { CellOwners } from "./people/cell-leases.ts";
import { ModeOwners } from "./people/modes.ts";
import { ProtectorOwner } from "./people/protectors.ts";
import { PassingSources } from "./passing-sources.ts";
import { SourceOwners } from "./sources.ts";

export class CoreCast {
  readonly core: Core;
  readonly owner: ProtectorOwner;
  readonly sources: SourceOwners;
  readonly passing: PassingSources;
  readonly modes: ModeOwners;
  readonly cells: CellOwners;
  readonly approvers: Approvers;
  readonly losses: CoreLosses;

  constructor(world: World, core: Core) {
    this.core = core;
    this.owner = new ProtectorOwner(world, core);
    this.sources = new SourceOwners(world, core, this.owner);
    this.passing = new PassingSources(world, core);
    this.cells = new CellOwners(world, core);
    this.modes = new ModeOwners(world, core);
    this.approvers = new Approvers(world, core);
    this.losses = new CoreLosses(world, core);
  }
}
