/**
 * All that commands print, on a pod and a node of each system: other tests hold single lines against Microsoft's and Linux' own
 * pages, and this one that no other line changes unseen.
 */
import { beforeAll, expect, it } from "vitest";
import { type ExecWorld, GREETING_PORT, makeExecWorld } from "#test/support/cluster/exec-world.ts";
import { toldTexts } from "#test/support/told-texts.ts";
import { forkCluster } from "../cluster.ts";
import { execute } from "./exec.ts";

const told = toldTexts("test/support/cluster/exec-printed.txt");

const WINDOWS_POD = "pod/shop/storefront";
const WINDOWS_NODE = "node/win-1";
const LINUX_POD = "pod/shop/tux";
const LINUX_NODE = "node/linux-1";

/** Each line is run in a copy of its own; those of an inner list one after the other in one copy. */
const COMMANDS: Readonly<Record<string, readonly (string | readonly string[])[]>> = {
  [WINDOWS_POD]: [
    ["nslookup web", "Resolve-DnsName shortcut -Type CNAME", "ipconfig /displaydns", "ipconfig /flushdns"],
    ["ping -n 2 10.0.0.21", "arp -a", "Get-NetNeighbor", "netstat -an"],
    ["curl -s http://web", "netstat -ano", "netstat -abno"],
    ["route add 192.0.2.0 mask 255.255.255.0 10.0.0.1 metric 7", "route print -4", "Get-NetRoute"],
    ["Set-DnsClient -InterfaceIndex 2 -ConnectionSpecificSuffix a.example", "Get-DnsClientGlobalSetting"],
    ["netsh interface ipv4 show interfaces", "route print"],
    "ipconfig",
    "ipconfig /all",
    "nslookup -type=SRV _http._tcp.web",
    "nslookup 10.96.0.20",
    "nslookup nobody.example",
    "Resolve-DnsName web.shop.svc.cluster.local",
    "Resolve-DnsName 10.96.0.20",
    "ping -n 1 -l 4000 10.0.0.21",
    "ping -n 1 -i 1 198.51.100.9",
    "ping -n 1 nobody.example",
    "tracert -d -h 4 10.0.0.21",
    "netstat -r",
    "netsh interface ipv4 show config",
    "netsh interface ipv4 show route",
    "netsh interface ipv4 show dnsservers",
    "netsh interface ipv6 show interfaces",
    "Get-NetIPConfiguration -All",
    "Get-NetIPAddress",
    "Get-NetIPInterface",
    "Get-NetAdapter -IncludeHidden",
    "Get-DnsClientServerAddress",
    "Test-NetConnection web -Port 80",
    "Test-NetConnection 10.0.0.21 -InformationLevel Detailed",
    "Test-NetConnection 198.51.100.9 -Port 80",
    "Invoke-WebRequest http://web -UseBasicParsing",
    "curl -si http://web",
    `curl -sS http://10.0.0.21:${GREETING_PORT}`,
    "curl http://198.51.100.9",
    "type C:\\Windows\\System32\\drivers\\etc\\hosts",
    "hostname",
    "Get-NetIPAddress -AddressFamily IPv4 | ConvertTo-Json",
    "Get-NetRoute | Format-List",
    "dir",
  ],
  [WINDOWS_NODE]: [
    "ipconfig /all",
    "route print -4",
    "netsh interface ipv4 show addresses",
    "netsh interface ipv4 show excludedportrange tcp",
    "netsh interface ipv4 show dynamicportrange udp",
    "Get-NetCompartment",
    "Get-NetIPConfiguration",
    "hnsdiag list all",
    "Get-HnsNetwork",
    "Get-HnsEndpoint",
    "vfpctrl /list-vmswitch-port",
    "netstat -an",
    "nslookup web.shop.svc.cluster.local 10.96.0.10",
  ],
  [LINUX_POD]: [
    ["ping -c 2 10.0.0.11", "ip neighbour", "ip -br address"],
    [
      "dig web.shop.svc.cluster.local",
      "dig +short web.shop.svc.cluster.local",
      "dig +search +noall +answer shortcut",
    ],
    "ip address",
    "ip link",
    "ip route",
    "ip route get 10.0.0.11",
    "ss -n -t -l",
    "ss -n -u -a",
    "ping -c 1 -s 4000 10.0.0.11",
    "ping -c 1 -t 1 198.51.100.9",
    "ping -c 2 -q 10.0.0.11",
    "ping -c 1 -W 1 198.51.100.9",
    "ping -c 1 nobody.example",
    "nslookup web",
    "nslookup nobody.example",
    "wget -q -O - http://web",
    "wget -q --spider http://198.51.100.9",
    "cat /etc/resolv.conf",
    "cat /etc/hosts",
    "hostname",
    "tcpdump",
  ],
  [LINUX_NODE]: [
    "ip address",
    "ip -6 address",
    "ip route",
    "ss -n -t -a",
    "ip neighbour",
    "cat /etc/resolv.conf",
  ],
};

let world: ExecWorld;
beforeAll(async () => {
  world = await makeExecWorld();
});

it.each(
  Object.entries(COMMANDS).flatMap(([from, all]) =>
    all.map((each) => [from, typeof each === "string" ? [each] : each] as const),
  ),
)("%s: %j", (from, commands) => {
  const copy = forkCluster(world.cluster);
  const text = commands
    .map((command) => {
      const { stdout, stderr, exitCode } = execute(copy, { from, command: [command] });
      const errors = stderr === "" ? "" : `(errors)\n${stderr}`;
      return `> ${command}\n${stdout}${errors}(${exitCode})\n`.replaceAll("\r", "");
    })
    .join("");
  expect(text).toBe(told.held(`${from}: ${commands.join("; ")}`, text));
});
