/**
 * What ovn-controller does on a node besides forwarding: it registers the chassis, claims the ports that are here, says when they
 * are up, and how far it has come (ovn-controller(8)).
 */
import {
  type OvsdbClient,
  type OvsdbOperation,
  type OvsdbRow,
  errorOf,
  mapOf,
  membersOf,
  referencesOf,
  textsOf,
} from "#contracts/ovsdb/client.ts";
import { OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import { numberOf, textOf } from "./northd/objects.ts";
import { Replica } from "./replica.ts";
import { reference, uuidOf } from "./wanted-rows.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

const TABLES = [
  "Chassis",
  "Chassis_Private",
  "Encap",
  "Port_Binding",
  "SB_Global",
  "Gateway_Chassis",
  "HA_Chassis_Group",
  "HA_Chassis",
];

/** What a chassis says that it understands; one that leaves these out makes all flows old (ovn-controller(8)). */
const FEATURES = {
  "port-up-notif": "true",
  "ct-no-masked-label": "true",
  "ovn-ct-lb-related": "true",
  "mac-binding-timestamp": "true",
  "is-interconn": "false",
};

export interface ChassisSettings {
  /** `external_ids:system-id` of Open vSwitch. */
  readonly name: string;
  readonly hostname: string;
  /** `ovn-encap-type`, `ovn-encap-ip`. */
  readonly encapsulation: "geneve" | "stt" | "vxlan";
  readonly address: string;
  /** `ovn-bridge-mappings`. */
  readonly bridgeMappings: string;
}

/** An interface of the integration bridge: what it is bound to. */
export interface BoundInterface {
  /** `iface-id`: the name of the logical port. */
  readonly id: string;
  /** `iface-id-ver`; empty for none. */
  readonly version: string;
}

export class OvnController {
  private readonly southbound: OvsdbClient;
  private readonly sb: Replica;
  private readonly settings: ChassisSettings;
  /** Of a row that we insert. */
  private readonly derivedId: string;

  private constructor(southbound: OvsdbClient, sb: Replica, settings: ChassisSettings) {
    this.southbound = southbound;
    this.sb = sb;
    this.settings = settings;
    this.derivedId = uuidOf("Chassis", settings.name);
  }

  static async start(southbound: OvsdbClient, settings: ChassisSettings): Promise<OvnController> {
    return new OvnController(southbound, await Replica.follow(southbound, OVN_SOUTHBOUND, TABLES), settings);
  }

  /** The UUID of our row. Another program may have inserted it, with a UUID of its own. */
  private get chassisId(): string {
    const rows = this.sb.rows("Chassis");
    if (rows.has(this.derivedId)) return this.derivedId;
    for (const [id, row] of rows) if (textOf(row, "name") === this.settings.name) return id;
    return this.derivedId;
  }

  /** Why the chassis that has our name is another one: agents that share a name would take each other's ports. */
  private differenceOf(chassis: OvsdbRow): string | undefined {
    const { name, hostname, encapsulation, address } = this.settings;
    const encaps = referencesOf(chassis["encaps"])
      .map((id) => this.sb.rows("Encap").get(id))
      .filter((row) => row !== undefined);
    const isOurs =
      textOf(chassis, "hostname") === hostname &&
      encaps.some((row) => textOf(row, "type") === encapsulation && textOf(row, "ip") === address);
    if (isOurs) return undefined;
    const known = encaps.map((row) => `${textOf(row, "type")} ${textOf(row, "ip")}`).join(", ");
    return WORDS.chassisNameTaken({ name, hostname: textOf(chassis, "hostname"), known });
  }

  /** Registers the chassis where it is not. @returns why it cannot be; undefined when it is registered */
  async register(): Promise<string | undefined> {
    const { name, hostname, encapsulation, address, bridgeMappings } = this.settings;
    const known = this.sb.rows("Chassis").get(this.chassisId);
    if (known !== undefined) return this.differenceOf(known);
    const encap = uuidOf("Encap", `${name} ${encapsulation}`);
    const id = this.chassisId;
    const failed = errorOf(
      await this.southbound.transact([
        {
          op: "insert",
          table: "Encap",
          uuid: encap,
          row: { type: encapsulation, ip: address, chassis_name: name, options: mapOf({ csum: "true" }) },
        },
        {
          op: "insert",
          table: "Chassis",
          uuid: id,
          row: {
            name,
            hostname,
            encaps: reference(encap),
            other_config: mapOf({ ...FEATURES, "ovn-bridge-mappings": bridgeMappings }),
          },
        },
        { op: "insert", table: "Chassis_Private", row: { name, chassis: reference(id) } },
      ]),
    );
    return failed === undefined ? undefined : `${failed.error ?? ""}: ${failed.details ?? ""}`;
  }

  /** Gives the ports back and takes the chassis away, as an ovn-controller that ends (ovn-controller(8), `exit`). */
  async unregister(): Promise<void> {
    const { name } = this.settings;
    const own = [["chassis", "==", reference(this.chassisId)]] as const;
    await this.southbound.transact([
      { op: "update", table: "Port_Binding", where: own, row: { chassis: ["set", []], up: false } },
      { op: "delete", table: "Chassis_Private", where: [["name", "==", name]] },
      { op: "delete", table: "Chassis", where: [["name", "==", name]] },
    ]);
    this.sb.close();
  }

  /** A VIF is ours when an interface is bound to it, of the same version, and nobody else was asked for. */
  private claimsInterface(row: OvsdbRow, interfaces: ReadonlyMap<string, BoundInterface>): boolean {
    const bound = interfaces.get(textOf(row, "logical_port"));
    if (bound === undefined) return false;
    const wanted = textsOf(row["options"]).get("iface-id-ver");
    if (wanted !== undefined && bound.version !== "" && bound.version !== wanted) return false;
    const [requested] = referencesOf(row["requested_chassis"]);
    const named = textsOf(row["options"]).get("requested-chassis");
    return named === undefined || requested === this.chassisId;
  }

  private isOurs(row: OvsdbRow): boolean {
    return referencesOf(row["chassis"])[0] === this.chassisId;
  }

  private claims(row: OvsdbRow, interfaces: ReadonlyMap<string, BoundInterface>): boolean {
    const type = textOf(row, "type");
    if (type === "") return this.claimsInterface(row, interfaces);
    if (type === "l3gateway") return textsOf(row["options"]).get("l3gateway-chassis") === this.settings.name;
    // Packets have claimed it (`chassis-reports.ts`); it stays while the port behind it does (controller/binding.c, LP_VIRTUAL).
    if (type === "virtual") return this.isOurs(row) && interfaces.has(textOf(row, "virtual_parent"));
    return type === "chassisredirect" && this.isHighest(row);
  }

  /**
   * Of the chassis that are registered. ovn-northd 23.03 makes a group of chassis of what the northbound database calls gateway
   * chassis (ovn-sb(5), HA_Chassis_Group); older ones, and ours, leave them as they are.
   */
  private isHighest(row: OvsdbRow): boolean {
    const [group = ""] = referencesOf(row["ha_chassis_group"]);
    const members = referencesOf(this.sb.rows("HA_Chassis_Group").get(group)?.["ha_chassis"]);
    const candidates = [
      ...referencesOf(row["gateway_chassis"]).map((id) => this.sb.rows("Gateway_Chassis").get(id)),
      ...members.map((id) => this.sb.rows("HA_Chassis").get(id)),
    ];
    const live = candidates
      .filter((candidate) => candidate !== undefined)
      .filter((candidate) => referencesOf(candidate["chassis"]).length > 0)
      .toSorted((one, other) => numberOf(other, "priority") - numberOf(one, "priority"));
    return referencesOf(live[0]?.["chassis"])[0] === this.chassisId;
  }

  /** Claims what is here, releases what is not, and says how far it has come. @returns names of the claimed ports */
  async sync(interfaces: readonly BoundInterface[]): Promise<ReadonlySet<string>> {
    const bound = new Map(interfaces.map((each) => [each.id, each]));
    const operations: OvsdbOperation[] = [];
    const claimed = new Set<string>();
    for (const [id, row] of this.sb.rows("Port_Binding")) {
      const isOurs = this.isOurs(row);
      const where = [["_uuid", "==", ["uuid", id]]] as const;
      if (this.claims(row, bound)) {
        claimed.add(textOf(row, "logical_port"));
        const isUp = membersOf(row["up"])[0] === true;
        if (!isOurs || !isUp)
          operations.push({
            op: "update",
            table: "Port_Binding",
            where,
            row: { chassis: reference(this.chassisId), up: true },
          });
      } else if (isOurs)
        operations.push({
          op: "update",
          table: "Port_Binding",
          where,
          row: { chassis: ["set", []], up: false, virtual_parent: ["set", []] },
        });
    }
    operations.push(...this.progress());
    if (operations.length > 0) await this.southbound.transact(operations);
    return claimed;
  }

  private progress(): readonly OvsdbOperation[] {
    const wanted = numberOf([...this.sb.rows("SB_Global").values()][0] ?? {}, "nb_cfg");
    const own = [...this.sb.rows("Chassis_Private").values()].find(
      (row) => row["name"] === this.settings.name,
    );
    if (own === undefined || numberOf(own, "nb_cfg") === wanted) return [];
    const where = [["name", "==", this.settings.name]] as const;
    return [{ op: "update", table: "Chassis_Private", where, row: { nb_cfg: wanted } }];
  }
}
