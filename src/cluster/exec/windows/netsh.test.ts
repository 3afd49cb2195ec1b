/** `netsh interface` on a pod. */
import { beforeAll, expect, it } from "vitest";
import { type ExecWorld, makeExecWorld } from "#test/support/cluster/exec-world.ts";

let world: ExecWorld;
beforeAll(async () => {
  world = await makeExecWorld();
});

const LOOPBACK = "Loopback Pseudo-Interface 2";
const NAME = expect.stringMatching(
  /^Configuration for interface "vEthernet \(shop_storefront_cbr0\)"$/,
) as string;

it("show interfaces has index, metric and MTU", () => {
  expect(world.lines("netsh interface ipv4 show interfaces")).toEqual([
    "",
    "Idx     Met         MTU          State                Name",
    "---  ----------  ----------  ------------  ---------------------------",
    expect.stringMatching(new RegExp(`^ \\d\\d {10}75 {2}4294967295 {2}connected {5}${LOOPBACK}$`)),
    expect.stringMatching(/^ \d\d {10}15 {8}1[45]\d\d {2}connected {5}vEthernet \(shop_storefront_cbr0\)$/),
    "",
  ]);
});

it("show config has address, gateway and name servers; the words may be short", () => {
  const text = world.lines("netsh int ip sh conf");
  expect(text).toEqual([
    "",
    NAME,
    "    DHCP enabled:                         No",
    expect.stringMatching(/^ {4}IP Address: {27}10\.244\.\d+\.\d+$/),
    expect.stringMatching(/^ {4}Subnet Prefix: {24}10\.244\.\d+\.0\/24 \(mask 255\.255\.255\.0\)$/),
    expect.stringMatching(/^ {4}Default Gateway: {22}10\.244\.\d+\.2$/),
    expect.stringMatching(/^ {4}Gateway Metric: {23}\d+$/),
    "    InterfaceMetric:                      15",
    "    Statically Configured DNS Servers:    10.96.0.10",
    "    Register with which suffix:           Primary only",
    "    Statically Configured WINS Servers:   None",
    "",
    `Configuration for interface "${LOOPBACK}"`,
    "    DHCP enabled:                         No",
    "    IP Address:                           127.0.0.1",
    "    Subnet Prefix:                        127.0.0.0/8 (mask 255.0.0.0)",
    "    InterfaceMetric:                      75",
    "    Statically Configured DNS Servers:    None",
    "    Register with which suffix:           None",
    "    Statically Configured WINS Servers:   None",
    "",
  ]);
  const addresses = world.lines("netsh interface ipv4 show addresses");
  expect(addresses).toEqual(text.filter((line) => !/DNS|suffix|WINS/.test(line)));
});

it("show dnsservers has the servers of the family", () => {
  const none = [
    "    Statically Configured DNS Servers:    None",
    "    Register with which suffix:           None",
  ];
  expect(world.lines("netsh interface ipv4 show dnsservers").slice(1, 4)).toEqual([
    NAME,
    "    Statically Configured DNS Servers:    10.96.0.10",
    "    Register with which suffix:           Primary only",
  ]);
  expect(world.lines("netsh interface ipv6 show dnsservers").slice(1, 4)).toEqual([NAME, ...none]);
});

it("show route has the gateway as a route of somebody's, and what Windows adds as the system's", () => {
  const text = world.lines("netsh interface ipv4 show route");
  expect(text.slice(0, 4)).toEqual([
    "",
    "Publish  Type      Met  Prefix                    Idx  Gateway/Interface Name",
    "-------  --------  ---  ------------------------  ---  ------------------------",
    expect.stringMatching(/^No {7}Manual {4}\d+ +0\.0\.0\.0\/0 {18}\d\d {2}10\.244\.\d+\.2$/),
  ]);
  expect(text).toContainEqual(
    expect.stringMatching(new RegExp(`^No {7}System {4}256 {2}127\\.0\\.0\\.0/8 {16}\\d\\d {2}${LOOPBACK}$`)),
  );
  expect(text.filter((line) => line.includes(" Manual "))).toHaveLength(1);
});

it.each(["protocol=tcp", "tcp", "udp"])(
  "show excludedportrange %s has the blocks that HNS holds on a node",
  (word) => {
    const protocol = word.replace("protocol=", "");
    const lines = world.lines(`netsh int ipv4 show excludedportrange ${word}`, "node/win-1");
    expect(lines.slice(0, 5)).toEqual([
      "",
      `Protocol ${protocol} Port Exclusion Ranges`,
      "",
      "Start Port    End Port",
      "----------    --------",
    ]);
    expect(lines.slice(-3)).toEqual(["", "* - Administered port exclusions.", ""]);
    const ranges = lines.slice(5, -3).map((line) => line.trim().split(/ +/).map(Number));
    expect(ranges.length).toBeGreaterThan(0);
    for (const [first = 0, last = 0] of ranges) expect(last - first + 1).toBe(64);
    // A pod has a stack of its own, from which nothing is taken.
    expect(world.lines(`netsh int ipv4 show excludedportrange ${word}`)).toHaveLength(8);
  },
);

it("show dynamicport has where a program's ports come from", () => {
  expect(world.lines("netsh int ipv4 show dynamicport tcp")).toEqual([
    "",
    "Protocol tcp Dynamic Port Range",
    "---------------------------------",
    "Start Port      : 49152",
    "Number of Ports : 16384",
    "",
  ]);
});

it.each([
  "netsh interface ipv4 show excludedportrange",
  "netsh interface ipv4 show excludedportrange sctp",
  "netsh interface ipv6 show excludedportrange tcp",
  "netsh interface ipv4 show subinterfaces",
  "netsh interface ipv6 show addresses",
  "netsh interface ipv4 set interface 12 retransmittime=2000",
  "netsh advfirewall show allprofiles",
  "netsh",
])("%s is refused rather than answered wrongly", (line) => {
  expect(() => world.report(line)).toThrow(/is not one of the commands that Mullion has/);
});
