/** The registry of a compartment: what HNS writes at attach, what the tools of Windows change, and who goes by it. */
import { beforeAll, describe, expect, it } from "vitest";
import { type Cluster, forkCluster } from "#cluster/cluster.ts";
import { execute } from "#cluster/exec/exec.ts";
import type { ExecReport } from "#cluster/exec/exec-report.ts";
import { type ExecWorld, makeExecWorld } from "#test/support/cluster/exec-world.ts";

const TCPIP = String.raw`HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip`;
const SHORT = String.raw`HKLM\SYSTEM\CurrentControlSet\Services\Tcpip`;
const ADAPTER = "vEthernet (shop_storefront_cbr0)";
const GUID = String.raw`\{[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\}`;
const MISSING = "ERROR: The system was unable to find the specified registry key or value.\r\n";

let world: ExecWorld;
beforeAll(async () => {
  world = await makeExecWorld();
});

/** The commands one after the other on one machine. */
function run(...commands: readonly string[]): readonly ExecReport[] {
  const cluster = forkCluster(world.cluster);
  return commands.map((command) => execute(cluster, { from: "pod/shop/storefront", command: [command] }));
}

function valuesOf(report: ExecReport | undefined): Readonly<Record<string, string>> {
  const rows = (report?.stdout ?? "")
    .split("\r\n")
    .map((line) => /^ {4}(.+?) {4}REG_\w+ {4}(.*)$/.exec(line));
  return Object.fromEntries(rows.flatMap((row) => (row === null ? [] : [[row[1] ?? "", row[2] ?? ""]])));
}

const ALL = `reg query ${SHORT}\\Parameters\\Interfaces /s`;

describe("reg query", () => {
  it("the key of the interface has what HNS wrote at attach", () => {
    const { stdout, exitCode } = world.report(ALL);
    expect(exitCode).toBe(0);
    expect(stdout.split("\r\n")).toEqual([
      "",
      expect.stringMatching(
        new RegExp(`^${TCPIP.replaceAll("\\", "\\\\")}\\\\Parameters\\\\Interfaces\\\\${GUID}$`),
      ),
      "    EnableDHCP    REG_DWORD    0x0",
      expect.stringMatching(/^ {4}IPAddress {4}REG_MULTI_SZ {4}10\.244\.\d+\.\d+$/),
      "    SubnetMask    REG_MULTI_SZ    255.255.255.0",
      expect.stringMatching(/^ {4}DefaultGateway {4}REG_MULTI_SZ {4}10\.244\.\d+\.2$/),
      expect.stringMatching(/^ {4}DefaultGatewayMetric {4}REG_MULTI_SZ {4}\d+$/),
      "    RegistrationEnabled    REG_DWORD    0x1",
      "    NameServer    REG_SZ    10.96.0.10",
      "    Domain    REG_SZ    ",
      "    SearchList    REG_SZ    shop.svc.cluster.local,svc.cluster.local,cluster.local",
      "",
      "",
    ]);
  });

  it("a key shows its values and the names of the keys in it, the hive in full", () => {
    const lines = world.lines(`reg query ${SHORT}\\Parameters`);
    expect(lines.slice(0, 3)).toEqual([
      "",
      `${TCPIP}\\Parameters`,
      String.raw`    DataBasePath    REG_EXPAND_SZ    %SystemRoot%\System32\drivers\etc`,
    ]);
    expect(lines.slice(-3)).toEqual([
      "",
      `${TCPIP}\\Parameters\\Interfaces`,
      `${TCPIP}\\Parameters\\PersistentRoutes`,
    ]);
    expect(world.lines(`reg.exe QUERY ${SHORT}\\Parameters\\Interfaces`)).toEqual([
      "",
      expect.stringMatching(new RegExp(`Interfaces\\\\${GUID}$`)),
    ]);
  });

  it("/v asks for one value; with /s its finds are counted", () => {
    expect(world.lines(`reg query ${SHORT}\\Parameters /v hostname`)).toEqual([
      "",
      `${TCPIP}\\Parameters`,
      "    Hostname    REG_SZ    storefront",
      "",
    ]);
    expect(world.lines(`reg query ${SHORT} /s /v NameServer`).at(-1)).toBe(
      "End of search: 2 match(es) found.",
    );
    const none = world.report(`reg query ${SHORT} /s /v Nothing`);
    expect([none.stdout, none.exitCode]).toEqual(["\r\nEnd of search: 0 match(es) found.\r\n", 1]);
  });

  it.each([
    [`reg query ${SHORT}\\Parameters\\Winsock2`, MISSING],
    [`reg query ${SHORT}\\Parameters /v MaxHops`, MISSING],
    ["reg query HKXX\\SYSTEM", 'ERROR: Invalid key name.\r\nType "REG QUERY /?" for usage.\r\n'],
    ["reg query", 'ERROR: Invalid syntax.\r\nType "REG QUERY /?" for usage.\r\n'],
    [`reg query ${SHORT} Parameters`, 'ERROR: Invalid syntax.\r\nType "REG QUERY /?" for usage.\r\n'],
  ])("%s ends with 1 and says so on stderr", (line, stderr) => {
    expect(world.report(line)).toMatchObject({ stdout: "", stderr, exitCode: 1 });
  });

  it.each([
    String.raw`reg query HKLM\SOFTWARE\Microsoft`,
    `reg query ${SHORT} /f Name`,
    `reg add ${SHORT}\\Parameters /v Domain /d x`,
  ])("%s is refused rather than answered wrongly", (line) => {
    expect(() => world.report(line)).toThrow(/is not one of the commands that Mullion has/);
  });
});

describe("the tools of Windows change the registry, and the resolver goes by it", () => {
  it("another server: the registry, ipconfig and the questions follow", () => {
    const [set, reg, ipconfig, lookup] = run(
      `netsh interface ipv4 set dnsservers name="${ADAPTER}" static 10.0.0.21 primary`,
      ALL,
      "ipconfig /all",
      "Resolve-DnsName web",
    );
    expect(set).toMatchObject({ stdout: "\r\n", exitCode: 0, isChange: true });
    expect(valuesOf(reg)["NameServer"]).toBe("10.0.0.21");
    expect(ipconfig?.stdout).toContain("DNS Servers . . . . . . . . . . . : 10.0.0.21\r\n");
    expect(lookup?.exitCode).toBe(1);
  });

  it("suffixes of the machine take the place of those of the interface", () => {
    const [before, set, reg, after] = run(
      "Resolve-DnsName web",
      "Set-DnsClientGlobalSetting -SuffixSearchList 'elsewhere.example'",
      `reg query ${SHORT}\\Parameters /v SearchList`,
      "Resolve-DnsName web",
    );
    expect(before?.exitCode).toBe(0);
    expect(set).toMatchObject({ stdout: "", exitCode: 0, isChange: true });
    expect(valuesOf(reg)).toEqual({ SearchList: "elsewhere.example" });
    expect(after?.stderr).toMatch(/^Resolve-DnsName : web : DNS name does not exist/);
  });

  it("Set-DnsClientServerAddress and Set-DnsClient write the interface's key; a reset empties it", () => {
    const [, , set, , reset] = run(
      `Set-DnsClientServerAddress -InterfaceAlias '${ADAPTER}' -ServerAddresses 10.0.0.7,10.0.0.8`,
      `Set-DnsClient '${ADAPTER}' -ConnectionSpecificSuffix shop.example`,
      ALL,
      `Set-DnsClientServerAddress '${ADAPTER}' -ResetServerAddresses`,
      ALL,
    );
    expect(valuesOf(set)).toMatchObject({ NameServer: "10.0.0.7,10.0.0.8", Domain: "shop.example" });
    expect(valuesOf(reset)).toMatchObject({ NameServer: "", Domain: "shop.example" });
  });

  it("servers can be added at a place and taken away", () => {
    const [, , added, , left] = run(
      `netsh int ip add dns "${ADAPTER}" 10.0.0.7 index=1`,
      `netsh int ip add dnsservers "${ADAPTER}" 10.0.0.8`,
      ALL,
      `netsh int ip delete dnsservers "${ADAPTER}" 10.96.0.10`,
      ALL,
    );
    expect(valuesOf(added)["NameServer"]).toBe("10.0.0.7,10.96.0.10,10.0.0.8");
    expect(valuesOf(left)["NameServer"]).toBe("10.0.0.7,10.0.0.8");
  });

  it("a metric stands in the registry and in the routes; an automatic one does not stand there", () => {
    const [set, reg, routes, , automatic] = run(
      `netsh interface ipv4 set interface "${ADAPTER}" metric=40 mtu=1400`,
      ALL,
      "netsh interface ipv4 show interfaces",
      `netsh interface ipv4 set interface "${ADAPTER}" metric=0`,
      ALL,
    );
    expect(set).toMatchObject({ stdout: "Ok.\r\n\r\n", exitCode: 0 });
    expect(valuesOf(reg)["InterfaceMetric"]).toBe("0x28");
    expect(routes?.stdout).toMatch(/ {10}40 {8}1400 {2}connected {5}vEthernet/);
    expect(valuesOf(automatic)).not.toHaveProperty("InterfaceMetric");
  });

  it("route -p add stands below PersistentRoutes, an added route does not", () => {
    const [address] = /10\.244\.\d+\.2\b/.exec(world.report("route print -4").stdout) ?? [];
    const [, , reg, print, , gone] = run(
      `route -p add 10.50.0.0 mask 255.255.0.0 ${address} metric 7`,
      `route add 10.60.0.0 mask 255.255.0.0 ${address}`,
      `reg query ${SHORT}\\Parameters\\PersistentRoutes`,
      "route print -4",
      "route delete 10.50.0.0",
      `reg query ${SHORT}\\Parameters\\PersistentRoutes`,
    );
    expect(valuesOf(reg)).toEqual({ [`10.50.0.0,255.255.0.0,${address},7`]: "" });
    const [, persistent = ""] = print?.stdout.split("Persistent Routes:") ?? [];
    expect(persistent).toMatch(/ 10\.50\.0\.0 {6}255\.255\.0\.0 +10\.244\.\d+\.2 {7}7\r\n/);
    expect(persistent).not.toContain("10.60.0.0");
    expect(gone?.stdout).toBe("");
  });

  it.each([
    ['netsh interface ipv4 set dnsservers "no such" static 10.0.0.1', /syntax is incorrect/],
    [`netsh interface ipv4 set dnsservers "${ADAPTER}" static 10.0.0.300`, /10\.0\.0\.300/],
    [`netsh interface ipv4 set dnsservers "${ADAPTER}" static fd00::1`, /fd00::1/],
    [`netsh interface ipv4 set interface "${ADAPTER}" mtu=9000`, /parameter is incorrect/],
    [`netsh interface ipv4 delete dnsservers "${ADAPTER}" 10.9.9.9`, /Element not found/],
  ])("%s changes nothing and ends with 1", (line, text) => {
    const [wrong, after] = run(line, ALL);
    expect(wrong?.exitCode).toBe(1);
    expect(wrong?.stdout).toMatch(text);
    expect(after?.stdout).toBe(world.report(ALL).stdout);
  });
});

describe("a compartment of one's own", () => {
  function serversOf(cluster: Cluster): readonly string[] {
    return ["pod/shop/storefront", "node/win-1"].map((from) => {
      const report = execute(cluster, { from, command: ["ipconfig /all"] });
      return /DNS Servers[ .]+: (\S*)/.exec(report.stdout)?.[1] ?? "none";
    });
  }

  it("what is changed in a pod is changed there alone, and a copy of before has it as it was", () => {
    const cluster = forkCluster(world.cluster);
    const before = serversOf(cluster);
    const change = `Set-DnsClientServerAddress '${ADAPTER}' -ServerAddresses 10.0.0.7`;
    execute(cluster, { from: "pod/shop/storefront", command: [change] });
    const copy = forkCluster(cluster);
    expect(serversOf(copy)).toEqual(["10.0.0.7", before[1]]);
    expect(serversOf(forkCluster(world.cluster))).toEqual(before);
  });
});
