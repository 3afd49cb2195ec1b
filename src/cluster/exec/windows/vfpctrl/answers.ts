/** What each command of `vfpctrl` prints, plain and with `/format 1`. */
import type { NodePort, PortView } from "../../../views/vfp-ports.ts";
import type { ListedGroup, ListedLayer, ListedPort, ListedRule } from "#dataplane/vfp/listing/listing.ts";
import { layerJson, groupJson, ruleJson } from "#dataplane/vfp/listing/print-json.ts";
import { type LbDsrForm, withLbDsrForm } from "#dataplane/vfp/listing/lb-dsr-id.ts";
import {
  addressInfoLines,
  flowLines,
  flowStatisticsLines,
  mappingLines,
  forwardingLines,
  natPoolLines,
  natRangeLines,
  parserSettingsLines,
  portCounterJson,
  portCounterLines,
  portStateLines,
  spaceLines,
  switchPortLines,
} from "#dataplane/vfp/listing/print-port.ts";
import {
  groupListLines,
  itemList,
  layerCounterLines,
  layerListLines,
  ruleListLines,
} from "#dataplane/vfp/listing/print-rules.ts";

/** What narrows a list. */
export interface ListingSelection {
  readonly layer: string | undefined;
  readonly group: string | undefined;
  readonly rule: string | undefined;
}

/** What is asked about cannot be shown: vfpctrl says so in one line. */
export class CommandError extends Error {}

type Json = Readonly<Record<string, unknown>>;

/** One command about a port. */
export interface PortCommand {
  readonly text: (port: ListedPort, verb: string, selection: ListingSelection) => readonly string[];
  /** Undefined: `/format 1` changes nothing. */
  readonly json?: (port: ListedPort, selection: ListingSelection) => Json;
}

function same(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}

/** The layers, groups and rules that are meant. @throws CommandError when there is none of that name. */
function select(layers: readonly ListedLayer[], selection: ListingSelection): readonly ListedLayer[] {
  const { layer, group, rule } = selection;
  const chosen = layer === undefined ? layers : layers.filter(({ id }) => same(id, layer));
  if (layer !== undefined && chosen.length === 0) throw new CommandError(`there is no layer ${layer}`);
  if (group === undefined && rule === undefined) return chosen;
  const groups = (groupsOf: ListedLayer): readonly ListedGroup[] =>
    groupsOf.groups
      .filter(({ id }) => group === undefined || same(id, group))
      .map((each) =>
        rule === undefined
          ? each
          : { ...each, rules: each.rules.filter(({ id, name }) => same(id, rule) || same(name, rule)) },
      );
  const narrowed = chosen.map((each) => ({ ...each, groups: groups(each) }));
  const found = narrowed.flatMap((each) => each.groups);
  if (found.length === 0) throw new CommandError(`there is no group ${group ?? ""}`);
  if (rule !== undefined && found.every((each) => each.rules.length === 0))
    throw new CommandError(`there is no rule ${rule}`);
  return narrowed;
}

function requireLayer(selection: ListingSelection): void {
  if (selection.layer === undefined) throw new CommandError("the layer is missing: /layer LAYER");
}

function withoutRules(layers: readonly ListedLayer[]): readonly Json[] {
  return layers.map((layer) => ({ ...layerJson(layer), Groups: undefined }));
}

/** With `/layer` and `/group` the rules stand alone (users.md §4). */
function rulesJson(layers: readonly ListedLayer[], { layer, group }: ListingSelection): Json {
  if (layer === undefined || group === undefined) return { Layers: layers.map(layerJson) };
  return { Rules: layers.flatMap((each) => each.groups.flatMap(({ rules }) => rules.map(ruleJson))) };
}

function withoutCounters(rule: ListedRule): ListedRule {
  const { id, name, priority, flags, type, conditions, ttl, data, flagsEx } = rule;
  return { id, name, priority, flags, type, conditions, ttl, data, flagsEx };
}

function ruleCommand(withCounters: boolean): PortCommand {
  const chosen = (port: ListedPort, selection: ListingSelection): readonly ListedLayer[] => {
    const layers = select(port.layers, selection);
    if (withCounters) return layers;
    return layers.map((layer) => ({
      ...layer,
      groups: layer.groups.map((group) => ({ ...group, rules: group.rules.map(withoutCounters) })),
    }));
  };
  return {
    text: (port, verb, selection) =>
      itemList(
        verb,
        ruleListLines(chosen(port, selection), { withLayers: selection.layer === undefined, withCounters }),
      ),
    json: (port, selection) => rulesJson(chosen(port, selection), selection),
  };
}

function itemCommand(lines: (port: ListedPort) => readonly string[]): PortCommand {
  return { text: (port, verb) => itemList(verb, lines(port)) };
}

function succeeded(
  lines: (port: ListedPort, selection: ListingSelection) => readonly string[],
): PortCommand["text"] {
  return (port, verb, selection) => [...lines(port, selection), `Command ${verb} succeeded!`];
}

/** Commands about one port, by their names. */
export const PORT_COMMANDS: Readonly<Record<string, PortCommand>> = {
  "list-layer": {
    text: (port, verb) => itemList(verb, layerListLines(port.layers)),
    json: (port) => ({ Layers: withoutRules(port.layers) }),
  },
  "list-group": {
    text: (port, verb, selection) => {
      requireLayer(selection);
      return itemList(verb, select(port.layers, selection).flatMap(groupListLines));
    },
    json: (port, selection) => {
      requireLayer(selection);
      const groups = select(port.layers, selection).flatMap((layer) => layer.groups);
      return { Groups: groups.map((group) => ({ ...groupJson(group), Rules: undefined })) };
    },
  },
  "list-rule": ruleCommand(false),
  "get-rule-info": ruleCommand(false),
  "get-rule-counter": ruleCommand(true),
  "get-layer-counter": {
    text: succeeded((port, selection) => layerCounterLines(select(port.layers, selection))),
  },
  "get-port-counter": { text: succeeded((port) => portCounterLines(port)), json: portCounterJson },
  "get-port-state": { text: succeeded(({ state }) => portStateLines(state)) },
  "get-address-info": { text: succeeded(({ addressInfo }) => addressInfoLines(addressInfo)) },
  "get-port-parser-settings": { text: succeeded(() => parserSettingsLines()) },
  "get-port-flow-stats": { text: succeeded(({ flowClasses }) => flowStatisticsLines(flowClasses)) },
  "get-flow-stats": { text: succeeded(({ flowClasses }) => flowStatisticsLines(flowClasses)) },
  "list-nat-pool": itemCommand(({ natPools }) => natPoolLines(natPools)),
  "list-nat-range": itemCommand(({ natRanges }) => natRangeLines(natRanges)),
  "list-space": itemCommand(({ spaces }) => spaceLines(spaces)),
  "list-mapping": itemCommand(({ spaces }) => mappingLines(spaces)),
  "list-unified-flow": itemCommand(({ flows }) => flowLines(flows)),
};

/** `/list-vmswitch-port`. */
export function listPortsText(ports: readonly NodePort[], verb: string): readonly string[] {
  return itemList(verb, ports.flatMap(switchPortLines));
}

/** `/get-switch-forwarding-settings`: of each switch. */
export function forwardingText(ports: readonly NodePort[], verb: string): readonly string[] {
  const switches = new Map(ports.map((port) => [port.switchName, port]));
  return [
    ...[...switches].flatMap(([name, { forwarding }]) => forwardingLines(name, forwarding)),
    `Command ${verb} succeeded!`,
  ];
}

/** Names as scripts read them: the GUID is `Name`, the friendly name is `Id`, the MAC has no separators (users.md §4). */
export function listPortsJson(ports: readonly NodePort[]): Json {
  return {
    Ports: ports.map(({ name, friendlyName, mac, portId }) => ({
      Name: name,
      Id: friendlyName,
      MacAddress: mac.replaceAll("-", ""),
      VmsPortId: portId,
    })),
  };
}

/** The port with ids of LB_DSR rules in one of the forms that nodes have. */
export function inLbDsrForm({ listing }: Pick<PortView, "listing">, form: LbDsrForm): ListedPort {
  const layers = listing.layers.map((layer) => ({
    ...layer,
    groups: layer.groups.map((group) => ({
      ...group,
      rules: group.rules.map((rule) => ({
        ...rule,
        id: withLbDsrForm(rule.id, form),
        name: withLbDsrForm(rule.name, form),
      })),
    })),
  }));
  return { ...listing, layers };
}
