/** All that stands between Kubernetes' objects and the logical network of a switch, without the switch. */
import { MemoryDatabase } from "#contracts/ovsdb/memory-database.ts";
import { OVN_NORTHBOUND, OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { FollowedDatabase } from "#cluster/ovn/followed-database.ts";
import { FollowedNetwork } from "#dataplane/ovs/followed-network.ts";
import type { LogicalNetwork } from "#dataplane/ovs/logical-network.ts";
import type { OvnInput } from "#programs/ovn/kube/input.ts";
import { NetworkController } from "#programs/ovn/kube/network-controller.ts";
import { Northd } from "#programs/ovn/northd/northd.ts";

export class OvnChain {
  readonly nb: MemoryDatabase;
  readonly sb: MemoryDatabase;
  private readonly controller: NetworkController;
  private readonly northd: Northd;
  private readonly followed: { readonly nb: FollowedDatabase; readonly sb: FollowedDatabase };
  private readonly network = new FollowedNetwork({
    northbound: Object.keys(OVN_NORTHBOUND.tables),
    southbound: Object.keys(OVN_SOUTHBOUND.tables),
  });

  private constructor(
    databases: { nb: MemoryDatabase; sb: MemoryDatabase },
    programs: { controller: NetworkController; northd: Northd },
    followed: { nb: FollowedDatabase; sb: FollowedDatabase },
  ) {
    this.nb = databases.nb;
    this.sb = databases.sb;
    this.controller = programs.controller;
    this.northd = programs.northd;
    this.followed = followed;
  }

  /** `databases`: those of a chain that is there already; by default empty ones. */
  static async start(
    seed: string,
    { nb, sb }: { nb: MemoryDatabase; sb: MemoryDatabase } = {
      nb: new MemoryDatabase(OVN_NORTHBOUND, seed),
      sb: new MemoryDatabase(OVN_SOUTHBOUND, seed),
    },
  ): Promise<OvnChain> {
    const programs = {
      controller: await NetworkController.start(nb.client()),
      northd: await Northd.start(nb.client(), sb.client()),
    };
    return new OvnChain({ nb, sb }, programs, {
      nb: await FollowedDatabase.follow({ schema: nb.schema, client: nb.client() }),
      sb: await FollowedDatabase.follow({ schema: sb.schema, client: sb.client() }),
    });
  }

  /** @throws Error when the northbound database refuses what the controller writes */
  async sync(input: OvnInput): Promise<LogicalNetwork> {
    const refused = await this.controller.sync(input);
    if (refused !== undefined) throw new Error(refused);
    return this.follow();
  }

  /** Takes over what stands in the northbound database, whoever has written it. */
  async follow(): Promise<LogicalNetwork> {
    await this.northd.sync();
    this.network.take(this.followed.sb.takeChanges(), this.followed.nb.takeChanges());
    return this.network.network;
  }
}
