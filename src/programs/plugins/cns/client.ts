/** CNS as azure-vnet calls it: JSON over HTTP, on the node's loopback (cni.md §5.7). */
import { messageOf } from "#core/base/thrown.ts";
import { DecodeError, StructReader, readStruct, JsonError, parseJson } from "#contracts/cni/json.ts";
import { type JsonObject } from "#core/base/json.ts";
import {
  type AddressStatus,
  CNS_CODES,
  CNS_PATHS,
  type EndpointIpInfo,
  type EndpointState,
  type IpConfigsRequest,
  type NetworkContainer,
  type PodContext,
  type PodIpInfo,
  formatContext,
  formatIpConfigRequest,
  formatIpConfigsRequest,
  formatIpInfo,
  readAddressStatus,
  readIpInfos,
  readNetworkContainer,
  readPodIpInfo,
  readResponse,
} from "./documents.ts";

/** A request to an HTTP service of the node: over sockets in a process, a function in the emulator. */
export interface HttpRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly url: string;
  readonly body?: string;
  /** How long everything may take, in milliseconds. */
  readonly timeoutMs: number;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
}

/** Rejects when no answer came: nothing listens, the time is over, the answer is too large. */
export type HttpTransport = (request: HttpRequest) => Promise<HttpAnswer>;

export const CNS_DEFAULT_URL = "http://localhost:10090";
/** How long azure-vnet waits for one call. */
export const CNS_TIMEOUT_MS = 15_000;

/**
 * Why a call failed: no answer came; this CNS does not know the call; it answered with another status than 200; with
 * something that is no answer; it says no.
 */
export type CnsFailure = "unreachable" | "unsupported" | "http" | "broken" | "refused";

export class CnsError extends Error {
  override readonly name = "CnsError";
  readonly failure: CnsFailure;
  /** A return code of CNS. */
  readonly code: number;

  constructor(failure: CnsFailure, code: number, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.failure = failure;
    this.code = code;
  }
}

export function isCnsFailure(error: unknown, failure: CnsFailure): boolean {
  return error instanceof CnsError && error.failure === failure;
}

export interface CnsClientOptions {
  readonly transport: HttpTransport;
  /** Empty: the usual one. Its path is not used. */
  readonly url: string;
}

/** Scheme, host and port. */
function originOf(url: string): string {
  if (url === "") return CNS_DEFAULT_URL;
  return /^[a-z]+:\/\/[^/]*/i.exec(url)?.[0] ?? url;
}

const HTTP_OK = 200;
const HTTP_NOT_FOUND = 404;

export class CnsClient {
  readonly origin: string;
  private readonly transport: HttpTransport;

  constructor({ transport, url }: CnsClientOptions) {
    this.transport = transport;
    this.origin = originOf(url);
  }

  /**
   * Addresses for a pod, over the older call when CNS does not know the newer one (row 138). The outcome of a call that broke
   * off is unknown, so such a request is taken back. @throws CnsError
   */
  async requestIps(request: IpConfigsRequest): Promise<readonly PodIpInfo[]> {
    try {
      const reader = await this.call(
        CNS_PATHS.requestIps,
        formatIpConfigsRequest(request),
        "IPConfigsResponse",
      );
      return this.decode("IPConfigsResponse", () => reader.structs("podIPInfo").map(readPodIpInfo));
    } catch (error) {
      if (isCnsFailure(error, "unsupported")) return this.requestIp(request);
      await this.takeBack(request, error);
      throw error;
    }
  }

  /** @throws CnsError */
  async releaseIps(request: IpConfigsRequest): Promise<void> {
    try {
      await this.call(CNS_PATHS.releaseIps, formatIpConfigsRequest(request), "Response");
    } catch (error) {
      if (!isCnsFailure(error, "unsupported")) throw error;
      await this.call(CNS_PATHS.releaseIp, formatIpConfigRequest(request), "Response");
    }
  }

  /** The network containers of a pod, over the older call when CNS does not know the newer one. @throws CnsError */
  async networkContainersOf(pod: PodContext): Promise<readonly NetworkContainer[]> {
    const body = { NetworkContainerid: "", OrchestratorContext: formatContext(pod) };
    try {
      const reader = await this.call(CNS_PATHS.allNetworkContainers, body, "GetAllNetworkContainersResponse");
      return this.decode("GetAllNetworkContainersResponse", () =>
        reader.structs("NetworkContainers").map(readNetworkContainer),
      );
    } catch (error) {
      if (!isCnsFailure(error, "unsupported")) throw error;
      const reader = await this.call(CNS_PATHS.networkContainer, body, "GetNetworkContainerResponse");
      return [this.decode("GetNetworkContainerResponse", () => readNetworkContainer(reader))];
    }
  }

  /** Has CNS make the endpoint between host and container. @returns its ID in HNS. @throws CnsError */
  async createApipaEndpoint(networkContainerId: string): Promise<string> {
    const body = { NetworkContainerID: networkContainerId };
    const name = "CreateHostNCApipaEndpointResponse";
    const reader = await this.call(CNS_PATHS.createApipaEndpoint, body, name);
    return this.decode(name, () => reader.text("EndpointID"));
  }

  /** What CNS keeps of a container; undefined: nothing. @throws CnsError */
  async getEndpoint(containerId: string): Promise<EndpointState | undefined> {
    const path = CNS_PATHS.endpoints + containerId;
    let reader: StructReader;
    try {
      reader = await this.send("GET", path, undefined, "GetEndpointResponse");
    } catch (error) {
      if (error instanceof CnsError && error.code === CNS_CODES.notFound) return undefined;
      throw error;
    }
    return this.decode("GetEndpointResponse", () => {
      const info = reader.struct("endpointInfo");
      return {
        PodName: info?.text("PodName") ?? "",
        PodNamespace: info?.text("PodNamespace") ?? "",
        IfnameToIPMap: readIpInfos(info?.object("IfnameToIPMap") ?? {}, "endpointInfo.IfnameToIPMap"),
      };
    });
  }

  /** @throws CnsError */
  async updateEndpoint(containerId: string, interfaces: ReadonlyMap<string, EndpointIpInfo>): Promise<void> {
    const body = Object.fromEntries([...interfaces].map(([name, info]) => [name, formatIpInfo(info)]));
    await this.send("PATCH", CNS_PATHS.endpoints + containerId, body, "CNS Response");
  }

  /** What CNS does not keep is no error. @throws CnsError */
  async deleteEndpoint(containerId: string): Promise<void> {
    try {
      await this.send("DELETE", CNS_PATHS.endpoints + containerId, undefined, "CNS Response");
    } catch (error) {
      if (error instanceof CnsError && error.code === CNS_CODES.notFound) return;
      throw error;
    }
  }

  /** Addresses in one of the states, `Available` or `Assigned`. @throws CnsError */
  async addressesIn(...states: readonly string[]): Promise<readonly AddressStatus[]> {
    const body = { IPConfigStateFilter: states };
    const name = "GetIPAddressStatusResponse";
    const reader = await this.call(CNS_PATHS.addresses, body, name);
    return this.decode(name, () => reader.structs("IPConfigurationStatus").map(readAddressStatus));
  }

  private async requestIp(request: IpConfigsRequest): Promise<readonly PodIpInfo[]> {
    try {
      const reader = await this.call(CNS_PATHS.requestIp, formatIpConfigRequest(request), "IPConfigResponse");
      return this.decode("IPConfigResponse", () => [
        readPodIpInfo(reader.struct("PodIpInfo") ?? new StructReader({}, "PodIpInfo")),
      ]);
    } catch (error) {
      await this.takeBack(request, error);
      throw error;
    }
  }

  private async takeBack(request: IpConfigsRequest, error: unknown): Promise<void> {
    if (isCnsFailure(error, "refused")) return;
    try {
      await this.releaseIps(request);
    } catch {
      // The failure that is being reported is the one that led here; DEL comes again.
    }
  }

  private call(path: string, body: JsonObject, name: string): Promise<StructReader> {
    return this.send("POST", path, body, name);
  }

  private async send(
    method: HttpRequest["method"],
    path: string,
    body: JsonObject | undefined,
    name: string,
  ): Promise<StructReader> {
    const { status, text } = await this.exchange(method, path, body);
    if (status === HTTP_NOT_FOUND)
      throw new CnsError("unsupported", CNS_CODES.unsupportedApi, unsupported("Unsupported API"));
    if (status !== HTTP_OK) throw new CnsError("http", CNS_CODES.unexpected, `http response ${status}`);
    return this.decode(name, () => {
      const reader = readStruct(parseJson(text), "");
      // Some answers are the return code itself, others have it as a member.
      const isBare = reader.raw("ReturnCode") !== undefined;
      const { code, message } = readResponse(isBare ? reader : reader.struct("Response"));
      if (code === CNS_CODES.unsupportedApi) throw new CnsError("unsupported", code, unsupported(message));
      if (code !== CNS_CODES.success) throw new CnsError("refused", code, message);
      return reader;
    });
  }

  private async exchange(
    method: HttpRequest["method"],
    path: string,
    body: JsonObject | undefined,
  ): Promise<HttpAnswer> {
    const url = `${this.origin}${path}`;
    const text = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      return await this.transport({ method, url, ...text, timeoutMs: CNS_TIMEOUT_MS });
    } catch (error) {
      const verb = `${method.slice(0, 1)}${method.slice(1).toLowerCase()}`;
      const message = `http request failed: ${verb} ${JSON.stringify(url)}: ${messageOf(error)}`;
      throw new CnsError("unreachable", CNS_CODES.connectionError, message, error);
    }
  }

  private decode<T>(name: string, read: () => T): T {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof JsonError) && !(error instanceof DecodeError)) throw error;
      const message = `failed to decode ${name}: ${error.message}`;
      throw new CnsError("broken", CNS_CODES.unexpected, message, error);
    }
  }
}

function unsupported(message: string): string {
  return `[Azure cnsclient] Code: ${CNS_CODES.unsupportedApi} , Error: ${message}`;
}
