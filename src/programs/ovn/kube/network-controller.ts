/** ovn-kubernetes' controller: northbound objects computed from Kubernetes' objects, written over OVSDB calls. */
import { type OvsdbClient, errorOf } from "#contracts/ovsdb/client.ts";
import { OVN_NORTHBOUND } from "#contracts/ovsdb/northbound-schema.ts";
import { Replica } from "../replica.ts";
import { WantedRows } from "../wanted-rows.ts";
import type { OvnInput } from "./input.ts";
import { putPolicies } from "./policies.ts";
import { groupsOf, putServices } from "./services.ts";
import { putTopology } from "./topology.ts";

/** Tables whose rows are all the controller's; rows of the others go with what refers to them. */
const OWNED = [
  "Logical_Switch",
  "Logical_Router",
  "Load_Balancer",
  "Load_Balancer_Group",
  "Port_Group",
  "Address_Set",
  "Static_MAC_Binding",
];
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

export class NetworkController {
  private readonly northbound: OvsdbClient;
  private readonly nb: Replica;

  private constructor(northbound: OvsdbClient, nb: Replica) {
    this.northbound = northbound;
    this.nb = nb;
  }

  static async start(northbound: OvsdbClient): Promise<NetworkController> {
    return new NetworkController(
      northbound,
      await Replica.follow(northbound, OVN_NORTHBOUND, [...OWNED, ...OTHERS]),
    );
  }

  /** Brings the northbound database to what the objects say. @returns what the database refused; undefined: nothing */
  async sync(input: OvnInput): Promise<string | undefined> {
    const wanted = new WantedRows();
    // It has one row at most, and who starts first makes it: ovn-nbctl, ovn-northd, or this program.
    if (this.nb.rows("NB_Global").size === 0) wanted.put("NB_Global", "global", { name: "global" });
    putTopology(wanted, input, groupsOf(wanted));
    putServices(wanted, input);
    putPolicies(wanted, input);
    const operations = wanted.operations(this.nb, OWNED);
    if (operations.length === 0) return undefined;
    const failed = errorOf(await this.northbound.transact(operations));
    return failed === undefined ? undefined : `${failed.error ?? ""}: ${failed.details ?? ""}`;
  }
}
