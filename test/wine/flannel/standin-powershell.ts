/** A machine for the stand-in for PowerShell (test/wine/go/powershell): this one's interfaces, and routes of its own. */
import { readFileSync, writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";

const IPV4 = 2;
const MTU_BYTES = 1_500;

interface MachineFile {
  readonly Interfaces: readonly { readonly InterfaceAlias: string; readonly Forwarding?: number }[];
  readonly Routes: readonly {
    readonly IfIndex: number;
    readonly DestinationPrefix: string;
    readonly NextHop: string;
  }[];
}

function indexOf(name: string): number {
  return Number(readFileSync(`/sys/class/net/${name}/ifindex`, "utf8"));
}

function mtuOf(name: string): number {
  return Number(readFileSync(`/sys/class/net/${name}/mtu`, "utf8")) || MTU_BYTES;
}

/** Writes the machine as it is: what programs change of it they change in this file. */
export function writeMachine(path: string): void {
  const found = Object.entries(networkInterfaces());
  const Interfaces = found.map(([name]) => ({
    ifIndex: indexOf(name),
    InterfaceAlias: name,
    NlMtu: mtuOf(name),
    AddressFamily: IPV4,
    Forwarding: 0,
  }));
  const Addresses = found.flatMap(([name, addresses = []]) =>
    addresses.map(({ address, cidr }) => ({
      InterfaceIndex: indexOf(name),
      IPAddress: address,
      PrefixLength: Number((cidr ?? "").split("/")[1]),
    })),
  );
  writeFileSync(path, JSON.stringify({ Interfaces, Addresses, Routes: [] }));
}

/** Routes, and which interfaces forward: a line each. */
export function machineState(path: string): readonly string[] {
  const { Interfaces, Routes } = JSON.parse(readFileSync(path, "utf8")) as MachineFile;
  const forwarding = Interfaces.filter((each) => each.Forwarding === 1).map(
    ({ InterfaceAlias }) => `${InterfaceAlias} forwards`,
  );
  const routes = Routes.map(
    ({ DestinationPrefix, NextHop, IfIndex }) => `${DestinationPrefix} by ${NextHop} on ${IfIndex}`,
  );
  return [...forwarding, ...routes].toSorted();
}
