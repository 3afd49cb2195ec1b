// What commands of PowerShell print, as a table and as a list: both are read alike.
import { describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { formatIp } from "#core/net/ip.ts";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { examineNodes } from "./doctor.ts";
import { FileReading } from "./read-evidence.ts";

function read(text: string): FileReading {
  return new FileReading(new SourceText("node/shown.txt", text));
}

function addressTable(state: string): string {
  return `
ifIndex IPAddress                                       PrefixLength PrefixOrigin SuffixOrigin AddressState PolicyStore
------- ---------                                       ------------ ------------ ------------ ------------ -----------
12      fe80::b5b8:fff4:fef:6048%12                               64 WellKnown    Link         Preferred    ActiveStore
12      10.0.0.11                                                 24 Dhcp         Dhcp         ${state.padEnd(12)} ActiveStore
`;
}

/** docker/for-win#260 and moby/moby#27205 show this form. */
function addressList(state: string): string {
  return `

IPAddress         : 10.0.0.11
InterfaceIndex    : 12
InterfaceAlias    : vEthernet (Ethernet)
AddressFamily     : IPv4
Type              : Unicast
PrefixLength      : 24
PrefixOrigin      : Dhcp
SuffixOrigin      : Dhcp
AddressState      : ${state}
ValidLifetime     : Infinite ([TimeSpan]::MaxValue)
SkipAsSource      : False
PolicyStore       : ActiveStore
`;
}

const IPCONFIG = `
Windows IP Configuration

   Host Name . . . . . . . . . . . . : win-1

Ethernet adapter Ethernet:

   IPv4 Address. . . . . . . . . . . : 10.0.0.11(Duplicate)
   Subnet Mask . . . . . . . . . . . : 255.255.255.0
   Default Gateway . . . . . . . . . : 10.0.0.1
`;

describe("Get-NetIPAddress", () => {
  it.each([
    ["table", addressTable("Preferred"), ["fe80::b5b8:fff4:fef:6048", "10.0.0.11"]],
    ["list", addressList("Preferred"), ["10.0.0.11"]],
  ])("as a %s", (_, text, addresses) => {
    const { interfaces } = read(text).host;
    expect(interfaces.flatMap((each) => each.addresses.map(formatIp))).toEqual(addresses);
    expect(interfaces.flatMap(({ duplicates }) => duplicates)).toEqual([]);
  });

  it.each([
    ["a table", addressTable("Duplicate")],
    ["a list", addressList("Duplicate")],
    ["ipconfig", IPCONFIG],
  ])("%s: an address of the node that another machine has", async (_, text) => {
    const files = { ...filesOf(healthyNode()), "node/shown.txt": text };
    const { findings } = await examineNodes(
      Object.entries(files).map(([name, each]) => new FileReading(new SourceText(name, each))),
    );
    expect(findings.map(({ code, certainty }) => [code, certainty])).toEqual([
      ["node-address-missing", "certain"],
    ]);
    expect(findings[0]?.evidence.map(({ file }) => file)).toEqual(["node/shown.txt", "node/objects.json"]);
  });
});

/** What waits: the protocol, where, and whose. */
function listenersOf(text: string): readonly string[] {
  return read(text).host.listeners.map(
    ({ protocol, address, port, process }) => `${protocol} ${formatIp(address)} ${port} ${process ?? "?"}`,
  );
}

describe("sockets", () => {
  it.each([
    [
      "Get-NetTCPConnection, a table",
      `
LocalAddress                        LocalPort RemoteAddress                       RemotePort State       AppliedSetting OwningProcess
------------                        --------- -------------                       ---------- -----       -------------- -------------
::                                  10256     ::                                  0          Listen                     4120
10.0.0.11                           49712     10.0.0.10                           6443       Established Datacenter     4120
0.0.0.0                             49666     0.0.0.0                             0          Bound                      4120
`,
      ["tcp :: 10256 4120"],
    ],
    [
      "Get-NetTCPConnection, a list",
      `
LocalAddress   : 0.0.0.0
LocalPort      : 10250
RemoteAddress  : 0.0.0.0
RemotePort     : 0
State          : Listen
AppliedSetting :
OwningProcess  : 3344

LocalAddress   : 10.0.0.11
LocalPort      : 49712
RemoteAddress  : 10.0.0.10
RemotePort     : 6443
State          : Established
AppliedSetting : Datacenter
OwningProcess  : 4120
`,
      ["tcp 0.0.0.0 10250 3344"],
    ],
    [
      "Get-NetUDPEndpoint",
      `
LocalAddress                             LocalPort
------------                             ---------
0.0.0.0                                  4789
fe80::1%12                               1900
`,
      ["udp 0.0.0.0 4789 ?", "udp fe80::1 1900 ?"],
    ],
    // moby/moby#30400.
    [
      "netstat -an, without processes",
      "  TCP    127.0.0.1:1026         127.0.0.1:32426        TIME_WAIT\n  TCP    127.0.0.1:1199         0.0.0.0:0              LISTENING\n  UDP    0.0.0.0:4789           *:*\n",
      ["tcp 127.0.0.1 1199 ?", "udp 0.0.0.0 4789 ?"],
    ],
  ])("%s", (_, text, listeners) => {
    expect(listenersOf(text)).toEqual(listeners);
  });

  it("the port of tunnels, of a process that is not shown, may be Windows' own", async () => {
    const text = "  UDP    0.0.0.0:4789           *:*\n";
    const files = { ...filesOf(healthyNode()), "node/netstat.txt": text };
    const { findings } = await examineNodes(
      Object.entries(files).map(([name, each]) => new FileReading(new SourceText(name, each))),
    );
    expect(findings).toEqual([]);
  });
});
