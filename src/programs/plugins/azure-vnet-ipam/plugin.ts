/**
 * azure-vnet-ipam: addresses that Azure gave to the interfaces of the node, one for each container (cni.md §5.9).
 * Who holds what stands in a file that one call at a time reads and writes.
 */
import { type ByMode, type Compat, type Differences, byMode } from "#core/base/compat.ts";
import { StructReader, DecodeError } from "#contracts/cni/json.ts";
import { CNI_CODES, CniError, PlainFailure, describeError } from "#contracts/cni/error.ts";
import type { CniPlugin, PluginMode, PluginRequest } from "#contracts/cni/plugin.ts";
import type { CniResult } from "#contracts/cni/result.ts";
import { SPEC_VERSIONS } from "#contracts/cni/version.ts";
import { readPrevResult, readValidAttachments } from "#contracts/cni/plugin-input.ts";
import { type InterfaceAddress, formatIp, parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import type { LockedState, StateStore } from "../azure-vnet/memory.ts";
import { DamagedStateError } from "../azure-vnet/state.ts";
import {
  LOCAL_SPACE,
  formatPools,
  parsePools,
  type AddressPool,
  type Pools,
  mergePools,
  poolById,
  releaseAddress,
  requestAddress,
  requestPool,
  requestSharedPool,
} from "./pools.ts";
import { type AddressSources, NODE_ENVIRONMENT, readPools } from "./source.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** The second has addresses of IPv6 and a file of its own. */
export type AzureIpamName = "azure-vnet-ipam" | "azure-vnet-ipamv6";

export interface AzureVnetIpamOptions extends PluginMode {
  /** Default `azure-vnet-ipam`. */
  readonly name?: AzureIpamName;
  readonly store: StateStore;
  readonly sources: AddressSources;
}

interface IpamConfiguration {
  readonly master: string;
  readonly environment: string;
  readonly subnet: string;
  readonly address: string;
}

const ENVIRONMENTS = ["azure", "mas", "fileIpam", "null", NODE_ENVIRONMENT];
const ERROR_CODE = 100;
const DEFAULT_VERSION = "0.2.0";
/** Azure's resolver, which every machine there has. */
const NAME_SERVER = "168.63.129.16";
const DEFAULT_ROUTE = defined(parseInterfaceAddress("0.0.0.0/0"), "default route");

const DAMAGED_DETAILS = WORDS.adviceRemoveAzureIpamState;

/** Where the plugin behaves in two ways: as it is published, and mended. */
const SWITCHES = {
  /** CHECK looks. */
  checks: [false, true],
  /** Without a subnet a container gets the pool that it has already. */
  sharesPools: [false, true],
  /** Addresses that could not be read again are told. */
  warns: [false, true],
  /** The file gets a checksum, and one that is wrong is refused. */
  sealsState: [false, true],
} as const;

interface IpamDifferences extends Differences<typeof SWITCHES> {
  readonly supportedVersions: readonly string[];
  /** The route of a pool of IPv6. */
  readonly routeV6: InterfaceAddress;
  /** Row 149: published, a plain text, which no caller can read. */
  readonly notStarted: (text: string) => Error;
}

const DIFFERENCES: ByMode<IpamDifferences> = byMode<IpamDifferences>({
  ...SWITCHES,
  supportedVersions: [SPEC_VERSIONS.filter((version) => version !== "1.1.0"), SPEC_VERSIONS],
  routeV6: [DEFAULT_ROUTE, defined(parseInterfaceAddress("::/0"), "default route")],
  notStarted: [(text) => new PlainFailure(text), (text) => new CniError(CNI_CODES.tryAgainLater, text)],
});

function fail(action: string, error: unknown): CniError {
  const knowledge = error instanceof CniError ? error.knowledge : undefined;
  return new CniError(ERROR_CODE, `${action}: ${describeError(error)}`, { knowledge, cause: error });
}

export class AzureVnetIpam implements CniPlugin {
  readonly name: AzureIpamName;
  readonly compat: Compat;
  readonly supportedVersions: readonly string[];
  private readonly options: AzureVnetIpamOptions;
  private readonly differences: IpamDifferences;

  constructor(options: AzureVnetIpamOptions) {
    this.options = options;
    this.name = options.name ?? "azure-vnet-ipam";
    this.compat = options.compat;
    this.differences = DIFFERENCES[options.compat];
    this.supportedVersions = this.differences.supportedVersions;
  }

  add(request: PluginRequest): Promise<CniResult> {
    const configuration = this.read(request);
    return this.withPools(request, configuration, async (pools, save) => {
      const pool = this.poolFor(pools, configuration, request.containerId);
      let result: CniResult;
      try {
        const { ip } = requestAddress(pool, configuration.address, request.containerId);
        result = this.resultOf(pool, formatIp(ip));
      } catch (error) {
        await save();
        throw fail("Failed to allocate address", error);
      }
      await save();
      return request.configuration["cniVersion"] === undefined
        ? { ...result, printedVersion: DEFAULT_VERSION }
        : result;
    });
  }

  del(request: PluginRequest): Promise<void> {
    const configuration = this.read(request);
    return this.withPools(request, configuration, async (pools, save) => {
      const { subnet, address } = configuration;
      try {
        // Without a subnet whatever the container holds is released (E14).
        const chosen = subnet === "" ? [...pools.values()] : [poolById(pools, subnet)];
        for (const pool of chosen) releaseAddress(pool, address, request.containerId);
      } catch (error) {
        throw fail("Failed to release address", error);
      }
      await save();
    });
  }

  async check(request: PluginRequest): Promise<void> {
    if (!this.differences.checks) return;
    const configuration = this.read(request);
    const previous = readPrevResult(request.configuration);
    await this.withPools(request, configuration, async (pools) => {
      const held = this.heldBy(pools, request.containerId);
      const lost = previous?.ips
        .map(({ address }) => formatIp(address.ip))
        .filter((ip) => !held.includes(ip));
      if (held.length > 0 && (lost === undefined || lost.length === 0)) return;
      const what = lost === undefined || lost.length === 0 ? "an address" : lost.join(", ");
      throw new CniError(
        CNI_CODES.internal,
        `container ${request.containerId} does not hold ${what} any more`,
      );
    });
  }

  /** Ready when an address is free. */
  async status(request: PluginRequest): Promise<void> {
    const configuration = this.read(request);
    await this.withPools(request, configuration, async (pools) => {
      const free = [...pools.values()].flatMap(({ addresses }) => [...addresses.values()]);
      if (free.some(({ isInUse }) => !isInUse)) return;
      throw new CniError(CNI_CODES.pluginNotAvailable, "no address of this node's interfaces is free", {
        knowledge: "ipam-range-exhausted",
      });
    });
  }

  /** Releases what containers hold that are not valid any more. */
  async gc(request: PluginRequest): Promise<void> {
    const configuration = this.read(request);
    const valid = readValidAttachments(request.configuration);
    if (valid === undefined) return;
    await this.withPools(request, configuration, async (pools, save) => {
      for (const pool of pools.values())
        for (const [key, { id }] of pool.addresses)
          if (id !== "" && !valid.some(({ containerId }) => containerId === id))
            releaseAddress(pool, key, id);
      await save();
    });
  }

  private heldBy(pools: Pools, containerId: string): readonly string[] {
    const all = [...pools.values()].flatMap(({ addresses }) => [...addresses.values()]);
    return all.filter(({ id, isInUse }) => isInUse && id === containerId).map(({ ip }) => formatIp(ip));
  }

  /** @throws CniError (100) */
  private poolFor(
    pools: Pools,
    { subnet, master, environment }: IpamConfiguration,
    containerId: string,
  ): AddressPool {
    const isIpv6 = environment === NODE_ENVIRONMENT;
    // The range is the node's, not that of an interface.
    const wanted = { interfaceName: isIpv6 ? "" : master, isIpv6 };
    try {
      if (subnet === "" && this.differences.sharesPools) return requestSharedPool(pools, wanted, containerId);
      if (subnet === "") return requestPool(pools, wanted);
    } catch (error) {
      throw fail("Failed to allocate pool", error);
    }
    try {
      return poolById(pools, subnet);
    } catch (error) {
      throw fail("Failed to allocate address", error);
    }
  }

  private resultOf({ subnet, gateway, isIpv6 }: AddressPool, address: string): CniResult {
    const ip = defined(parseIp(address), address);
    const destination = isIpv6 ? this.differences.routeV6 : DEFAULT_ROUTE;
    return {
      interfaces: [],
      ips: [{ address: { ip, length: subnet.length }, gateway }],
      routes: [{ destination, gateway }],
      dns: { nameservers: [NAME_SERVER], domain: "", search: [], options: [] },
    };
  }

  /** @throws CniError */
  private read({ configuration }: PluginRequest): IpamConfiguration {
    try {
      const reader = new StructReader(configuration);
      const ipam = reader.struct("ipam");
      const environment = ipam?.text("environment") || "azure";
      const space = ipam?.text("addressSpace") || LOCAL_SPACE;
      if (!ENVIRONMENTS.includes(environment) || space !== LOCAL_SPACE) {
        const field = space === LOCAL_SPACE ? "ipam.environment" : "ipam.addressSpace";
        const shown = JSON.stringify(space === LOCAL_SPACE ? environment : space);
        throw new CniError(
          ERROR_CODE,
          `field "${field}" is ${shown}, which this azure-vnet-ipam does not have`,
        );
      }
      return {
        master: reader.text("master"),
        environment,
        subnet: ipam?.text("subnet") ?? "",
        address: ipam?.text("ipAddress") ?? "",
      };
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      throw fail("Failed to parse network configuration", error);
    }
  }

  private async withPools<T>(
    request: PluginRequest,
    { environment }: IpamConfiguration,
    work: (pools: Pools, save: () => Promise<void>) => Promise<T>,
  ): Promise<T> {
    const { store, sources } = this.options;
    let isStarted = false;
    try {
      return await store.withLock(async (locked) => {
        const pools = await this.refreshed(request, environment, locked);
        isStarted = true;
        const stamp = { version: "mullion", time: sources.now(), isSealed: this.differences.sealsState };
        return work(pools, () => locked.write(formatPools(pools, stamp)));
      });
    } catch (error) {
      if (isStarted) throw error;
      const text = `Failed to initialize key-value store of ipam plugin: ${describeError(error)}`;
      // It does not heal: nobody is to try again.
      if (error instanceof DamagedStateError)
        throw new CniError(CNI_CODES.internal, text, { details: DAMAGED_DETAILS, cause: error });
      throw this.differences.notStarted(text);
    }
  }

  /** A source that fails leaves the pools as they are. */
  private async refreshed(request: PluginRequest, environment: string, locked: LockedState): Promise<Pools> {
    const pools = parsePools(await locked.read(), this.differences.sealsState);
    if (environment === "null") return pools;
    // The node's range does not change: Kubernetes is asked once.
    if (environment === NODE_ENVIRONMENT && pools.size > 0) return pools;
    try {
      mergePools(pools, await readPools(environment, this.options.sources));
    } catch (error) {
      if (this.differences.warns)
        request.warn(`${this.name}: the addresses are not refreshed: ${describeError(error)}`);
    }
    return pools;
  }
}
