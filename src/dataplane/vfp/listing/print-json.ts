/**
 * Layers, groups and rules as `vfpctrl /format 1` prints them. Names that the scripts of the field read are
 * observed (users.md §4): `Layers`, `Groups`, `Rules`, `Id`, `Name`, `Priority`, `Type`, `SubType`, `RuleFlags`,
 * `Conditions` with `ConditionType` 1, 5, 11, 13, 17 and 21, `InformationArray` with `RuleCounters`. Inferred: the other
 * names, and the numbers of conditions on the source, each one below that on the destination.
 */
import { formatIp } from "#core/net/ip.ts";
import { type IpRange, parseIpRange } from "#core/net/ip-range.ts";
import { parsePortRanges } from "#core/net/port-range.ts";
import { ConditionLabel, listItems, parseNumber } from "./conditions.ts";
import type { ListedCondition, ListedGroup, ListedLayer, ListedRule } from "./listing.ts";

type Json = Readonly<Record<string, unknown>>;

/** A range of ports or addresses. */
export interface RangeJson {
  readonly L: string | number;
  readonly H: string | number;
}

function portsJson(type: number, side: string, value: string): Json | undefined {
  const ranges = parsePortRanges(listItems(value).join(","));
  if (ranges === undefined) return undefined;
  if (ranges.every(({ first, last }) => first === last))
    return { ConditionType: type, [`${side}PortList`]: ranges.map(({ first }) => first) };
  // Two above the plain list.
  const list: RangeJson[] = ranges.map(({ first, last }) => ({ L: first, H: last }));
  return { ConditionType: type + 2, [`${side}PortRangeList`]: list };
}

function addressesJson(side: "Source" | "Destination", value: string): Json | undefined {
  const ranges = listItems(value).map(parseIpRange);
  const [first] = ranges;
  if (first === undefined || ranges.includes(undefined)) return undefined;
  const isIpv4 = typeof first.first === "number";
  const list = (ranges as readonly IpRange[]).map((range) => ({
    L: formatIp(range.first),
    H: formatIp(range.last),
  }));
  const type = (isIpv4 ? 11 : 13) - (side === "Source" ? 1 : 0);
  return { ConditionType: type, [`${side}IPv${isIpv4 ? 4 : 6}RangeList`]: list };
}

function macJson(side: "Source" | "Destination", value: string): Json {
  const list = listItems(value.replaceAll(/[-:]/g, ""));
  return { ConditionType: side === "Source" ? 16 : 17, [`${side}MacAddressList`]: list };
}

function conditionJson({ label, value }: ListedCondition): Json {
  const unknown = { Label: label, Value: value };
  switch (label) {
    case ConditionLabel.protocols: {
      const protocols = listItems(value).map((item) => parseNumber(item, 0xff));
      return protocols.includes(undefined) ? unknown : { ConditionType: 1, ProtocolList: protocols };
    }
    case ConditionLabel.source:
      return addressesJson("Source", value) ?? unknown;
    case ConditionLabel.destination:
      return addressesJson("Destination", value) ?? unknown;
    case ConditionLabel.sourcePorts:
      return portsJson(4, "Source", value) ?? unknown;
    case ConditionLabel.destinationPorts:
      return portsJson(5, "Destination", value) ?? unknown;
    case ConditionLabel.sourceMac:
      return macJson("Source", value);
    case ConditionLabel.destinationMac:
      return macJson("Destination", value);
    case ConditionLabel.vlan: {
      const id = parseNumber(value);
      return id === undefined ? unknown : { ConditionType: 21, VlanIdRangeList: [{ L: id, H: id }] };
    }
    default:
      return unknown;
  }
}

/** One rule, as `/get-rule-info` and the lists have it. */
export function ruleJson(rule: ListedRule): Json {
  const { counters } = rule;
  return {
    $type: "VfpRule",
    Id: rule.id,
    Name: rule.name,
    Priority: rule.priority,
    Type: rule.type,
    SubType: "",
    RuleFlags: rule.flags,
    Conditions: rule.conditions.map(conditionJson),
    FlowTTL: rule.ttl,
    RuleData: rule.data,
    FlagsEx: rule.flagsEx,
    ...(counters !== undefined && {
      InformationArray: [
        {
          RuleCounters: {
            MatchedPackets: counters.matchedPackets,
            DroppedPackets: counters.droppedPackets,
            PendingPackets: counters.pendingPackets,
            DroppedFlows: counters.droppedFlows,
          },
        },
      ],
    }),
  };
}

export function groupJson(group: ListedGroup): Json {
  return {
    Id: group.id,
    Name: group.name,
    Priority: group.priority,
    Direction: group.direction,
    Type: group.type,
    Conditions: group.conditions.map(conditionJson),
    MatchType: group.match,
    Rules: group.rules.map(ruleJson),
  };
}

export function layerJson(layer: ListedLayer): Json {
  return {
    Id: layer.id,
    Name: layer.name,
    Flags: layer.flags,
    Priority: layer.priority,
    Groups: layer.groups.map(groupJson),
  };
}
