/** What all HCN documents share (hcn.md §1.6, §2.1, §2.5, §2.6, §2.9). */
import type { ObjectOf, SchemaVersion } from "../description/description.ts";
import { keepJson } from "../description/json.ts";
import { hnsDocuments } from "#data/words.js";

const WORDS = hnsDocuments();

/** The fields that every document begins with. */
export const BASE = {
  text: "What every document begins with.",
  fields: {
    ID: {
      is: "guid",
      text: "Which object it is.",
      absent: "chosen by the service",
      v1: "ID",
    },
    Owner: { is: "text", text: "Who created it, in words.", absent: "empty", v1: { dump: "Owner" } },
    Name: {
      is: "text",
      text: "The name that is shown: unique for networks, free for endpoints.",
      absent: "empty",
      v1: "Name",
    },
    Version: {
      is: "serviceVersion",
      text: "The version of the service that wrote the object: major × 2^32 + minor.",
      by: "service",
      v1: { answer: "Version" },
    },
    AdditionalParams: {
      is: "json",
      text: "Of a network `ICSFlags`, of an endpoint `SwitchId` and `SwitchPortId`.",
      absent: "none",
      v1: { answer: "AdditionalParams" },
    },
    Health: {
      is: "object",
      of: {
        text: "What is wrong with it.",
        fields: {
          Data: { is: "json", text: "`LastErrorCode` and `LastUpdateTime`." },
          Extra: {
            is: "json",
            text: "What the object holds: `Resources`, `SharedContainers`, `SwitchGuid`.",
          },
        },
      },
      text: "How the object is, and what it holds.",
      by: "service",
    },
    SchemaVersion: {
      is: "schemaVersion",
      text: (): string => WORDS.documentSchemaVersion,
      absent: "1.0",
    },
    Telemetry: { is: "json", text: "`Data`: diagnostics of the service.", by: "service" },
    State: { is: "u16", text: "Where it is in its life.", by: "service", v1: "State" },
  },
} as const;

/** A policy; `endpoint-policy.ts` and `network-policy.ts` read the settings. */
export const POLICY = {
  text: "A policy; the settings depend on the type.",
  name: "Policy",
  fields: {
    Type: { is: "text", text: "The type, by name or by number." },
    Settings: { is: "jsonObject", text: "What the type asks for.", absent: "the fields beside `Type`" },
  },
  needs: ["Type"],
} as const;

export const ROUTE = {
  text: "A route.",
  name: "Route",
  fields: {
    NextHop: { is: "text", text: "The address of the gateway." },
    DestinationPrefix: {
      is: "text",
      text: "Where it leads, as a prefix. `0.0.0.0/0` and `::/0` are default routes.",
    },
    Metric: { is: "u16", text: "The lower one counts.", absent: "0" },
  },
} as const;

export const DNS = {
  text: "Name resolution.",
  name: "Dns",
  fields: {
    Domain: { is: "text", text: "The suffix of the connection.", absent: "empty", v1: "DNSDomain" },
    Search: { is: "texts", text: "Suffixes that are tried in turn.", absent: "none", v1: "DNSSuffix" },
    ServerList: { is: "texts", text: "Addresses of name servers.", absent: "none", v1: "DNSServerList" },
    Options: { is: "texts", text: "Options of the resolver.", absent: "none" },
  },
} as const;

export type BaseDocument = ObjectOf<typeof BASE>;
export type Health = NonNullable<BaseDocument["Health"]>;

/** Type and settings of one policy as they stand in a document. */
export type PolicyDocument = ObjectOf<typeof POLICY>;
export type Route = ObjectOf<typeof ROUTE>;

/** Name resolution of a network or endpoint (hcn.md §2.6). */
export type Dns = ObjectOf<typeof DNS>;

/** What hcsshim and the CNI plugins send. */
export const SCHEMA_V2_0: SchemaVersion = keepJson({ Major: 2, Minor: 0 });

/**
 * What hcsshim's structs bring into every document of a network or endpoint: Go's JSON leaves out no struct, however empty
 * (hcnendpoint.go, hcnnetwork.go of hcsshim 0.8.25 to 0.14.1). `Dns` is another one, and `MacPool` of a network.
 */
export const CLIENT_MEMBERS: Required<Pick<BaseDocument, "Health" | "SchemaVersion">> = keepJson({
  Health: { Extra: {} },
  SchemaVersion: SCHEMA_V2_0,
});
