/** The policies that give connections to a proxy: L4Proxy by VFP, L4WFPPROXY by WFP (hcn.md §3.1, §3.3). */
import { parsePortRanges } from "#core/net/port-range.ts";
import { type AclTuple, readAclTuple } from "./acl-policy.ts";
import type { JsonValue } from "#core/base/json.ts";
import { type JsonReader, present } from "../description/json.ts";

export interface L4ProxyPolicySetting {
  readonly IP?: string;
  readonly Port?: string;
  readonly Protocol?: number;
  readonly Exceptions?: readonly string[];
  readonly Destination?: string;
  readonly OutboundNAT?: boolean;
}

export interface ProxyExceptions {
  readonly IpAddressExceptions?: readonly string[];
  readonly PortExceptions?: readonly string[];
}

/** Which connections a proxy gets; of equal ones the lower number decides. */
export interface ProxyFilterTuple extends AclTuple {
  readonly Priority?: number;
}

/** Redirection inside the endpoint's compartment. */
export interface L4WfpProxyPolicySetting {
  readonly InboundProxyPort?: string;
  readonly OutboundProxyPort?: string;
  readonly FilterTuple?: ProxyFilterTuple;
  readonly UserSID?: string;
  readonly InboundExceptions?: ProxyExceptions;
  readonly OutboundExceptions?: ProxyExceptions;
}

/** The schema page and hcsshim spell two fields differently; both are read (hcn.md §3.1). */
export function readL4Proxy(reader: JsonReader): L4ProxyPolicySetting {
  return present<L4ProxyPolicySetting>({
    IP: reader.text("IP"),
    Port: readPort(reader, "Port"),
    Protocol: reader.protocol("Protocol"),
    Exceptions: reader.texts("Exceptions") ?? reader.texts("ExceptionList"),
    Destination: reader.text("Destination"),
    OutboundNAT: reader.boolean("OutboundNAT") ?? reader.boolean("OutboundNat"),
  });
}

/** A port, which stays text (hcn.md §1.6). */
function readPort(reader: JsonReader, field: string): string | undefined {
  const text = reader.textOrNumber(field);
  if (text === undefined || text === "") return text;
  const [range, ...others] = parsePortRanges(text) ?? [];
  if (range === undefined || others.length > 0 || range.first !== range.last)
    throw reader.fail(field, "one port");
  return text;
}

function readProxyExceptions(reader: JsonReader | undefined): ProxyExceptions | undefined {
  return (
    reader &&
    present<ProxyExceptions>({
      IpAddressExceptions: reader.texts("IpAddressExceptions"),
      PortExceptions: readPortTexts(reader, "PortExceptions"),
    })
  );
}

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

/** Older clients send one `Port`, the outbound one (hcn.md §3.3). */
export function readL4WfpProxy(reader: JsonReader): L4WfpProxyPolicySetting {
  const tuple = reader.object("FilterTuple");
  return present<L4WfpProxyPolicySetting>({
    InboundProxyPort: readPort(reader, "InboundProxyPort"),
    OutboundProxyPort: readPort(reader, "OutboundProxyPort") ?? readPort(reader, "Port"),
    FilterTuple:
      tuple && present<ProxyFilterTuple>({ ...readAclTuple(tuple), Priority: tuple.u16("Priority") }),
    UserSID: reader.text("UserSID"),
    InboundExceptions: readProxyExceptions(reader.object("InboundExceptions")),
    OutboundExceptions: readProxyExceptions(reader.object("OutboundExceptions")),
  });
}
