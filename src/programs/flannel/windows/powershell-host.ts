/** A Windows machine through PowerShell: the cmdlets that upstream calls (control-planes.md §1.1, §1.9). */
import { quotePowerShell } from "#core/base/shell-quoting.ts";
import {
  type InterfaceAddress,
  type Ip,
  type IpFamily,
  type Prefix,
  familyOf,
  formatIp,
  formatPrefix,
  parseIp,
  parsePrefix,
} from "#core/net/ip.ts";
import { type CommandRunner, jsonRows, numberIn, textIn } from "../node/commands.ts";
import type { FlannelInterface, WindowsHost, WindowsRoute } from "../node/flannel-host.ts";

/** Numbers of address families in .NET. */
const FAMILIES: ReadonlyMap<number, IpFamily> = new Map([
  [2, 4],
  [23, 6],
]);

const WORDS: readonly string[] = ["-NoLogo", "-NonInteractive", "-NoProfile", "-Command"];

/** What fails in a cmdlet fails the command: otherwise PowerShell goes on and says nothing. */
function scriptOf(command: string): string {
  return `$ErrorActionPreference = 'Stop'; ${command}`;
}

/** An address without the zone that Windows writes behind link-local ones. */
function parseWindowsIp(text: string): Ip | undefined {
  return parseIp(text.split("%")[0] ?? "");
}

export class PowerShellHost implements WindowsHost {
  readonly os = "windows";
  private readonly runner: CommandRunner;

  constructor(runner: CommandRunner) {
    this.runner = runner;
  }

  async listInterfaces(): Promise<readonly FlannelInterface[]> {
    const interfaces = jsonRows(
      await this.run(
        "@(Get-NetIPInterface | Select-Object -Property ifIndex,InterfaceAlias,NlMtu,AddressFamily) | ConvertTo-Json",
      ),
    );
    const addresses = jsonRows(
      await this.run(
        "@(Get-NetIPAddress | Select-Object -Property InterfaceIndex,IPAddress,PrefixLength) | ConvertTo-Json",
      ),
    );
    const found = new Map<number, FlannelInterface>();
    for (const row of interfaces) {
      const index = numberIn(row, "ifIndex");
      // Each interface has a row for each family; the MTU is that of IPv4 where it has both.
      const isIpv4 = FAMILIES.get(numberIn(row, "AddressFamily") ?? 0) === 4;
      if (index === undefined || (found.has(index) && !isIpv4)) continue;
      const own = addresses.flatMap((address): readonly InterfaceAddress[] => {
        const ip = parseWindowsIp(textIn(address, "IPAddress"));
        const length = numberIn(address, "PrefixLength");
        return numberIn(address, "InterfaceIndex") === index && ip !== undefined && length !== undefined
          ? [{ ip, length }]
          : [];
      });
      const mtuBytes = numberIn(row, "NlMtu") ?? 0;
      found.set(index, { index, name: textIn(row, "InterfaceAlias"), mtuBytes, addresses: own });
    }
    return [...found.values()];
  }

  async defaultInterface(family: IpFamily): Promise<number | undefined> {
    const prefix = family === 4 ? "0.0.0.0/0" : "::/0";
    const [first] = jsonRows(
      await this.run(
        `@(Get-NetRoute | Where { $_.DestinationPrefix -eq ${quotePowerShell(prefix)} } | Select-Object -Property ifIndex) | ConvertTo-Json`,
      ),
    );
    return first === undefined ? undefined : numberIn(first, "ifIndex");
  }

  async listRoutes(): Promise<readonly WindowsRoute[]> {
    return this.readRoutes("Get-NetRoute");
  }

  async routesTo(prefix: Prefix): Promise<readonly WindowsRoute[]> {
    // A prefix that is asked for by parameter and not there is an error of Get-NetRoute.
    return this.readRoutes(
      `Get-NetRoute | Where { $_.DestinationPrefix -eq ${quotePowerShell(formatPrefix(prefix))} }`,
    );
  }

  private async readRoutes(source: string): Promise<readonly WindowsRoute[]> {
    const rows = jsonRows(
      await this.run(
        `@(${source} | Select-Object -Property IfIndex,DestinationPrefix,NextHop) | ConvertTo-Json`,
      ),
    );
    return rows.flatMap((row) => {
      const prefix = parsePrefix(textIn(row, "DestinationPrefix"));
      const nextHop = parseWindowsIp(textIn(row, "NextHop"));
      const interfaceIndex = numberIn(row, "IfIndex") ?? numberIn(row, "ifIndex");
      return prefix === undefined || nextHop === undefined || interfaceIndex === undefined
        ? []
        : [{ prefix, nextHop, interfaceIndex }];
    });
  }

  async addRoute(route: WindowsRoute): Promise<void> {
    await this.run(`New-NetRoute ${this.wordsOf(route)}`);
  }

  async removeRoute(route: WindowsRoute): Promise<void> {
    await this.run(`Remove-NetRoute ${this.wordsOf(route)} -Confirm:$false`);
  }

  async enableForwarding(interfaceIndex: number): Promise<void> {
    await this.run(`Set-NetIPInterface -ifIndex ${interfaceIndex} -AddressFamily IPv4 -Forwarding Enabled`);
  }

  /** Values of ours alone: numbers, prefixes and addresses hold nothing that PowerShell could read as more. */
  private wordsOf({ interfaceIndex, prefix, nextHop }: WindowsRoute): string {
    const family = familyOf(nextHop) === 4 ? "IPv4" : "IPv6";
    return `-InterfaceIndex ${interfaceIndex} -DestinationPrefix ${formatPrefix(prefix)} -AddressFamily ${family} -NextHop ${formatIp(nextHop)}`;
  }

  private run(command: string): Promise<string> {
    return this.runner.run("powershell", [...WORDS, scriptOf(command)]);
  }
}
