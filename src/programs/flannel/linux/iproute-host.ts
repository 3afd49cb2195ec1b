/** A Linux machine through `ip`, `bridge`, and `iptables` or `nft` (control-planes.md §3.2, §3.3, §3.5). */
import { messageOf } from "#core/base/thrown.ts";
import {
  type InterfaceAddress,
  type Ip,
  type IpFamily,
  type Prefix,
  familyOf,
  formatIp,
  formatPrefix,
  hostPrefix,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixFamily,
} from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { type CommandRunner, jsonRows, numberIn, objectIn, rowsIn, textIn } from "../node/commands.ts";
import type {
  FlannelInterface,
  LinuxHost,
  LinuxRoute,
  MasqueradeSettings,
  RuleProgram,
  VxlanDevice,
  VxlanSettings,
} from "../node/flannel-host.ts";
import { formatMacWithColons } from "../backends/vxlan-data.ts";
import { LinuxRules } from "./linux-rules.ts";
import { portOf } from "./vxlan-device.ts";

function familyWord(family: IpFamily): string {
  return family === 4 ? "-4" : "-6";
}

function isMissing(error: unknown): boolean {
  return /does not exist|Cannot find device/i.test(messageOf(error));
}

/** `default`, an address alone, or a prefix. */
function parseDestination(text: string): Prefix | undefined {
  const ip = parseIp(text);
  return ip === undefined ? parsePrefix(text) : hostPrefix(ip);
}

export class IprouteHost implements LinuxHost {
  readonly os = "linux";
  private readonly runner: CommandRunner;
  private readonly rules: LinuxRules;

  constructor(runner: CommandRunner) {
    this.runner = runner;
    this.rules = new LinuxRules(runner);
  }

  async listInterfaces(): Promise<readonly FlannelInterface[]> {
    const rows = jsonRows(await this.ip("-j", "address", "show"));
    return rows.map((row) => ({
      index: numberIn(row, "ifindex") ?? 0,
      name: textIn(row, "ifname"),
      mtuBytes: numberIn(row, "mtu") ?? 0,
      addresses: rowsIn(row, "addr_info").flatMap((address): readonly InterfaceAddress[] => {
        const ip = parseIp(textIn(address, "local"));
        const length = numberIn(address, "prefixlen");
        // A link-local address is none by which others reach the node.
        const isUsable = ip !== undefined && length !== undefined && textIn(address, "scope") !== "link";
        return isUsable ? [{ ip, length }] : [];
      }),
    }));
  }

  async defaultInterface(family: IpFamily): Promise<number | undefined> {
    const [first] = jsonRows(await this.ip("-j", familyWord(family), "route", "show", "default"));
    return first === undefined ? undefined : this.indexOf(textIn(first, "dev"));
  }

  async pathTo(ip: Ip): Promise<{ readonly interfaceIndex: number; readonly source: Ip }> {
    const [first = {}] = jsonRows(await this.ip("-j", "route", "get", formatIp(ip)));
    const interfaceIndex = await this.indexOf(textIn(first, "dev"));
    const source = parseIp(textIn(first, "prefsrc"));
    if (interfaceIndex === undefined || source === undefined)
      throw new Error(`the kernel names no interface and source for ${formatIp(ip)}`);
    return { interfaceIndex, source };
  }

  async findVxlan(name: string): Promise<VxlanDevice | undefined> {
    let text: string;
    try {
      text = await this.ip("-j", "-details", "link", "show", "dev", name);
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
    const [row = {}] = jsonRows(text);
    const info = objectIn(row, "linkinfo");
    const data = objectIn(info, "info_data");
    const mac = parseMac(textIn(row, "address"));
    if (mac === undefined) throw new Error(`${name} has no MAC address`);
    const underlay = textIn(data, "link");
    return {
      name,
      mac,
      mtuBytes: numberIn(row, "mtu") ?? 0,
      vni: numberIn(data, "id"),
      port: numberIn(data, "port"),
      underlay: underlay === "" ? undefined : await this.indexOf(underlay),
      local: parseIp(textIn(data, "local") || textIn(data, "local6")),
      hasGroupPolicy: data["gbp"] === true,
      isVxlan: textIn(info, "info_kind") === "vxlan",
    };
  }

  async createVxlan(settings: VxlanSettings): Promise<void> {
    const { name, vni, underlay, local, mtuBytes, isLearning, hasGroupPolicy, mac } = settings;
    const carrier = (await this.listInterfaces()).find(({ index }) => index === underlay);
    if (carrier === undefined) throw new Error(`there is no interface with index ${underlay}`);
    const words = ["link", "add", name];
    if (mac !== undefined) words.push("address", formatMacWithColons(mac));
    words.push("mtu", String(mtuBytes), "type", "vxlan", "id", String(vni), "dev", carrier.name);
    words.push("local", formatIp(local), "dstport", String(portOf(settings)));
    words.push(isLearning ? "learning" : "nolearning");
    if (hasGroupPolicy) words.push("gbp");
    await this.ip(...words);
  }

  async deleteLink(name: string): Promise<void> {
    await this.ip("link", "delete", "dev", name);
  }

  async configureVxlan(name: string, address: InterfaceAddress, network: Prefix): Promise<void> {
    const device = (await this.listInterfaces()).find((each) => each.name === name);
    if (device === undefined) throw new Error(`Cannot find device "${name}"`);
    for (const { ip, length } of device.addresses)
      if (ip !== address.ip && prefixContains(network, ip))
        await this.ip("address", "delete", `${formatIp(ip)}/${length}`, "dev", name);
    await this.ip("address", "replace", `${formatIp(address.ip)}/${address.length}`, "dev", name);
    await this.ip("link", "set", "dev", name, "up");
  }

  async setNeighbor(device: string, ip: Ip, mac: Mac): Promise<void> {
    const words = [formatIp(ip), "lladdr", formatMacWithColons(mac), "dev", device, "nud", "permanent"];
    await this.ip("neighbor", "replace", ...words);
  }

  async removeNeighbor(device: string, ip: Ip): Promise<void> {
    await this.ip("neighbor", "delete", formatIp(ip), "dev", device);
  }

  async setForwarding(device: string, mac: Mac, destination: Ip): Promise<void> {
    const words = [
      formatMacWithColons(mac),
      "dev",
      device,
      "dst",
      formatIp(destination),
      "self",
      "permanent",
    ];
    await this.runner.run("bridge", ["fdb", "replace", ...words]);
  }

  async removeForwarding(device: string, mac: Mac, destination: Ip): Promise<void> {
    const words = [formatMacWithColons(mac), "dev", device, "dst", formatIp(destination), "self"];
    await this.runner.run("bridge", ["fdb", "delete", ...words]);
  }

  async listForwarding(device: string): Promise<readonly { readonly mac: Mac; readonly destination: Ip }[]> {
    const rows = jsonRows(await this.runner.run("bridge", ["-j", "fdb", "show", "dev", device]));
    return rows.flatMap((row) => {
      const mac = parseMac(textIn(row, "mac"));
      const destination = parseIp(textIn(row, "dst"));
      return mac === undefined || destination === undefined ? [] : [{ mac, destination }];
    });
  }

  async listNeighbors(device: string): Promise<readonly { readonly ip: Ip; readonly mac: Mac }[]> {
    const rows = jsonRows(await this.ip("-j", "neighbor", "show", "dev", device, "nud", "permanent"));
    return rows.flatMap((row) => {
      const ip = parseIp(textIn(row, "dst"));
      const mac = parseMac(textIn(row, "lladdr"));
      return ip === undefined || mac === undefined ? [] : [{ ip, mac }];
    });
  }

  async replaceRoute({ prefix, nextHop, device, isOnLink }: LinuxRoute): Promise<void> {
    const words = [formatPrefix(prefix), "via", formatIp(nextHop), "dev", device];
    await this.ip("route", "replace", ...words, ...(isOnLink ? ["onlink"] : []));
  }

  async removeRoute({ prefix, nextHop, device }: LinuxRoute): Promise<void> {
    await this.ip("route", "delete", formatPrefix(prefix), "via", formatIp(nextHop), "dev", device);
  }

  async listRoutes(family: IpFamily): Promise<readonly LinuxRoute[]> {
    return this.showRoutes(family);
  }

  async routesTo(prefix: Prefix): Promise<readonly LinuxRoute[]> {
    return this.showRoutes(prefixFamily(prefix), "to", "exact", formatPrefix(prefix));
  }

  private async showRoutes(family: IpFamily, ...which: readonly string[]): Promise<readonly LinuxRoute[]> {
    const rows = jsonRows(await this.ip("-j", familyWord(family), "route", "show", ...which));
    return rows.flatMap((row) => {
      const prefix = parseDestination(textIn(row, "dst"));
      const nextHop = parseIp(textIn(row, "gateway"));
      if (prefix === undefined || nextHop === undefined || familyOf(nextHop) !== family) return [];
      const { flags } = row;
      const isOnLink = Array.isArray(flags) && (flags as readonly unknown[]).includes("onlink");
      return [{ prefix, nextHop, device: textIn(row, "dev"), isOnLink }];
    });
  }

  ensureMasquerade(settings: MasqueradeSettings, program: RuleProgram): Promise<void> {
    return this.rules.ensureMasquerade(settings, program);
  }

  ensureForwarding(network: Prefix, program: RuleProgram): Promise<void> {
    return this.rules.ensureForwarding(network, program);
  }

  removeRules(program: RuleProgram): Promise<void> {
    return this.rules.remove(program);
  }

  async ensureBlackhole(prefix: Prefix): Promise<void> {
    const range = formatPrefix(prefix);
    const words = [familyWord(prefixFamily(prefix)), "route"];
    const shown = await this.ip(...words, "show", "type", "blackhole", "exact", range);
    if (shown.trim() === "") await this.ip(...words, "add", "blackhole", range);
  }

  private async indexOf(name: string): Promise<number | undefined> {
    return (await this.listInterfaces()).find((each) => each.name === name)?.index;
  }

  private ip(...words: readonly string[]): Promise<string> {
    return this.runner.run("ip", words);
  }
}
