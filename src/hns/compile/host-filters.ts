/**
 * ACLs of RuleType Host and L4WFPPROXY → what the Windows Filtering Platform of the endpoint's compartment is told
 * (dataplane.md §2.14, §4; hcn.md §3.3, §3.5). They hold on networks of every type, since no switch port is asked.
 */
import { parseAclProtocols } from "#contracts/hcn/documents/acl-policy.ts";
import { splitList, prefixesIn } from "#contracts/hcn/documents/address-list.ts";
import type { L4WfpProxyPolicySetting, ProxyExceptions } from "#contracts/hcn/documents/proxy-policy.ts";
import type {
  FilterProgram,
  ProxyRedirection,
  RedirectionExceptions,
} from "#dataplane/host/windows-filtering/filter-program.ts";
import { type PortRange, parsePortRanges } from "#core/net/port-range.ts";
import type { Prefix } from "#core/net/ip.ts";
import type { Group } from "#dataplane/vfp/group.ts";
import type { VfpDirection, Rule } from "#dataplane/vfp/rule.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { EndpointRecord } from "../service/records.ts";
import type { NetworkFrame } from "../service/network/policy-index.ts";
import {
  type AddressSets,
  type AclSource,
  addressSetsOf,
  aclSources,
  compareAclRules,
  compileAclCondition,
  compileAclRule,
  defaultAllow,
} from "./acl.ts";
import type { CompileCache } from "./compile-cache.ts";
import { policiesOf } from "./provenance.ts";
import { makeGroup } from "./layers.ts";

/** Documented: what an endpoint without ACLs lets in; other protocols are denied (dataplane.md §4.2). */
const PROTOCOLS_LET_IN: readonly number[] = Object.freeze([
  IpProtocol.icmp,
  IpProtocol.igmp,
  IpProtocol.tcp,
  IpProtocol.udp,
  IpProtocol.icmpv6,
]);
/** Behind every rule of a policy. */
const DEFAULT_PRIORITY = 65_535;
const ANY_PROGRAM: FilterProgram = Object.freeze({
  groups: Object.freeze([]),
  redirections: Object.freeze([]),
  allowedProtocols: PROTOCOLS_LET_IN,
});

function isHostAcl({ setting }: AclSource): boolean {
  return setting.RuleType === "Host" && setting.Action !== "Pass";
}

/** The side of traffic that a group is about. */
interface Place {
  readonly direction: VfpDirection;
  readonly family: 4 | 6;
}

function compileRule(
  source: AclSource,
  index: number,
  { direction, family }: Place,
  sets: AddressSets,
): Rule[] {
  const { setting } = source;
  const condition = compileAclCondition(setting, direction, family, sets);
  if ((setting.Direction === "Out" ? "out" : "in") !== direction || condition === undefined) return [];
  const marks = { inferred: "dataplane.md §4.4" };
  return [compileAclRule(source, index, condition, "host-acl-blocked", marks)];
}

/**
 * Inferred: the lowest priority number wins, and Block before Allow, as with Switch rules; what no rule is about passes.
 * A rule without a priority has 0, as clients send it (hcn.md §3.5).
 */
function compileGroups(
  sources: readonly AclSource[],
  sets: AddressSets,
  families: readonly (4 | 6)[],
): readonly Group[] {
  if (sources.length === 0) return [];
  const places = families.flatMap((family) => [
    { direction: "out", family } as const,
    { direction: "in", family } as const,
  ]);
  return places.map((place) => groupAt(place, sources, sets));
}

function groupAt(place: Place, sources: readonly AclSource[], sets: AddressSets): Group {
  const { direction, family } = place;
  const name = `HOST_ACL_${family === 4 ? "" : "IPV6_"}${direction === "out" ? "OUT" : "IN"}`;
  const rules = [
    ...sources.flatMap((source, index) => compileRule(source, index, place, sets)),
    defaultAllow(direction, DEFAULT_PRIORITY, { inferred: "dataplane.md §4.2" }),
  ];
  return makeGroup({ name, direction, family, priority: 1 }, rules.sort(compareAclRules));
}

function listOf(text: string | undefined): readonly Prefix[] | undefined {
  return (text ?? "").trim() === "" ? undefined : prefixesIn(splitList(text ?? ""));
}

function rangesOf(text: string | undefined): readonly PortRange[] | undefined {
  return (text ?? "").trim() === "" ? undefined : parsePortRanges(text ?? "");
}

function exceptionsOf(exceptions: ProxyExceptions | undefined): RedirectionExceptions {
  return Object.freeze({
    addresses: prefixesIn(exceptions?.IpAddressExceptions ?? []),
    ports: (exceptions?.PortExceptions ?? []).flatMap((text) => parsePortRanges(text) ?? []),
  });
}

function portOf(text: string | undefined): number | undefined {
  return (text ?? "") === "" || Number(text) === 0 ? undefined : Number(text);
}

/** Why a proxy gets nothing; undefined: it does. Inferred: only TCP is redirected, which is what proxies ask for. */
export function reasonForWfpProxy(setting: L4WfpProxyPolicySetting): string | undefined {
  const protocols = parseAclProtocols(setting.FilterTuple?.Protocols ?? "") ?? [];
  if (protocols.length > 0 && !protocols.includes(IpProtocol.tcp)) return "only TCP (6) is redirected";
  const isWithoutPort =
    portOf(setting.InboundProxyPort) === undefined && portOf(setting.OutboundProxyPort) === undefined;
  return isWithoutPort ? "neither InboundProxyPort nor OutboundProxyPort names a port" : undefined;
}

function compileRedirections(endpoint: EndpointRecord): readonly ProxyRedirection[] {
  return policiesOf(endpoint, "L4WFPPROXY")
    .filter(({ setting }) => reasonForWfpProxy(setting) === undefined)
    .toSorted((a, b) => (a.setting.FilterTuple?.Priority ?? 0) - (b.setting.FilterTuple?.Priority ?? 0))
    .map(({ setting, provenance }) =>
      Object.freeze<ProxyRedirection>({
        outboundPort: portOf(setting.OutboundProxyPort),
        inboundPort: portOf(setting.InboundProxyPort),
        exemptUser: setting.UserSID,
        localAddresses: listOf(setting.FilterTuple?.LocalAddresses),
        remoteAddresses: listOf(setting.FilterTuple?.RemoteAddresses),
        localPorts: rangesOf(setting.FilterTuple?.LocalPorts),
        remotePorts: rangesOf(setting.FilterTuple?.RemotePorts),
        outboundExceptions: exceptionsOf(setting.OutboundExceptions),
        inboundExceptions: exceptionsOf(setting.InboundExceptions),
        provenance,
      }),
    );
}

/** Protocols that a Host rule lets in by name, besides those that everybody has. */
function allowedProtocols(sources: readonly AclSource[]): readonly number[] {
  const named = sources
    .filter(({ setting }) => setting.Action === "Allow" && setting.Direction === "In")
    .flatMap(({ setting }) => parseAclProtocols(setting.Protocols ?? "") ?? []);
  return [...new Set([...PROTOCOLS_LET_IN, ...named])];
}

/** What WFP does for an endpoint. The host's own leg lets every protocol in: undefined without policies. */
export function hostFiltersOf(
  cache: CompileCache,
  network: NetworkFrame,
  endpoint: EndpointRecord,
): FilterProgram | undefined {
  const isOnHost = endpoint.attachment?.kind === "host";
  const sources = aclSources(network, endpoint).filter(isHostAcl);
  const hasProxy = endpoint.policies.some((policy) => policy.Type === "L4WFPPROXY");
  if (sources.length === 0 && !hasProxy) return isOnHost ? undefined : ANY_PROGRAM;
  const hasIpv6 = endpoint.ipConfigs.some(({ ip }) => typeof ip === "bigint");
  const families = hasIpv6 ? ([4, 6] as const) : ([4] as const);
  const inputs = [endpoint.policies, endpoint.name, network.settings, network.name, isOnHost, hasIpv6];
  return cache.get(endpoint.id, "host-filters", inputs, () => {
    const sets = addressSetsOf(cache, network);
    return Object.freeze<FilterProgram>({
      groups: Object.freeze(compileGroups(sources, sets, families)),
      redirections: Object.freeze(compileRedirections(endpoint)),
      allowedProtocols: Object.freeze(isOnHost ? ALL_PROTOCOLS : allowedProtocols(sources)),
    });
  });
}

const ALL_PROTOCOLS: readonly number[] = Object.freeze(Array.from({ length: 256 }, (_, number) => number));
