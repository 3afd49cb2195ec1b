/** ovn-kubernetes' controller: northbound objects computed from Kubernetes' objects, written over OVSDB calls. */
import type { OvsdbClient } from "#contracts/ovsdb/client.ts";
import { OVN_NORTHBOUND } from "#contracts/ovsdb/schema.ts";
import { Replica } from "../replica.ts";
import { WantedParts, WantedRows } from "../wanted-rows.ts";
import type { OvnInput } from "./input.ts";
import { PolicyParts } from "./policies.ts";
import { groupsOf, putServices } from "./services.ts";
import { putTopology } from "./topology.ts";

/** Tables whose rows are all the controller's; rows of the others go with what refers to them. */
const OWNED: ReadonlySet<string> = new Set([
  "Logical_Switch",
  "Logical_Router",
  "Load_Balancer",
  "Load_Balancer_Group",
  "Port_Group",
  "Address_Set",
  "Static_MAC_Binding",
]);
const OTHERS = [
  "NB_Global",
  "Logical_Switch_Port",
  "Logical_Router_Port",
  "Logical_Router_Static_Route",
  "Logical_Router_Policy",
  "NAT",
  "ACL",
  "Gateway_Chassis",
];

/** What switches, routers and load balancers are made of, as far as it cannot be told by identity. */
function layoutOf({ clusterCIDR, nodes, pods }: OvnInput): string {
  const machines = nodes.map((node) => [node, [...node.gateway.neighbours]]);
  const places = pods.map(({ namespace, name, uid, node, ip }) => [namespace, name, uid, node, ip]);
  return JSON.stringify([clusterCIDR, machines, places]);
}

function isSameList(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}

export class NetworkController {
  private readonly northbound: OvsdbClient;
  private readonly nb: Replica;
  private readonly parts: WantedParts;
  private readonly policies: PolicyParts;
  private layout = "";
  private served: Pick<OvnInput, "services" | "slices"> = { services: [], slices: [] };

  private constructor(northbound: OvsdbClient, nb: Replica, parts: WantedParts) {
    this.northbound = northbound;
    this.nb = nb;
    this.parts = parts;
    this.policies = new PolicyParts(parts);
  }

  static async start(northbound: OvsdbClient): Promise<NetworkController> {
    const parts = new WantedParts();
    const nb = await Replica.follow(northbound, OVN_NORTHBOUND, [...OWNED, ...OTHERS], (updates) =>
      parts.touched(updates),
    );
    return new NetworkController(northbound, nb, parts);
  }

  /**
   * Brings the northbound database to what the objects say. Objects that are the same ones as before have not changed.
   * @returns what the database refused; undefined: nothing
   */
  async sync(input: OvnInput): Promise<string | undefined> {
    // It has one row at most, and who starts first makes it: ovn-nbctl, ovn-northd, or this program.
    const global = new WantedRows();
    if (this.nb.rows("NB_Global").size === 0) global.put("NB_Global", "global", { name: "global" });
    this.parts.set("global", global);
    this.setTopology(input);
    this.policies.sync(input);
    const failed = await this.parts.write(this.northbound, this.nb, OWNED);
    return failed === undefined ? undefined : `${failed.error ?? ""}: ${failed.details ?? ""}`;
  }

  private setTopology(input: OvnInput): void {
    const layout = layoutOf(input);
    const { services, slices } = this.served;
    const isSame =
      layout === this.layout && isSameList(services, input.services) && isSameList(slices, input.slices);
    if (isSame) return;
    this.layout = layout;
    this.served = { services: [...input.services], slices: [...input.slices] };
    const wanted = new WantedRows();
    putTopology(wanted, input, groupsOf(wanted));
    putServices(wanted, input);
    this.parts.set("topology", wanted);
  }
}
