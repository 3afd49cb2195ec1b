/** What CNS keeps for stateless plugins: the interfaces of each container (cns/restserver/ipam.go, EndpointHandlerAPI). */
import { parseJson } from "#contracts/cni/json.ts";
import { isJsonObject } from "#core/base/json.ts";
import { answer, outcome } from "./answers.ts";
import { CNS_CODES, type EndpointIpInfo, type PodContext, formatIpInfo, readIpInfos } from "./documents.ts";
import type { HttpAnswer } from "./transport.ts";

interface ContainerState {
  readonly pod: PodContext;
  /** By name. */
  readonly interfaces: Map<string, EndpointIpInfo>;
}

const MISSING = "endpoint state could not be found in the statefile";
const NOBODY: PodContext = { podName: "", podNamespace: "" };

/** Why an interface cannot be kept; undefined: it can. */
function refusalOf(name: string, info: EndpointIpInfo): string | undefined {
  if (name === "") return "[updateEndpoint] No Interface has been provided";
  const isEmpty = info.HnsEndpointID === "" && info.NICType === "" && info.MacAddress === "";
  return isEmpty
    ? "[updateEndpoint] No NicType, MacAddress, HnsEndpointID or HostVethName has been provided"
    : undefined;
}

export class EndpointStates {
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
    const given = readIpInfos(isJsonObject(members) ? members : {}, "");
    for (const [name, info] of given) {
      const refusal = refusalOf(name, info);
      if (refusal !== undefined) return answer(outcome(CNS_CODES.invalidRequest, refusal));
    }
    const { interfaces } = this.stateOf(containerId, NOBODY);
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
