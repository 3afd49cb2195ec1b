/**
 * The southbound database of a real OVN, in the place of the one in memory: real programs write it, and the nodes of the cluster
 * are chassis in it beside others (ovn-controller(8), `external_ids:ovn-remote`).
 */
import { type KeyObject, X509Certificate, createPrivateKey } from "node:crypto";
import { readFileSync } from "node:fs";
import type { OvsdbClient } from "#contracts/ovsdb/client.ts";
import { OvsdbConnectionError, type OvsdbTls, splitRemotes } from "#contracts/ovsdb/remotes.node.ts";
import { OvsdbSocketClient } from "#contracts/ovsdb/socket-client.node.ts";
import { OVN_SOUTHBOUND } from "#contracts/ovsdb/schema.ts";
import type { Log } from "#core/base/log.ts";
import { messageOf } from "#core/base/thrown.ts";
import { ApiError } from "../api/error-details.ts";
import type { HeldCluster } from "../api/held-cluster.ts";
import { FollowedDatabase } from "./followed-database.ts";
import type { OvnNetwork } from "./ovn-network.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();
const REFUSED = 400;
/** How soon after a packet the database hears what it has taught; ovn-controller writes it in its next round. */
const REPORT_MS = 500;

/** Where the database is, and for `ssl:` the files in PEM that Open vSwitch's programs take, too (ovs-vsctl(8), "Public Key Infrastructure"). */
export interface OvnRemote {
  readonly remote: string;
  /** `-p`, `--private-key`. */
  readonly privateKey?: string | undefined;
  /** `-c`, `--certificate`. */
  readonly certificate?: string | undefined;
  /** `-C`, `--ca-cert`. */
  readonly caCertificate?: string | undefined;
}

const TLS_OPTIONS = {
  privateKey: "--private-key",
  certificate: "--certificate",
  caCertificate: "--ca-cert",
} as const;

function fileOf(option: string, path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new ApiError(REFUSED, "bad-usage", `${option}: ${messageOf(error)}`, WORDS.adviceOvnTls);
  }
}

/** What TLS needs, as texts; undefined where no file was named. @throws ApiError */
function tlsOf(given: OvnRemote): OvsdbTls | undefined {
  const isTls = splitRemotes(given.remote).some((each) => each.startsWith("ssl:"));
  const named = Object.values(TLS_OPTIONS).length - missingOf(given).length;
  if (!isTls && named > 0)
    throw new ApiError(
      REFUSED,
      "bad-usage",
      WORDS.ovnTlsWithoutSsl({ remote: given.remote }),
      WORDS.adviceOvnTls,
    );
  if (!isTls) return undefined;
  const { privateKey, certificate, caCertificate } = given;
  if (privateKey === undefined || certificate === undefined || caCertificate === undefined)
    throw new ApiError(
      REFUSED,
      "bad-usage",
      WORDS.ovnTlsIncomplete({ remote: given.remote, missing: missingOf(given).join(", ") }),
      WORDS.adviceOvnTls,
    );
  const texts = {
    privateKey: fileOf(TLS_OPTIONS.privateKey, privateKey),
    certificate: fileOf(TLS_OPTIONS.certificate, certificate),
    caCertificate: fileOf(TLS_OPTIONS.caCertificate, caCertificate),
  };
  const own = certificateIn(TLS_OPTIONS.certificate, certificate, texts.certificate);
  certificateIn(TLS_OPTIONS.caCertificate, caCertificate, texts.caCertificate);
  if (!own.checkPrivateKey(keyIn(TLS_OPTIONS.privateKey, privateKey, texts.privateKey)))
    throw new ApiError(
      REFUSED,
      "bad-usage",
      WORDS.ovnTlsOtherKey({ path: privateKey, certificate }),
      WORDS.adviceOvnTls,
    );
  return texts;
}

function certificateIn(option: string, path: string, text: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw new ApiError(REFUSED, "bad-usage", WORDS.ovnTlsNoCertificate({ option, path }), WORDS.adviceOvnTls);
  }
}

function keyIn(option: string, path: string, text: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch {
    throw new ApiError(REFUSED, "bad-usage", WORDS.ovnTlsNoKey({ option, path }), WORDS.adviceOvnTls);
  }
}

function missingOf(given: OvnRemote): readonly string[] {
  return (["privateKey", "certificate", "caCertificate"] as const)
    .filter((name) => given[name] === undefined)
    .map((name) => TLS_OPTIONS[name]);
}

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
  private readonly reports: NodeJS.Timeout;

  private constructor(held: HeldCluster, ovn: OvnNetwork, socket: OvsdbSocketClient) {
    this.held = held;
    this.ovn = ovn;
    this.socket = socket;
    this.reports = setInterval(() => this.reportSoon(), REPORT_MS);
    this.reports.unref();
  }

  /**
   * The chassis of the cluster's nodes leave their own database for this one.
   * @throws ApiError when there is no such database, it refuses a chassis, or the cluster has none.
   */
  static async join(held: HeldCluster, remote: OvnRemote): Promise<RemoteSouthbound> {
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
    clearInterval(this.reports);
    await this.ovn.leaveSouthbound();
    this.socket.close();
  }

  private reportSoon(): void {
    if (this.ovn.hasReports()) this.followSoon();
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

async function connect(given: OvnRemote): Promise<OvsdbSocketClient> {
  const tls = tlsOf(given);
  try {
    return await OvsdbSocketClient.connect(given.remote, OVN_SOUTHBOUND.name, tls);
  } catch (error) {
    if (!(error instanceof OvsdbConnectionError)) throw error;
    throw new ApiError(REFUSED, "bad-usage", error.message, WORDS.adviceOvnRemote);
  }
}

function refusal(reason: string): ApiError {
  return new ApiError(REFUSED, "ovn-chassis-refused", reason, WORDS.adviceOvnChassis);
}
