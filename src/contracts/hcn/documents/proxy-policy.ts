/** The policies that give connections to a proxy: L4Proxy by VFP, L4WFPPROXY by WFP (hcn.md §3.1, §3.3). */
import { parsePortRanges } from "#core/net/port-range.ts";
import { checkAclTuple } from "./acl-policy.ts";
import type { JsonValue } from "#core/base/json.ts";
import type { JsonReader } from "../description/json.ts";
import {
  type ReadSettings,
  SETTING_READERS,
  type SettingsOf,
  objectReader,
  settingsReader,
} from "../description/settings.ts";

const L4_PROXY = {
  IP: "text",
  Port: "port",
  Protocol: "protocol",
  Exceptions: "texts",
  Destination: "text",
  OutboundNAT: "boolean",
} as const;
export type L4ProxyPolicySetting = SettingsOf<typeof L4_PROXY>;

/** The schema page and hcsshim spell two fields differently; both are read (hcn.md §3.1). */
export const readL4Proxy: ReadSettings<L4ProxyPolicySetting> = settingsReader(L4_PROXY, {
  Exceptions: (reader) => reader.texts("Exceptions") ?? reader.texts("ExceptionList"),
  OutboundNAT: (reader) => reader.boolean("OutboundNAT") ?? reader.boolean("OutboundNat"),
});

const PROXY_EXCEPTIONS = { IpAddressExceptions: "texts", PortExceptions: "texts" } as const;
export type ProxyExceptions = SettingsOf<typeof PROXY_EXCEPTIONS>;

/** Ports in a list, as text or as numbers; they go out as text. */
function readPortTexts(reader: JsonReader, field: string): readonly string[] | undefined {
  const value = reader.raw(field);
  if (!Array.isArray(value)) return reader.texts(field);
  return Object.freeze(
    (value as readonly JsonValue[]).map((item) => {
      const text = typeof item === "number" ? String(item) : item;
      if (typeof text === "string" && parsePortRanges(text) !== undefined) return text;
      throw reader.fail(field, "a list of ports");
    }),
  );
}

const readProxyExceptions = objectReader(settingsReader(PROXY_EXCEPTIONS, { PortExceptions: readPortTexts }));

/** Which connections a proxy gets; of equal ones the lower number decides. */
const PROXY_FILTER_TUPLE = {
  Protocols: "textOrNumber",
  LocalAddresses: "text",
  RemoteAddresses: "text",
  LocalPorts: "textOrNumber",
  RemotePorts: "textOrNumber",
  Priority: "u16",
} as const;

/** Redirection inside the endpoint's compartment. */
const L4_WFP_PROXY = {
  InboundProxyPort: "port",
  OutboundProxyPort: "port",
  FilterTuple: { object: (): typeof PROXY_FILTER_TUPLE => PROXY_FILTER_TUPLE },
  UserSID: "text",
  InboundExceptions: { object: (): typeof PROXY_EXCEPTIONS => PROXY_EXCEPTIONS },
  OutboundExceptions: { object: (): typeof PROXY_EXCEPTIONS => PROXY_EXCEPTIONS },
} as const;
export type L4WfpProxyPolicySetting = SettingsOf<typeof L4_WFP_PROXY>;

/** What is no tuple is said before all else. */
function checkTuple(reader: JsonReader): void {
  reader.object("FilterTuple");
}

/** Older clients send one `Port`, the outbound one (hcn.md §3.3). */
export const readL4WfpProxy: ReadSettings<L4WfpProxyPolicySetting> = settingsReader(
  L4_WFP_PROXY,
  {
    OutboundProxyPort: (reader, field) =>
      SETTING_READERS.port(reader, field) ?? SETTING_READERS.port(reader, "Port"),
    FilterTuple: objectReader(settingsReader(PROXY_FILTER_TUPLE, {}, checkAclTuple)),
    InboundExceptions: readProxyExceptions,
    OutboundExceptions: readProxyExceptions,
  },
  checkTuple,
);
