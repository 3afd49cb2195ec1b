/**
 * What `pktmon counters` prints. `All counters are zero.` and the JSON are those of the tool: groups with `Components`,
 * each with `Id`, `Name` and `Counters` of `Inbound` and `Outbound` with `Packets` and `Bytes`. Inferred: the columns of
 * the text, and where the JSON has reasons of drops.
 */
import type { ComponentDrops, NodePacketCounters, PacketComponent } from "#cluster/views/packet-counters.ts";

export const COUNTER_TYPES = ["all", "flow", "drop"] as const;
export type CounterType = (typeof COUNTER_TYPES)[number];

export interface CounterChoice {
  readonly type: CounterType;
  readonly withZero: boolean;
  readonly withReasons: boolean;
}

const NAME_WIDTH = 64;
const NUMBER_WIDTH = 11;

function dropped(component: PacketComponent, direction: ComponentDrops["direction"]): number {
  return component.drops
    .filter((drops) => drops.direction === direction)
    .reduce((sum, { packets }) => sum + packets, 0);
}

function isZero(component: PacketComponent): boolean {
  const passed = (component.inbound?.packets ?? 0) + (component.outbound?.packets ?? 0);
  return passed === 0 && component.drops.length === 0;
}

function isShown(component: PacketComponent, { type, withZero }: CounterChoice): boolean {
  if (withZero) return true;
  return type === "drop" ? component.drops.length > 0 : !isZero(component);
}

function row(
  id: string,
  name: string,
  counter: string,
  inbound: readonly (string | number)[],
  outbound: readonly (string | number)[],
): string {
  const numbers = (values: readonly (string | number)[]): string =>
    values.map((value) => `${value}`.padStart(NUMBER_WIDTH)).join("");
  return `${id.padStart(3)} ${name.padEnd(NAME_WIDTH)} ${counter.padEnd(5)}${numbers(inbound)} |${numbers(outbound)}`.trimEnd();
}

function reasonLine({ direction, reason, location, code, packets }: ComponentDrops): string {
  const where = location === "" ? "" : ` , DropLocation ${location}`;
  return `      ${direction} ${packets}: DropReason ${reason}${where} (mullion explain ${code})`;
}

function componentLines(component: PacketComponent, choice: CounterChoice): readonly string[] {
  const { id, name, inbound, outbound, drops } = component;
  const lines: string[] = [];
  if (choice.type !== "drop" && (inbound !== undefined || choice.withZero)) {
    const [a, b] = [inbound ?? { packets: 0, bytes: 0 }, outbound ?? { packets: 0, bytes: 0 }];
    lines.push(row(`${id}`, name, "Flow", [a.packets, a.bytes], [b.packets, b.bytes]));
  }
  if (choice.type !== "flow" && (drops.length > 0 || choice.withZero)) {
    const counts = [dropped(component, "inbound"), dropped(component, "outbound")] as const;
    lines.push(row(`${id}`, name, "Drop", [counts[0], ""], [counts[1], ""]));
  }
  if (choice.withReasons && choice.type !== "flow") lines.push(...drops.map(reasonLine));
  return lines;
}

function byGroup(components: readonly PacketComponent[]): ReadonlyMap<string, readonly PacketComponent[]> {
  const groups = new Map<string, PacketComponent[]>();
  for (const component of components) {
    const group = groups.get(component.group) ?? [];
    groups.set(component.group, [...group, component]);
  }
  return groups;
}

/** A table per group of components; with several nodes, under the name of each. */
export function formatCounters(nodes: readonly NodePacketCounters[], choice: CounterChoice): string {
  const lines: string[] = [];
  for (const { node, components } of nodes) {
    const shown = components.filter((component) => isShown(component, choice));
    if (shown.length === 0) continue;
    if (nodes.length > 1) lines.push(`Node ${node}`, "");
    for (const [group, members] of byGroup(shown)) {
      const heading = ["Packets", "Bytes"];
      lines.push(group, row("Id", "Name", "Count", heading, heading));
      for (const component of members) lines.push(...componentLines(component, choice));
      lines.push("");
    }
  }
  return lines.length === 0 ? "All counters are zero.\n" : `${lines.join("\n").trimEnd()}\n`;
}

/** As `--json` prints it. */
export function countersJson(nodes: readonly NodePacketCounters[], choice: CounterChoice): readonly object[] {
  return nodes.flatMap(({ node, components }) =>
    [...byGroup(components.filter((component) => isShown(component, choice)))].map(([group, members]) => ({
      Group: group,
      Node: node,
      Components: members.map((component) => ({
        Id: component.id,
        Name: component.name,
        Type: component.type,
        Driver: component.driver,
        Counters: [
          {
            Name: "Flow",
            Inbound: { Packets: component.inbound?.packets ?? 0, Bytes: component.inbound?.bytes ?? 0 },
            Outbound: { Packets: component.outbound?.packets ?? 0, Bytes: component.outbound?.bytes ?? 0 },
          },
          {
            Name: "Drop",
            Inbound: { Packets: dropped(component, "inbound"), Bytes: 0 },
            Outbound: { Packets: dropped(component, "outbound"), Bytes: 0 },
            ...(choice.withReasons && {
              Reasons: component.drops.map(({ direction, reason, location, code, packets }) => ({
                Direction: direction,
                DropReason: reason,
                DropLocation: location,
                Code: code,
                Packets: packets,
              })),
            }),
          },
        ],
      })),
    })),
  );
}
