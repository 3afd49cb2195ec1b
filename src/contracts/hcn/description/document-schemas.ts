/**
 * The documents of HNS as JSON schemas, for the published description (hcn.md §2). They say how answers look; requests
 * may be written more freely (§1.6), so a request is not held against them. Unknown fields are allowed everywhere.
 */
import { DNS, POLICY, ROUTE } from "../documents/base-document.ts";
import { type Schema, component, schemaOf } from "./description-schema.ts";
import { ENDPOINT } from "../documents/endpoint.ts";
import { GUEST_NETWORK_SERVICE, MIRRORED_INTERFACE } from "../documents/guest-network-service.ts";
import { IP_SUBNET, NETWORK, SUBNET } from "../documents/network.ts";
import { LOAD_BALANCER, PORT_MAPPING } from "../documents/load-balancer.ts";
import { NAMESPACE } from "../documents/namespace.ts";
import { SDN_ROUTE, SDN_ROUTE_SETTING } from "../documents/sdn-route.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

function object(
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
): Schema {
  return { type: "object", description, properties, ...(required.length > 0 && { required }) };
}

const TEXT: Schema = { type: "string" };
const NUMBER: Schema = { type: "integer", minimum: 0 };
const U16: Schema = { type: "integer", minimum: 0, maximum: 65_535 };
const ANY: Schema = {};
const GUID = component("Guid");

const PARTS: Readonly<Record<string, Schema>> = {
  Guid: { type: "string", pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$" },
  SchemaVersion: object(WORDS.schemaVersion, {
    Major: NUMBER,
    Minor: NUMBER,
  }),
  Policy: schemaOf(POLICY),
  Route: schemaOf(ROUTE),
  Dns: schemaOf(DNS),
  IpSubnet: schemaOf(IP_SUBNET),
  Subnet: schemaOf(SUBNET),
  PortMapping: schemaOf(PORT_MAPPING),
  MirroredInterface: schemaOf(MIRRORED_INTERFACE),
  SdnRoutePolicySetting: schemaOf(SDN_ROUTE_SETTING),
};

const OBJECTS: Readonly<Record<string, Schema>> = {
  HostComputeNetwork: schemaOf(NETWORK),
  HostComputeEndpoint: schemaOf(ENDPOINT),
  HostComputeNamespace: schemaOf(NAMESPACE),
  HostComputeLoadBalancer: schemaOf(LOAD_BALANCER),
  HostComputeRoute: schemaOf(SDN_ROUTE),
  GuestNetworkService: schemaOf(GUEST_NETWORK_SERVICE),
};

const CALLS: Readonly<Record<string, Schema>> = {
  HostComputeQuery: {
    type: "object",
    description: WORDS.hostComputeQuery,
    properties: { SchemaVersion: component("SchemaVersion"), Flags: NUMBER, Filter: TEXT },
  },
  ModifySettings: {
    type: "object",
    description: "What changes; for load balancers the whole document.",
    properties: {
      RequestType: { description: "Add, Remove, Update, Refresh, Reset, or their number." },
      ResourceType: {
        description: WORDS.modifySettingsResourceType,
      },
      Settings: ANY,
    },
  },
  EndpointStatistics: object(
    "What has passed the port.",
    {
      BytesReceived: NUMBER,
      BytesSent: NUMBER,
      PacketsReceived: NUMBER,
      PacketsSent: NUMBER,
      DroppedPacketsIncoming: NUMBER,
      DroppedPacketsOutgoing: NUMBER,
      EndpointId: TEXT,
      InstanceId: TEXT,
    },
    ["EndpointId"],
  ),
  EndpointAddresses: object(
    "The addresses of an endpoint.",
    {
      EndpointId: TEXT,
      IpConfigurations: { type: "array", items: { type: "object" } },
      MacAddress: TEXT,
    },
    ["EndpointId", "IpConfigurations", "MacAddress"],
  ),
  ComputeSystem: object(
    WORDS.computeSystem,
    {
      Id: TEXT,
      SystemType: { enum: ["Container", "VirtualMachine"] },
      Owner: TEXT,
      RuntimeId: GUID,
      State: { enum: ["Running"] },
      Namespace: GUID,
      NetworkAdapters: { type: "array", items: { type: "object" } },
    },
    ["Id", "SystemType", "RuntimeId", "State", "NetworkAdapters"],
  ),
  PortRangeReservation: object(
    "Ports that are reserved; both ends are inclusive.",
    {
      reservation: GUID,
      startingPort: U16,
      endingPort: U16,
    },
    ["reservation", "startingPort", "endingPort"],
  ),
  PortRangeEntry: object(
    "HCN_PORT_RANGE_ENTRY.",
    {
      OwningPartitionId: GUID,
      TargetPartitionId: GUID,
      Protocol: NUMBER,
      Priority: NUMBER,
      ReservationType: NUMBER,
      SharingFlags: NUMBER,
      DeliveryMode: NUMBER,
      StartingPort: U16,
      EndingPort: U16,
    },
    ["Protocol", "StartingPort", "EndingPort"],
  ),
  V1Envelope: {
    type: "object",
    description: WORDS.v1Envelope,
    properties: { Success: { type: "boolean" }, Output: ANY, Error: TEXT, ErrorCode: NUMBER },
    required: ["Success"],
  },
  Notification: object(
    "One line of the stream.",
    {
      type: { ...NUMBER, description: "Windows' number, such as 2 for NetworkCreate." },
      status: NUMBER,
      data: object("NotificationBase.", { ID: GUID, Flags: NUMBER, Data: ANY }, ["ID", "Flags"]),
      scope: {
        ...GUID,
        description: WORDS.notificationScope,
      },
      computeSystem: { ...TEXT, description: "The compute system that it is about; `type` is then HCS's." },
    },
    ["type", "status", "data"],
  ),
  Error: object(
    "A refusal.",
    {
      error: object(
        "Windows' record, and what Mullion says beyond it.",
        {
          Success: { const: false },
          Error: { ...TEXT, description: "Windows' own text." },
          ErrorCode: { ...NUMBER, description: "The HRESULT as an unsigned decimal." },
          Detail: { ...TEXT, description: "What is wrong, where, and what to write instead." },
          Explanation: { ...TEXT, description: "mullion explain CODE." },
        },
        ["Success", "Error", "ErrorCode"],
      ),
    },
    ["error"],
  ),
  Health: object(
    "How the service is.",
    {
      status: { enum: ["ok", "failing"] },
      version: object("Of HNS.", { Major: NUMBER, Minor: NUMBER }, ["Major", "Minor"]),
      profile: TEXT,
      objects: {
        type: "object",
        description: "How many there are of each kind.",
        additionalProperties: NUMBER,
      },
      store: { ...TEXT, description: "memory, or the folder." },
      storeFault: object(
        "Why the store cannot write; absent while it can.",
        { reason: { enum: ["disk-full", "io-error", "read-only"] }, text: TEXT },
        ["reason", "text"],
      ),
    },
    ["status", "profile", "store"],
  ),
};

/** All of them by name. */
export const DOCUMENT_SCHEMAS: Readonly<Record<string, Schema>> = Object.freeze({
  ...PARTS,
  ...OBJECTS,
  ...CALLS,
});
