/**
 * CNS itself, as far as azure-vnet calls it: for tests and for nodes of the emulator. It answers as the restserver of
 * Azure/azure-container-networking does (cns/restserver/ipam.go).
 */
import { addToList } from "#core/base/keyed-lists.ts";
import { type JsonObject, type JsonValue, mappingOf } from "#core/base/json.ts";
import { readGoStruct } from "#contracts/cni/go-struct.ts";
import { parseJson, DecodeError, StructReader, readStruct, JsonError } from "#contracts/cni/json.ts";
import { messageOf } from "#core/base/thrown.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { HttpAnswer, HttpTransport } from "./client.ts";
import {
  CNS_CODES,
  type EndpointIpInfo,
  POD_CONTEXT,
  type PodContext,
  formatIpInfo,
  readIpInfos,
  readPodIpInfo,
  CNS_PATHS,
  type HostIpInfo,
  type IpConfiguration,
  type NetworkContainer,
  type PodIpInfo,
} from "./documents.ts";
import { AddressPool, type PodKey, PoolExhausted } from "./address-pool.ts";
import { ensureApipaEndpoint, removeApipaEndpoint } from "./apipa-endpoints.ts";
import { plugins } from "#data/words.js";

const WORDS = plugins();

const HTTP_OK = 200;

function answer(body: JsonValue): HttpAnswer {
  return { status: HTTP_OK, text: JSON.stringify(body) };
}

function outcome(code: number, message = ""): JsonObject {
  return { ReturnCode: code, Message: message };
}

interface ContainerState {
  readonly pod: PodContext;
  /** By name. */
  readonly interfaces: Map<string, EndpointIpInfo>;
}

const MISSING = "endpoint state could not be found in the statefile";
const NO_POD: PodContext = { podName: "", podNamespace: "" };

/** Why an interface cannot be kept; undefined: it can. */
function refusalOf(name: string, info: EndpointIpInfo): string | undefined {
  if (name === "") return "[updateEndpoint] No Interface has been provided";
  const isEmpty = info.HnsEndpointID === "" && info.NICType === "" && info.MacAddress === "";
  return isEmpty
    ? "[updateEndpoint] No NicType, MacAddress, HnsEndpointID or HostVethName has been provided"
    : undefined;
}

class EndpointStates {
  private readonly states: Map<string, ContainerState> = new Map();

  /** A container that addresses were given to. */
  begin(containerId: string, pod: PodContext): void {
    this.stateOf(containerId, pod);
  }

  forget(containerId: string): void {
    this.states.delete(containerId);
  }

  handle(method: string, containerId: string, body: string): HttpAnswer {
    if (method === "PATCH") return this.update(containerId, body);
    const known = this.states.get(containerId);
    if (method === "DELETE") {
      this.states.delete(containerId);
      return answer(known === undefined ? outcome(CNS_CODES.notFound, MISSING) : outcome(CNS_CODES.success));
    }
    if (known === undefined) {
      const response = outcome(CNS_CODES.notFound, `[GetEndpointState] ${MISSING}`);
      return answer({ response, endpointInfo: {} });
    }
    const { pod, interfaces } = known;
    const endpointInfo = {
      PodName: pod.podName,
      PodNamespace: pod.podNamespace,
      IfnameToIPMap: Object.fromEntries([...interfaces].map(([name, info]) => [name, formatIpInfo(info)])),
    };
    return answer({ response: outcome(CNS_CODES.success), endpointInfo });
  }

  private update(containerId: string, body: string): HttpAnswer {
    const members = parseJson(body);
    const given = readIpInfos(mappingOf(members), "");
    for (const [name, info] of given) {
      const refusal = refusalOf(name, info);
      if (refusal !== undefined) return answer(outcome(CNS_CODES.invalidRequest, refusal));
    }
    const { interfaces } = this.stateOf(containerId, NO_POD);
    for (const [name, info] of given) interfaces.set(name, info);
    return answer(outcome(CNS_CODES.success, "[updateEndpoint] updateEndpoint retruned successfully"));
  }

  private stateOf(containerId: string, pod: PodContext): ContainerState {
    const known = this.states.get(containerId);
    if (known !== undefined) return known;
    const made: ContainerState = { pod, interfaces: new Map() };
    this.states.set(containerId, made);
    return made;
  }
}

export interface CnsServiceOptions {
  readonly host: HostIpInfo;
  /** The node's HNS, for endpoints between containers and host. */
  readonly client?: HcnClient;
  /** Keeps the endpoints of a stateless plugin, and distinguishes pods by their containers. */
  readonly keepsEndpoints?: boolean;
  /** A service from before pods had several addresses. */
  readonly isOld?: boolean;
}

/** Releases that were left for CNS while it was away. */
interface MissedReleases {
  list(): Promise<readonly { readonly containerId: string; readonly podInterfaceId: string }[]>;
  remove(containerId: string): Promise<void>;
}

export const PLAIN_POD_IP: PodIpInfo = Object.freeze({
  ...readPodIpInfo(new StructReader({})),
  NICType: "InfraNIC",
});
export const NO_CONFIGURATION: IpConfiguration = PLAIN_POD_IP.NetworkContainerPrimaryIPConfig;

const HTTP_BAD_REQUEST = 400;
const HTTP_NOT_FOUND = 404;
/** What an older service does not know. */
const NEWER: readonly string[] = [CNS_PATHS.requestIps, CNS_PATHS.releaseIps, CNS_PATHS.allNetworkContainers];

function keyOf({ podName, podNamespace }: PodContext): string {
  return `${podNamespace}/${podName}`;
}

function readContext(reader: StructReader): PodContext {
  return readGoStruct(reader.struct("orchestratorContext"), POD_CONTEXT);
}

function readPod(reader: StructReader): PodKey {
  return {
    ...readContext(reader),
    containerId: reader.text("infraContainerID"),
    interfaceId: reader.text("podInterfaceID"),
  };
}

export class CnsService {
  private readonly options: CnsServiceOptions;
  /** Addresses for whatever pods come. */
  readonly pool: AddressPool;
  /** Network containers of tenants, by pod. */
  private readonly containers: Map<string, NetworkContainer[]> = new Map();
  /** Interfaces of pods' own, by pod. */
  private readonly interfaces: Map<string, PodIpInfo[]> = new Map();
  private readonly endpoints: EndpointStates = new EndpointStates();

  constructor(options: CnsServiceOptions) {
    this.options = options;
    this.pool = new AddressPool(options.keepsEndpoints === true);
  }

  /** The network of one tenant's pod. */
  addContainer(pod: PodContext, container: NetworkContainer): void {
    addToList(this.containers, keyOf(pod), container);
  }

  /** An interface that a pod has for itself. */
  addInterface(pod: PodContext, info: PodIpInfo): void {
    addToList(this.interfaces, keyOf(pod), info);
  }

  /** Works off what azure-vnet left while CNS did not answer; CNS does so every fifteen seconds. */
  async drain(missed: MissedReleases): Promise<void> {
    for (const { containerId, podInterfaceId } of await missed.list()) {
      this.release({ containerId, interfaceId: podInterfaceId, podName: "", podNamespace: "" });
      await missed.remove(containerId);
    }
  }

  /** Answers one request. `body` is empty when there is none. */
  async handle(method: string, path: string, body: string): Promise<HttpAnswer> {
    try {
      return await this.dispatch(method, path, body);
    } catch (error) {
      if (!(error instanceof JsonError) && !(error instanceof DecodeError)) throw error;
      return { status: HTTP_BAD_REQUEST, text: error.message };
    }
  }

  private async dispatch(method: string, path: string, body: string): Promise<HttpAnswer> {
    if (path.startsWith(CNS_PATHS.endpoints))
      return this.handleEndpoint(method, path.slice(CNS_PATHS.endpoints.length), body);
    const isKnown = Object.values<string>(CNS_PATHS).includes(path) && method === "POST";
    if (!isKnown || (this.options.isOld === true && NEWER.includes(path)))
      return { status: HTTP_NOT_FOUND, text: "404 page not found\n" };
    const reader = readStruct(parseJson(body), "");
    switch (path) {
      case CNS_PATHS.requestIps:
        return this.requestIps(reader);
      case CNS_PATHS.requestIp:
        return this.requestIp(reader);
      case CNS_PATHS.releaseIps:
      case CNS_PATHS.releaseIp:
        this.release(readPod(reader));
        return answer(outcome(CNS_CODES.success));
      case CNS_PATHS.allNetworkContainers:
      case CNS_PATHS.networkContainer:
        return this.networkContainers(path, readContext(reader));
      case CNS_PATHS.createApipaEndpoint:
      case CNS_PATHS.deleteApipaEndpoint:
        return this.apipaEndpoint(path, reader.text("NetworkContainerID"));
      default:
        return this.listAddresses(reader.texts("IPConfigStateFilter"));
    }
  }

  private requestIps(reader: StructReader): HttpAnswer {
    const pod = readPod(reader);
    try {
      const podIPInfo = this.assign(pod, reader.texts("desiredIPAddresses"));
      return answer({ podIPInfo: podIPInfo as unknown as JsonValue, response: outcome(CNS_CODES.success) });
    } catch (error) {
      if (!(error instanceof PoolExhausted)) throw error;
      return answer({ podIPInfo: [], response: this.exhausted(error, pod) });
    }
  }

  private exhausted({ message }: PoolExhausted, pod: PodKey): JsonObject {
    const text = `AllocateIPConfig failed: ${message}, IP config request is {${pod.interfaceId} ${pod.containerId}}`;
    return outcome(CNS_CODES.failedToAllocate, text);
  }

  /** The older call has room for one address. */
  private requestIp(reader: StructReader): HttpAnswer {
    const pod = readPod(reader);
    if (this.pool.containerCount !== 1) {
      const text = `Expected 1 NC when calling this API but found ${this.pool.containerCount} NCs`;
      return answer({ PodIpInfo: {}, Response: outcome(CNS_CODES.invalidRequest, text) });
    }
    try {
      const [first, ...more] = this.assign(pod, []);
      if (first === undefined || more.length > 0) {
        const text = `request returned incorrect number of IPs. Expected 1 and returned ${more.length + 1}`;
        return answer({ PodIpInfo: {}, Response: outcome(CNS_CODES.unexpected, text) });
      }
      return answer({ PodIpInfo: first as unknown as JsonValue, Response: outcome(CNS_CODES.success) });
    } catch (error) {
      if (!(error instanceof PoolExhausted)) throw error;
      return answer({ PodIpInfo: {}, Response: this.exhausted(error, pod) });
    }
  }

  /** Addresses of the pool, and the pod's own interfaces, which then have the default routes. */
  private assign(pod: PodKey, wanted: readonly string[]): readonly PodIpInfo[] {
    const own = this.interfaces.get(keyOf(pod)) ?? [];
    const hasOwnDefault = own.some(
      ({ SkipDefaultRoutes, NICType }) => NICType === "FrontendNIC" && !SkipDefaultRoutes,
    );
    const taken = this.pool.isEmpty && own.length > 0 ? [] : this.pool.take(pod, wanted);
    const infra = taken.map(({ address, container }) => ({
      ...PLAIN_POD_IP,
      PodIPConfig: { IPAddress: address, PrefixLength: container.primary.IPSubnet.PrefixLength },
      NetworkContainerPrimaryIPConfig: container.primary,
      HostPrimaryIPInfo: this.options.host,
      SkipDefaultRoutes: hasOwnDefault,
    }));
    if (this.options.keepsEndpoints === true) this.endpoints.begin(pod.containerId, pod);
    return [...infra, ...own.map((info) => ({ ...info, HostPrimaryIPInfo: this.options.host }))];
  }

  private release(pod: PodKey): void {
    this.pool.release(pod);
    this.endpoints.forget(pod.containerId);
  }

  private networkContainers(path: string, pod: PodContext): HttpAnswer {
    const found = this.containers.get(keyOf(pod)) ?? [];
    const result =
      found.length > 0
        ? outcome(CNS_CODES.success)
        : outcome(CNS_CODES.unknownContainer, `NetworkContainer doesn't exist for ${keyOf(pod)}`);
    if (path === CNS_PATHS.allNetworkContainers)
      return answer({ NetworkContainers: found as unknown as JsonValue, Response: result });
    return answer({ ...(found[0] as unknown as JsonObject | undefined), Response: result });
  }

  private async apipaEndpoint(path: string, id: string): Promise<HttpAnswer> {
    const { client } = this.options;
    const container = [...this.containers.values()].flat().find((each) => each.NetworkContainerID === id);
    if (container === undefined || client === undefined) {
      const text = WORDS.createApipaEndpointFailed({ id });
      return answer({ Response: outcome(CNS_CODES.unknownContainer, text), EndpointID: "" });
    }
    try {
      if (path === CNS_PATHS.deleteApipaEndpoint) {
        await removeApipaEndpoint(client, container);
        return answer({ Response: outcome(CNS_CODES.success) });
      }
      const EndpointID = await ensureApipaEndpoint(client, container);
      return answer({ Response: outcome(CNS_CODES.success), EndpointID });
    } catch (error) {
      const text = `CreateHostNCApipaEndpoint failed with error: ${messageOf(error)}`;
      return answer({ Response: outcome(CNS_CODES.unexpected, text), EndpointID: "" });
    }
  }

  private listAddresses(states: readonly string[]): HttpAnswer {
    const all = this.pool.all().map(({ address, container, holder }) => ({
      state: holder === undefined ? "Available" : "Assigned",
      ID: address,
      IPAddress: address,
      NCID: container.id,
      PodInfo:
        holder === undefined
          ? null
          : {
              podName: holder.podName,
              podNamespace: holder.podNamespace,
              PodInfraContainerID: holder.containerId,
              PodInterfaceID: holder.interfaceId,
            },
    }));
    const IPConfigurationStatus = all.filter(({ state }) => states.includes(state));
    return answer({ IPConfigurationStatus, Response: outcome(CNS_CODES.success) });
  }

  private handleEndpoint(method: string, id: string, body: string): HttpAnswer {
    if (this.options.keepsEndpoints === true) return this.endpoints.handle(method, id, body);
    const text = "CNS is not set to manage the endpoint state";
    return answer(
      outcome(CNS_CODES.unexpected, `[EndpointHandlerAPI] EndpointHandlerAPI failed with error: ${text}`),
    );
  }
}

const PATH = /^[a-z]+:\/\/[^/]*(\/[^?#]*)/i;

/** Whatever host the request names, the service answers. */
export function transportTo(service: CnsService): HttpTransport {
  return ({ method, url, body = "" }) => service.handle(method, PATH.exec(url)?.[1] ?? "/", body);
}
