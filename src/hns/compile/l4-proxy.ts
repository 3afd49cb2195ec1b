/**
 * L4Proxy policies of an endpoint and of its network → `redirect` rules on the way out of the endpoint's port
 * (dataplane.md §2.14; hcn.md §3.1, §3.3).
 *
 * The documents come in two forms. With `Destination` that is the proxy, and `IP`, a prefix, and `Port` say which
 * connections it gets; without it the proxy is `IP` and `Port`, and it gets all but the exceptions. The flow gives the
 * answers their former address back, and tells the proxy where a connection was going (dataplane.md §11, Q-22).
 *
 * Inferred: the layer, its place before the load balancers, the names, and that the proxy itself is never redirected.
 */
import { prefixIn, prefixesIn } from "#contracts/hcn/documents/address-list.ts";
import type { L4ProxyPolicySetting } from "#contracts/hcn/documents/proxy-policy.ts";
import {
  type Ip,
  type Prefix,
  familyOf,
  formatIp,
  hostPrefix,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixFamily,
} from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { Rule } from "#dataplane/vfp/rule.ts";
import { IpProtocol, ipProtocolName } from "#core/wire/ip-protocol.ts";
import type { EndpointRecord } from "../service/records.ts";
import type { NetworkFrame } from "../service/network/policy-index.ts";
import { type PlacedSetting, policiesOf, networkPoliciesOf } from "./provenance.ts";
import { hns } from "#data/words.js";
import { makeRule, groupOf } from "./layers.ts";

const WORDS = hns();

const RULE_PRIORITY = 100;
const INFERRED = "dataplane.md §2.14, §11 (Q-22)";
const FAMILIES = [4, 6] as const;
const LOOPBACK = Object.freeze({ 4: parsePrefix("127.0.0.0/8"), 6: parsePrefix("::1/128") });

/** Where connections go, and which. */
interface Redirection {
  readonly proxy: Ip;
  /** Undefined: the port stays. */
  readonly proxyPort: number | undefined;
  readonly protocols: readonly number[];
  /** Undefined: any. */
  readonly destination: Prefix | undefined;
  readonly port: number | undefined;
  readonly exceptions: readonly Prefix[];
}

/** A proxy with the object that it stands in. */
export type ProxySource = PlacedSetting<L4ProxyPolicySetting>;

/** `10.0.0.5:8888`, `10.0.0.5` or `[fd00::5]:8888`. */
function parseSocket(text: string): { readonly ip: Ip; readonly port: number | undefined } | undefined {
  const match = /^\[?([0-9a-fA-F:.]*?)\]?(?::(\d{1,5}))?$/.exec(text.trim());
  const whole = parseIp(text.trim());
  const ip = whole ?? parseIp(match?.[1] ?? "");
  const port = whole === undefined && match?.[2] !== undefined ? Number(match[2]) : undefined;
  return ip === undefined || (port ?? 0) > 0xffff ? undefined : { ip, port };
}

/** Inferred: without a protocol, both whose ports VFP knows. */
function protocolsOf({ Protocol }: L4ProxyPolicySetting): readonly number[] {
  return Protocol === undefined || Protocol === 0 ? [IpProtocol.tcp, IpProtocol.udp] : [Protocol];
}

function portOf(text: string | undefined): number | undefined {
  return text === undefined || text === "" ? undefined : Number(text);
}

/** Undefined when the document names no address to send to. */
function redirectionOf(setting: L4ProxyPolicySetting): Redirection | undefined {
  const exceptions = prefixesIn(setting.Exceptions ?? []);
  const common = { protocols: protocolsOf(setting), exceptions };
  if ((setting.Destination ?? "") === "") {
    const proxy = parseIp(setting.IP ?? "");
    if (proxy === undefined) return undefined;
    return { ...common, proxy, proxyPort: portOf(setting.Port), destination: undefined, port: undefined };
  }
  const socket = parseSocket(setting.Destination ?? "");
  const destination = (setting.IP ?? "") === "" ? undefined : prefixIn(setting.IP ?? "");
  if (socket === undefined || ((setting.IP ?? "") !== "" && destination === undefined)) return undefined;
  return { ...common, proxy: socket.ip, proxyPort: socket.port, destination, port: portOf(setting.Port) };
}

function isLoopback(ip: Ip): boolean {
  const prefix = LOOPBACK[familyOf(ip)];
  return prefix !== undefined && prefixContains(prefix, ip);
}

/** Why a proxy gets nothing; undefined: it does. */
export function reasonForProxy(setting: L4ProxyPolicySetting): string | undefined {
  const redirection = redirectionOf(setting);
  if (redirection === undefined) return "neither Destination nor IP is the address of a proxy";
  if (isLoopback(redirection.proxy)) return WORDS.proxyAddressLoopback;
  const isOther = (protocol: number): boolean => protocol !== IpProtocol.tcp && protocol !== IpProtocol.udp;
  return redirection.protocols.some(isOther) ? "only TCP (6) and UDP (17) are redirected" : undefined;
}

/** The proxies of an endpoint, its own before those of its network. */
export function proxySources(network: NetworkFrame, endpoint: EndpointRecord): readonly ProxySource[] {
  const sources = [...policiesOf(endpoint, "L4Proxy"), ...networkPoliciesOf(network, "L4Proxy")];
  return sources.filter(({ setting }) => reasonForProxy(setting) === undefined);
}

/** The proxies whose connections get the node's address besides (`OutboundNAT`). */
export function translatedProxies(sources: readonly ProxySource[]): readonly Prefix[] {
  return sources.flatMap(({ setting }) => {
    const redirection = setting.OutboundNAT === true ? redirectionOf(setting) : undefined;
    return redirection === undefined ? [] : [hostPrefix(redirection.proxy)];
  });
}

function compileRule(
  endpoint: EndpointRecord,
  source: ProxySource,
  order: number,
  protocol: number,
  macOf: (ip: Ip) => Mac | undefined,
): Rule | undefined {
  const redirection = redirectionOf(source.setting);
  if (redirection === undefined) return undefined;
  const { proxy, proxyPort, destination, port, exceptions } = redirection;
  if (endpoint.ipConfigs.some(({ ip }) => ip === proxy)) return undefined;
  const family = familyOf(proxy);
  const kept = [...exceptions, hostPrefix(proxy)].filter((prefix) => prefixFamily(prefix) === family);
  const mac = macOf(proxy);
  const name = `L4PROXY_${ipProtocolName(protocol)}_${formatIp(proxy)}_${proxyPort ?? 0}`;
  return makeRule({
    id: `${order}|${name}`,
    name,
    priority: RULE_PRIORITY + order,
    condition: {
      protocols: [protocol],
      ...(destination !== undefined && { destination: [destination] }),
      ...(port !== undefined && { destinationPorts: [{ first: port, last: port }] }),
      destinationExcept: kept,
    },
    action: {
      type: "redirect",
      ip: proxy,
      ...(proxyPort !== undefined && { port: proxyPort }),
      ...(mac !== undefined && { mac }),
    },
    isStateful: true,
    provenance: source.provenance,
    inferred: INFERRED,
  });
}

/**
 * The groups of L4_PROXY_LAYER. `macOf` knows the MAC that leads to an address of the network: a connection to a
 * neighbour is addressed to that neighbour, and has to go elsewhere now.
 */
export function compileProxies(
  endpoint: EndpointRecord,
  sources: readonly ProxySource[],
  macOf: (ip: Ip) => Mac | undefined,
): readonly Group[] {
  const rules = sources.flatMap((source, order) =>
    protocolsOf(source.setting).flatMap(
      (protocol) => compileRule(endpoint, source, order, protocol, macOf) ?? [],
    ),
  );
  const groups = FAMILIES.flatMap((family) => {
    const own = rules.filter(({ action }) => action.type === "redirect" && familyOf(action.ip) === family);
    return groupOf({ name: `L4_PROXY_GROUP_IPV${family}_OUT`, direction: "out", family, priority: 1 }, own);
  });
  return Object.freeze(groups);
}
