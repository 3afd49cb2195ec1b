/** Records of one network and its endpoints for tests of the rules that they compile to. */
import { defined } from "#core/base/assert.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import { parseEndpointPolicies } from "#contracts/hcn/documents/endpoint-policy.ts";
import { parseNetworkPolicies } from "#contracts/hcn/documents/network-policy.ts";
import type { EndpointRecord, NetworkRecord, RecordBase, RouteRecord } from "#hns/service/records.ts";
import { ANY_IPV4, parseIp } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";

function base(id: string, name: string): RecordBase {
  return {
    id,
    owner: "",
    name,
    additionalParams: undefined,
    schemaVersion: { Major: 2, Minor: 0 },
    version: 0,
    changedAtMs: 0,
    activityId: id,
  };
}

function mac(text: string): Mac {
  return defined(parseMac(text), "the fixture's MAC is one");
}

export function networkRecord(policies: readonly PolicyDocument[] = []): NetworkRecord {
  return {
    ...base("net", "cbr0"),
    type: "L2Bridge",
    switchKind: "external",
    adapterName: "Ethernet",
    switchId: "switch",
    layerId: "switch",
    policies: parseNetworkPolicies(policies),
    macRanges: [],
    dns: undefined,
    ipamType: undefined,
    subnets: [],
    bareSubnets: [],
    flags: 0,
    drMac: mac("00-15-5D-00-00-00"),
    hostMac: undefined,
    isIsolated: false,
    extensions: {},
    addressedAtMs: 0,
  };
}

export interface EndpointFields {
  readonly id?: string;
  readonly ips?: readonly string[];
  readonly mac?: string;
  readonly gateway?: string;
  readonly policies?: readonly PolicyDocument[];
  /** Default: in a namespace. */
  readonly isOnHost?: boolean;
}

/** An attached endpoint; default 10.244.1.10 behind the gateway 10.244.1.2. */
export function endpointRecord(fields: EndpointFields = {}): EndpointRecord {
  const id = fields.id ?? "ep";
  const route: RouteRecord = {
    destination: ANY_IPV4,
    nextHop: parseIp(fields.gateway ?? "10.244.1.2"),
    metric: undefined,
  };
  const macText = fields.mac ?? "00-15-5D-00-00-0A";
  return {
    ...base(id, `${id}_cbr0`),
    networkId: "net",
    policies: parseEndpointPolicies(fields.policies ?? []),
    ipConfigs: (fields.ips ?? ["10.244.1.10"]).map((text) => ({
      ip: defined(parseIp(text), "the fixture's address is one"),
      length: 24,
      ipSubnetId: "subnet",
    })),
    dns: undefined,
    routes: [route],
    mac: mac(macText),
    macText,
    flags: 0,
    attachment:
      fields.isOnHost === true
        ? { kind: "host", namespaceId: undefined, portId: `port-${id}` }
        : { kind: "namespace", namespaceId: "ns", portId: `port-${id}` },
    isPortGone: false,
    containers: [],
    virtualMachine: undefined,
    wasUsed: false,
    errorCode: 0,
  };
}
