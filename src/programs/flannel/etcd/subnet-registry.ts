/** The keys of flannel in etcd: the configuration, and one lease for each subnet (control-planes.md §1.5). */
import { stripEnd } from "#core/base/text-edges.ts";
import { messageOf } from "#core/base/thrown.ts";
import { formatJson, parseJson } from "#contracts/cni/json.ts";
import { type JsonObject, type JsonValue, isJsonObject, textOf } from "#core/base/json.ts";
import { formatIp, parseIpv4, parseIpv6 } from "#core/net/ip.ts";
import { FlannelError, type FlannelLog } from "../reports.ts";
import { type Lease, type LeaseAttributes, formatSubnetKey, parseSubnetKey } from "../leases/lease.ts";
import { flannel } from "#data/words.js";

const WORDS = flannel();

// What flanneld asks of etcd v3: over its JSON gateway (`gateway-client.node.ts`), in memory for tests.

export interface EtcdValue {
  readonly key: string;
  readonly value: string;
  /** The grant that ends with it; `"0"`: none. A 64-bit number as text. */
  readonly grant: string;
}

export interface EtcdRange {
  /** Of the whole store when it was read. */
  readonly revision: number;
  readonly values: readonly EtcdValue[];
}

export interface EtcdEvent {
  readonly type: "put" | "delete";
  readonly value: EtcdValue;
}

export interface EtcdGrant {
  readonly id: string;
  readonly seconds: number;
}

/** Calls end with a call of `ended`, and nothing follows it. */
export interface EtcdWatcher {
  changed(events: readonly EtcdEvent[], revision: number): void;
  /** Changes after the revision that was asked for are forgotten: read everything again. */
  compacted(revision: number): void;
  /** The connection is gone: watch again from the last revision. */
  ended(message: string): void;
}

/** Failing calls reject with `FlannelError` `flannel-store-unreachable`, or `flannel-store-refused`. */
export interface EtcdClient {
  get(key: string): Promise<EtcdRange>;
  /** All keys that begin with `prefix`. */
  list(prefix: string): Promise<EtcdRange>;
  put(key: string, value: string, grant: string): Promise<void>;
  /** Puts a key that is not there. @returns false when it is. */
  create(key: string, value: string, grant: string): Promise<boolean>;
  delete(key: string): Promise<void>;
  grant(seconds: number): Promise<EtcdGrant>;
  revoke(grant: string): Promise<void>;
  /** Seconds that are left; -1 when there is no such grant. */
  timeToLive(grant: string): Promise<number>;
  watch(prefix: string, fromRevision: number, watcher: EtcdWatcher): () => void;
  close(): Promise<void>;
}

/** For how long a node keeps its lease without renewing it. */
export const LEASE_SECONDS = 86_400;

type Subnets = Pick<Lease, "subnet" | "ipv6Subnet">;

/** The value of a lease's key. What is nothing is left out, but for the two addresses. */
export function formatLeaseValue(attributes: LeaseAttributes): string {
  const { publicIp, publicIpv6, backendType, backendData, backendV6Data } = attributes;
  const value: JsonObject = {
    PublicIP: publicIp === undefined ? "0.0.0.0" : formatIp(publicIp),
    PublicIPv6: publicIpv6 === undefined ? null : formatIp(publicIpv6),
    ...(backendType !== "" && { BackendType: backendType }),
    ...(backendData !== undefined && { BackendData: parseJson(backendData) }),
    ...(backendV6Data !== undefined && { BackendV6Data: parseJson(backendV6Data) }),
  };
  return formatJson(value, 0);
}

function jsonText(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : formatJson(value, 0);
}

/** @throws FlannelError for a value that is no lease. */
export function parseLeaseValue(text: string): LeaseAttributes {
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new FlannelError("flannel-peer-lease-unusable", messageOf(error), { cause: error });
  }
  if (!isJsonObject(value)) throw new FlannelError("flannel-peer-lease-unusable", "it is not a JSON object");
  const { PublicIP, PublicIPv6, BackendType } = value;
  const publicIp = typeof PublicIP === "string" ? parseIpv4(PublicIP) : undefined;
  if (publicIp === undefined)
    throw new FlannelError(
      "flannel-peer-lease-unusable",
      `PublicIP is ${JSON.stringify(PublicIP ?? null)}, no IPv4 address`,
    );
  return Object.freeze({
    publicIp,
    publicIpv6: typeof PublicIPv6 === "string" ? parseIpv6(PublicIPv6) : undefined,
    backendType: textOf(BackendType),
    backendData: jsonText(value["BackendData"]),
    backendV6Data: jsonText(value["BackendV6Data"]),
  });
}

export interface LeaseList {
  readonly leases: readonly Lease[];
  readonly revision: number;
}

export class SubnetRegistry {
  readonly client: EtcdClient;
  private readonly prefix: string;
  private readonly log: FlannelLog;

  constructor(client: EtcdClient, prefix: string, log: FlannelLog) {
    this.client = client;
    this.prefix = stripEnd(prefix, /\//);
    this.log = log;
  }

  get subnetsPrefix(): string {
    return `${this.prefix}/subnets`;
  }

  keyOf(subnets: Subnets): string {
    return `${this.subnetsPrefix}/${formatSubnetKey(subnets)}`;
  }

  /** @throws FlannelError when there is none. */
  async readConfig(): Promise<string> {
    const [value] = (await this.client.get(`${this.prefix}/config`)).values;
    if (value !== undefined) return value.value;
    throw new FlannelError(
      "flanneld-configuration-invalid",
      WORDS.etcdConfigMissing({ prefix: this.prefix }),
    );
  }

  /** All leases that can be read; the others are named in the log. */
  async list(): Promise<LeaseList> {
    const { values, revision } = await this.client.list(`${this.subnetsPrefix}/`);
    const leases: Lease[] = [];
    for (const value of values) {
      const lease = await this.readLease(value);
      if (lease !== undefined) leases.push(lease);
    }
    return { leases, revision };
  }

  /** The lease of one key; undefined when it is free. */
  async find(subnets: Subnets): Promise<{ readonly lease: Lease | undefined; readonly revision: number }> {
    const { values, revision } = await this.client.get(this.keyOf(subnets));
    const [value] = values;
    return { lease: value === undefined ? undefined : await this.readLease(value), revision };
  }

  /** @returns undefined for what is no lease: the log says why. */
  async readLease(value: EtcdValue): Promise<Lease | undefined> {
    const subnets = parseSubnetKey(value.key);
    if (subnets === undefined) {
      this.log.write("W", `Ignoring bad subnet node: failed to parse subnet key ${value.key}`);
      return undefined;
    }
    try {
      const attributes = parseLeaseValue(value.value);
      const seconds = value.grant === "0" ? -1 : await this.client.timeToLive(value.grant);
      return Object.freeze({
        ...subnets,
        attributes,
        owner: undefined,
        timeToLiveMs: Math.max(seconds, 0) * 1_000,
      });
    } catch (error) {
      if (error instanceof FlannelError && error.code === "flannel-store-unreachable") throw error;
      this.log.write("W", `Ignoring bad subnet node: ${value.key}: ${messageOf(error)}`);
      return undefined;
    }
  }

  /** @returns the time of the new lease; undefined when the subnet is taken already. */
  async create(subnets: Subnets, attributes: LeaseAttributes): Promise<number | undefined> {
    const { client } = this;
    const grant = await client.grant(LEASE_SECONDS);
    let isCreated = false;
    try {
      isCreated = await client.create(this.keyOf(subnets), formatLeaseValue(attributes), grant.id);
    } finally {
      if (!isCreated) await this.revoke(grant.id);
    }
    return isCreated ? grant.seconds * 1_000 : undefined;
  }

  /** A new grant, and the value with it. @returns the time of the lease. */
  async update(subnets: Subnets, attributes: LeaseAttributes): Promise<number> {
    const { client } = this;
    const grant = await client.grant(LEASE_SECONDS);
    let isPut = false;
    try {
      await client.put(this.keyOf(subnets), formatLeaseValue(attributes), grant.id);
      isPut = true;
    } finally {
      if (!isPut) await this.revoke(grant.id);
    }
    return grant.seconds * 1_000;
  }

  async remove(subnets: Subnets): Promise<void> {
    await this.client.delete(this.keyOf(subnets));
  }

  /** A grant that was not used ends by itself after a day, too. */
  private async revoke(grant: string): Promise<void> {
    try {
      await this.client.revoke(grant);
    } catch (error) {
      this.log.write("E", messageOf(error));
    }
  }
}
