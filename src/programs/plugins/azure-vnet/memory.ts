/**
 * Where it is remembered, for one call: in the state file, under the lock that one call at a time holds (cni.md §5.8), or
 * with CNS, which has the endpoints of each container while networks are found in HNS by their names (§5.6).
 */
import type { PluginRequest } from "#contracts/cni/plugin.ts";
import { DecodeError, JsonError } from "#contracts/cni/json.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import { familyOf } from "#core/net/ip.ts";
import { type CnsClient, isCnsFailure } from "../cns/client.ts";
import type { EndpointIpInfo, NicType } from "../cns/documents.ts";
import {
  type AzureEndpointRecord,
  type AzureState,
  type FoundEndpoint,
  endpointsOfContainer,
  type AzureNetworkRecord,
  formatState,
  DamagedStateError,
  parseState,
} from "./state.ts";
import { AZURE_ERROR_CODE } from "./conf.ts";
import type { AzureDifferences } from "./differences.ts";
import type { AzureHost } from "./host.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

/** The file while the lock is held. */
export interface LockedState {
  /** Undefined when there is no file. */
  read(): Promise<string | undefined>;
  /** Replaces the file as a whole: no reader sees half of it. */
  write(text: string): Promise<void>;
}

/** The lock did not come free in time. */
export class StateLockTimeout extends Error {
  override readonly name = "StateLockTimeout";
}

export interface StateStore {
  /** Runs `work` alone. @throws StateLockTimeout */
  withLock<T>(work: (state: LockedState) => Promise<T>): Promise<T>;
}

export class MemoryStateStore implements StateStore {
  /** What the file holds; undefined: there is none. */
  text: string | undefined = undefined;
  /** True: another process holds the lock and does not let go. */
  isHeld = false;
  private last: Promise<unknown> = Promise.resolve();

  withLock<T>(work: (state: LockedState) => Promise<T>): Promise<T> {
    if (this.isHeld) return Promise.reject(new StateLockTimeout("timed out locking store"));
    const state: LockedState = {
      read: () => Promise.resolve(this.text),
      write: (text) => {
        this.text = text;
        return Promise.resolve();
      },
    };
    const turn = this.last.then(() => work(state));
    // The next in the queue comes whether or not this one fails.
    this.last = turn.catch(() => undefined);
    return turn;
  }
}

export interface AzureSession {
  /** This call's own copy; what CNS remembers is not in it. */
  readonly state: AzureState;
  /** The endpoints of the request's container. @throws CniError */
  endpointsOf(request: PluginRequest): Promise<readonly FoundEndpoint[]>;
  /** Keeps what the state holds; `made` are the endpoints that are new. @throws CniError */
  save(made: readonly AzureEndpointRecord[]): Promise<void>;
  /** Forgets endpoints that are gone, and keeps the rest. @throws CniError */
  forget(gone: readonly FoundEndpoint[]): Promise<void>;
}

export interface AzureMemory {
  /** Runs `work` with what is remembered; where it lies in a file, while no other call has it. @throws CniError */
  use<T>(work: (session: AzureSession) => Promise<T>): Promise<T>;
}

/** Stands in the state file where upstream has its own version. */
const STATE_VERSION = "mullion";

function tryAgain(action: string, error: unknown): CniError {
  const knowledge = error instanceof CniError ? error.knowledge : undefined;
  const message = `${action}: ${describeError(error)}`;
  return new CniError(CNI_CODES.tryAgainLater, message, { knowledge, cause: error });
}

/** What `work` gives; a failure has code 11, which asks the runtime to try again. */
export async function tryingAgain<T>(action: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw tryAgain(action, error);
  }
}

async function readState(locked: LockedState, checksSeal: boolean): Promise<AzureState> {
  try {
    return parseState(await locked.read(), checksSeal);
  } catch (error) {
    const isBroken =
      error instanceof JsonError || error instanceof DecodeError || error instanceof DamagedStateError;
    const details = isBroken
      ? WORDS.adviceRemoveAzureVnetState
      : "let the plugin's user read azure-vnet.json";
    const message = `Failed to start network plugin, err:${describeError(error)}.`;
    const knowledge = "azure-state-unreadable";
    throw new CniError(AZURE_ERROR_CODE, message, { details, knowledge, cause: error });
  }
}

export class FileMemory implements AzureMemory {
  private readonly store: StateStore;
  private readonly host: AzureHost;
  /** The file has a checksum, and is refused when it is wrong. */
  private readonly sealsState: boolean;

  constructor(store: StateStore, host: AzureHost, { sealsState }: Pick<AzureDifferences, "sealsState">) {
    this.store = store;
    this.host = host;
    this.sealsState = sealsState;
  }

  async use<T>(work: (session: AzureSession) => Promise<T>): Promise<T> {
    try {
      return await this.store.withLock(async (locked) =>
        work(this.sessionOf(await readState(locked, this.sealsState), locked)),
      );
    } catch (error) {
      if (!(error instanceof StateLockTimeout)) throw error;
      const action = WORDS.stateLockTimeout;
      throw tryAgain(action, error);
    }
  }

  private sessionOf(state: AzureState, locked: LockedState): AzureSession {
    const save = (): Promise<void> =>
      locked.write(
        formatState(state, { version: STATE_VERSION, time: this.host.now(), isSealed: this.sealsState }),
      );
    return {
      state,
      endpointsOf: ({ containerId }) => Promise.resolve(endpointsOfContainer(state, containerId)),
      save,
      forget: (gone) => {
        for (const { network, endpoint } of gone) network.endpoints.delete(endpoint.id);
        return save();
      },
    };
  }
}

/** CNS does not keep namespaces; whatever is a GUID means HCN, which alone is used here. */
const SOME_NAMESPACE = "12345678-1234-1234-1234-123456789012";
const INFRA_NAME = "eth0";

function recordOf(request: PluginRequest, name: string, info: EndpointIpInfo): AzureEndpointRecord {
  return {
    id: request.containerId,
    hnsId: info.HnsEndpointID,
    ifName: name === "" ? INFRA_NAME : name,
    mac: info.MacAddress,
    addresses: [...info.IPv4, ...info.IPv6],
    gateways: [],
    dns: { suffix: "", servers: [], options: [] },
    routes: [],
    containerId: request.containerId,
    netns: SOME_NAMESPACE,
    podName: "",
    podNamespace: "",
    // A state from before CNS kept it is of the cluster's network.
    nicType: name === "" || info.NICType === "" ? "InfraNIC" : (info.NICType as NicType),
    vlanId: 0,
    hnsNetworkId: info.HnsNetworkID,
    networkContainerId: info.NetworkContainerID,
    allowsHostToContainer: false,
    allowsContainerToHost: false,
  };
}

function foundOf(endpoint: AzureEndpointRecord): FoundEndpoint {
  const network: AzureNetworkRecord = {
    id: "",
    hnsId: endpoint.hnsNetworkId,
    mode: "",
    vlanId: 0,
    enablesSnatOnHost: false,
    subnets: [],
    netns: SOME_NAMESPACE,
    endpoints: new Map([[endpoint.id, endpoint]]),
  };
  return { external: { name: "", mac: "", subnets: [], networks: new Map() }, network, endpoint };
}

function infoOf(record: AzureEndpointRecord): EndpointIpInfo {
  const of = (family: 4 | 6) => record.addresses.filter(({ ip }) => familyOf(ip) === family);
  return {
    IPv4: of(4),
    IPv6: of(6),
    HnsEndpointID: record.hnsId,
    HnsNetworkID: record.hnsNetworkId,
    HostVethName: "",
    MacAddress: record.mac.toLowerCase().replaceAll("-", ":"),
    NetworkContainerID: record.networkContainerId,
    NICType: record.nicType,
  };
}

export class CnsMemory implements AzureMemory {
  private readonly cns: CnsClient;

  constructor(cns: CnsClient) {
    this.cns = cns;
  }

  use<T>(work: (session: AzureSession) => Promise<T>): Promise<T> {
    return work({
      state: new Map(),
      endpointsOf: (request) => this.endpointsOf(request),
      save: (made) => this.save(made),
      forget: (gone) => this.forget(gone),
    });
  }

  /** What CNS does not know, or cannot say now, is nothing. */
  private async endpointsOf(request: PluginRequest): Promise<readonly FoundEndpoint[]> {
    try {
      const known = await this.cns.getEndpoint(request.containerId);
      return [...(known?.IfnameToIPMap ?? [])].map(([name, info]) => foundOf(recordOf(request, name, info)));
    } catch (error) {
      if (isCnsFailure(error, "unreachable")) return [];
      throw tryAgain("failed to delete endpoint", error);
    }
  }

  private async save(made: readonly AzureEndpointRecord[]): Promise<void> {
    const [first] = made;
    if (first === undefined) return;
    const infos = new Map(made.map((record) => [record.ifName, infoOf(record)]));
    try {
      await this.cns.updateEndpoint(first.containerId, infos);
    } catch (error) {
      const text = `failed to create endpoint: Update endpoint API returend with error: ${describeError(error)}`;
      throw new CniError(CNI_CODES.internal, text, { knowledge: "azure-cns-refused", cause: error });
    }
  }

  /** With an interface of the cluster's network CNS has forgotten all when its address came back. */
  private async forget(gone: readonly FoundEndpoint[]): Promise<void> {
    if (gone.some(({ endpoint }) => endpoint.nicType === "InfraNIC")) return;
    const own = gone.find(({ endpoint }) => endpoint.nicType === "FrontendNIC");
    if (own === undefined) return;
    await tryingAgain("failed to delete state", () => this.cns.deleteEndpoint(own.endpoint.containerId));
  }
}
