/**
 * The southbound database of a real OVN, in the place of the one in memory: real programs write it, and the nodes of the cluster
 * are chassis in it beside others (ovn-controller(8), `external_ids:ovn-remote`).
 */
import type { OvsdbClient } from "#contracts/ovsdb/client.ts";
import { OvsdbConnectionError } from "#contracts/ovsdb/remotes.node.ts";
import { OvsdbSocketClient } from "#contracts/ovsdb/socket-client.node.ts";
import { OVN_SOUTHBOUND } from "#contracts/ovsdb/southbound-schema.ts";
import type { Log } from "#core/base/log.ts";
import { messageOf } from "#core/base/thrown.ts";
import { ApiError } from "../api/error-details.ts";
import type { HeldCluster } from "../api/held-cluster.ts";
import { FollowedDatabase } from "./followed-database.ts";
import type { OvnNetwork } from "./ovn-network.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
const REFUSED = 400;

/** Operations that meet no server fail as if it refused them: what is still to be done is done when it is back. */
function patient(client: OvsdbClient, log: Log): OvsdbClient {
  return {
    monitor: (tables, listener) => client.monitor(tables, listener),
    transact: async (operations) => {
      try {
        return await client.transact(operations);
      } catch (error) {
        if (!(error instanceof OvsdbConnectionError)) throw error;
        log.write("warn", "ovn", { error: error.message });
        return [{ error: "not connected", details: error.message }];
      }
    },
  };
}

export class RemoteSouthbound {
  private readonly held: HeldCluster;
  private readonly ovn: OvnNetwork;
  private readonly socket: OvsdbSocketClient;
  /** A turn is asked for, in which all that was heard until then is followed. */
  private isAsked = false;
  private isOver = false;

  private constructor(held: HeldCluster, ovn: OvnNetwork, socket: OvsdbSocketClient) {
    this.held = held;
    this.ovn = ovn;
    this.socket = socket;
  }

  /**
   * The chassis of the cluster's nodes leave their own database for this one.
   * @throws ApiError when there is no such database, it refuses a chassis, or the cluster has none.
   */
  static async join(held: HeldCluster, remote: string): Promise<RemoteSouthbound> {
    const { ovn } = held.session;
    if (ovn === undefined)
      throw new ApiError(REFUSED, "bad-usage", WORDS.ovnRemoteWithoutOvn, WORDS.adviceOvnRemotePlugin);
    const socket = await connect(remote);
    const southbound = new RemoteSouthbound(held, ovn, socket);
    try {
      const client = patient(socket, held.log);
      const database = await FollowedDatabase.follow({ schema: OVN_SOUTHBOUND, client }, () =>
        southbound.followSoon(),
      );
      await held.inTurn(() => ovn.joinSouthbound(database));
      if (socket.lacking.length > 0)
        held.log.write("warn", "the southbound database has another schema", {
          lacks: socket.lacking.join(", "),
        });
      const [refused] = ovn.refused;
      if (refused !== undefined) throw refusal(refused.reason);
    } catch (error) {
      await southbound.close();
      throw error;
    }
    return southbound;
  }

  /** The chassis are taken out of the database. */
  async close(): Promise<void> {
    this.isOver = true;
    await this.ovn.leaveSouthbound();
    this.socket.close();
  }

  /** Changes that come together are followed once. */
  private followSoon(): void {
    if (this.isAsked || this.isOver) return;
    this.isAsked = true;
    const follow = async (): Promise<void> => {
      this.isAsked = false;
      if (!this.isOver) await this.ovn.follow();
    };
    this.held.inTurn(follow).catch((error: unknown) => {
      if (!this.isOver) this.held.log.write("error", "ovn", { error: messageOf(error) });
    });
  }
}

async function connect(remote: string): Promise<OvsdbSocketClient> {
  try {
    return await OvsdbSocketClient.connect(remote, OVN_SOUTHBOUND.name);
  } catch (error) {
    if (!(error instanceof OvsdbConnectionError)) throw error;
    throw new ApiError(REFUSED, "bad-usage", error.message, WORDS.adviceOvnRemote);
  }
}

function refusal(reason: string): ApiError {
  return new ApiError(REFUSED, "ovn-chassis-refused", reason, WORDS.adviceOvnChassis);
}
