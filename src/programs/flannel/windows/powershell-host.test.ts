/** The commands that flanneld gives PowerShell, with answers recorded in the form that Windows prints. */
import { describe, expect, it } from "vitest";
import { type Ip, type Prefix, formatIp, formatPrefix, parseIp, parsePrefix } from "#core/net/ip.ts";
import type { CommandRunner } from "../node/commands.ts";
import type { WindowsRoute } from "../node/flannel-host.ts";
import { PowerShellHost } from "./powershell-host.ts";

const INTERFACES =
  "@(Get-NetIPInterface | Select-Object -Property ifIndex,InterfaceAlias,NlMtu,AddressFamily) | ConvertTo-Json";
const ADDRESSES =
  "@(Get-NetIPAddress | Select-Object -Property InterfaceIndex,IPAddress,PrefixLength) | ConvertTo-Json";
const ROUTES = "@(Get-NetRoute | Select-Object -Property IfIndex,DestinationPrefix,NextHop) | ConvertTo-Json";
const DEFAULT =
  "@(Get-NetRoute | Where { $_.DestinationPrefix -eq '0.0.0.0/0' } | Select-Object -Property ifIndex) | ConvertTo-Json";

/** Answers by the command; what is not recorded fails, as a cmdlet that is not there. */
class Recorded implements CommandRunner {
  readonly commands: string[] = [];
  private readonly answers: Readonly<Record<string, string>>;

  constructor(answers: Readonly<Record<string, string>>) {
    this.answers = answers;
  }

  run(program: string, words: readonly string[]): Promise<string> {
    const fixed = ["powershell", "-NoLogo", "-NonInteractive", "-NoProfile", "-Command"].join(" ");
    const given = [program, ...words.slice(0, -1)].join(" ");
    if (given !== fixed) return Promise.reject(new Error(`not recorded: ${given}`));
    const [, command = ""] = /^\$ErrorActionPreference = 'Stop'; (.*)$/.exec(words.at(-1) ?? "") ?? [];
    this.commands.push(command);
    const answer = this.answers[command];
    return answer === undefined
      ? Promise.reject(new Error(`not recorded: ${command}`))
      : Promise.resolve(answer);
  }
}

const ROUTE: WindowsRoute = {
  interfaceIndex: 12,
  prefix: parsePrefix("10.244.2.0/24") as Prefix,
  nextHop: parseIp("10.0.0.12") as Ip,
};

describe("a Windows machine through PowerShell", () => {
  it("its interfaces: names, indexes, the MTU of IPv4, addresses of both families", async () => {
    const host = new PowerShellHost(
      new Recorded({
        [INTERFACES]: JSON.stringify([
          { ifIndex: 12, InterfaceAlias: "vEthernet (Ethernet)", NlMtu: 1400, AddressFamily: 23 },
          { ifIndex: 12, InterfaceAlias: "vEthernet (Ethernet)", NlMtu: 1500, AddressFamily: 2 },
          { ifIndex: 1, InterfaceAlias: "Loopback Pseudo-Interface 1", NlMtu: 4294967295, AddressFamily: 2 },
        ]),
        [ADDRESSES]: JSON.stringify([
          { InterfaceIndex: 12, IPAddress: "fe80::1%12", PrefixLength: 64 },
          { InterfaceIndex: 12, IPAddress: "10.0.0.11", PrefixLength: 24 },
          { InterfaceIndex: 1, IPAddress: "127.0.0.1", PrefixLength: 8 },
        ]),
      }),
    );
    const [first, second] = await host.listInterfaces();
    expect(first).toMatchObject({ index: 12, name: "vEthernet (Ethernet)", mtuBytes: 1_500 });
    expect(first?.addresses.map(({ ip, length }) => `${formatIp(ip)}/${length}`)).toEqual([
      "fe80::1/64",
      "10.0.0.11/24",
    ]);
    expect(second?.name).toBe("Loopback Pseudo-Interface 1");
  });

  it("the interface of the default route; a list of one stands alone, and none is nothing", async () => {
    expect(await new PowerShellHost(new Recorded({ [DEFAULT]: '{"ifIndex":12}' })).defaultInterface(4)).toBe(
      12,
    );
    expect(
      await new PowerShellHost(
        new Recorded({ [DEFAULT]: '[{"ifIndex":7},{"ifIndex":12}]' }),
      ).defaultInterface(4),
    ).toBe(7);
    expect(await new PowerShellHost(new Recorded({ [DEFAULT]: "" })).defaultInterface(4)).toBeUndefined();
  });

  it("its routes; rows that are none are left out", async () => {
    const text = JSON.stringify([
      { IfIndex: 12, DestinationPrefix: "10.244.2.0/24", NextHop: "10.0.0.12" },
      { IfIndex: 12, DestinationPrefix: "10.0.0.0/24", NextHop: "0.0.0.0" },
      { IfIndex: 12, DestinationPrefix: "fe80::1%12/128", NextHop: "::" },
      { IfIndex: 12, DestinationPrefix: "no prefix", NextHop: "::" },
    ]);
    const routes = await new PowerShellHost(new Recorded({ [ROUTES]: text })).listRoutes();
    expect(routes.map(({ prefix, nextHop }) => `${formatPrefix(prefix)} ${formatIp(nextHop)}`)).toEqual([
      "10.244.2.0/24 10.0.0.12",
      "10.0.0.0/24 0.0.0.0",
    ]);
  });

  it("its routes to one prefix, of which there may be none", async () => {
    const command = (prefix: string): string =>
      `@(Get-NetRoute | Where { $_.DestinationPrefix -eq '${prefix}' } | Select-Object -Property IfIndex,DestinationPrefix,NextHop) | ConvertTo-Json`;
    const text = JSON.stringify([{ IfIndex: 12, DestinationPrefix: "10.244.2.0/24", NextHop: "10.0.0.12" }]);
    const host = new PowerShellHost(
      new Recorded({ [command("10.244.2.0/24")]: text, [command("10.244.3.0/24")]: "" }),
    );
    expect(await host.routesTo(parsePrefix("10.244.2.0/24")!)).toEqual([ROUTE]);
    expect(await host.routesTo(parsePrefix("10.244.3.0/24")!)).toEqual([]);
  });

  it("makes and takes away routes, and switches forwarding on", async () => {
    const words =
      "-InterfaceIndex 12 -DestinationPrefix 10.244.2.0/24 -AddressFamily IPv4 -NextHop 10.0.0.12";
    const commands = [
      `New-NetRoute ${words}`,
      `Remove-NetRoute ${words} -Confirm:$false`,
      "Set-NetIPInterface -ifIndex 12 -AddressFamily IPv4 -Forwarding Enabled",
    ];
    const runner = new Recorded(Object.fromEntries(commands.map((command) => [command, ""])));
    const host = new PowerShellHost(runner);
    await host.addRoute(ROUTE);
    await host.removeRoute(ROUTE);
    await host.enableForwarding(12);
    expect(runner.commands).toEqual(commands);
  });

  it("what a cmdlet says when it fails comes through", async () => {
    await expect(new PowerShellHost(new Recorded({})).addRoute(ROUTE)).rejects.toThrow("New-NetRoute");
  });

  it("an answer that is no JSON is an error and not an empty list", async () => {
    await expect(
      new PowerShellHost(new Recorded({ [ROUTES]: "Get-NetRoute : x" })).listRoutes(),
    ).rejects.toThrow("line 1, column 1");
  });
});
