/** Cmdlets on a pod and a node, and what a pipeline makes of their objects. */
import { beforeAll, describe, expect, it } from "vitest";
import { type ExecWorld, makeExecWorld } from "#test/support/cluster/exec-world.ts";

let world: ExecWorld;
beforeAll(async () => {
  world = await makeExecWorld();
});

/** The address of the Windows pod, as its own ipconfig has it. */
function ownAddress(): string {
  return /IPv4 Address[ .]*: ([\d.]+)/.exec(world.report("ipconfig").stdout)?.[1] ?? "";
}

describe("Resolve-DnsName", () => {
  const head = [
    "",
    "Name                                           Type   TTL   Section    IPAddress",
    "----                                           ----   ---   -------    ---------",
  ];

  it("shows the whole name of a short one, and what it found", () => {
    expect(world.lines("Resolve-DnsName web")).toEqual([
      ...head,
      expect.stringMatching(/^web\.shop\.svc\.cluster\.local {21}A {6}\d+ {3,4}Answer {5}10\.96\.0\.20$/),
      "",
      "",
    ]);
  });

  it("shows an alias in a table of its own, and its address below as a list", () => {
    expect(world.lines("Resolve-DnsName -Name shortcut -Type A")).toEqual([
      "",
      "Name                           Type   TTL   Section    NameHost",
      "----                           ----   ---   -------    --------",
      expect.stringMatching(
        /^shortcut\.shop\.svc\.cluster\.loca CNAME {2}\d+ +Answer {5}web\.shop\.svc\.cluster\.local$/,
      ),
      "l",
      "",
      "Name       : web.shop.svc.cluster.local",
      "QueryType  : A",
      expect.stringMatching(/^TTL {8}: \d+$/),
      "Section    : Answer",
      "IP4Address : 10.96.0.20",
      "",
      "",
    ]);
  });

  it("a name that does not exist is an error with its place in the line", () => {
    const { stdout, stderr, exitCode } = world.report("Resolve-DnsName gone.");
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(stderr.split("\r\n")).toEqual([
      "Resolve-DnsName : gone. : DNS name does not exist",
      "At line:1 char:1",
      "+ Resolve-DnsName gone.",
      "+ ~~~~~~~~~~~~~~~~~~~~~",
      "    + CategoryInfo          : ResourceUnavailable: (gone.:String) [Resolve-DnsName], Win32Exception",
      "    + FullyQualifiedErrorId : DNS_ERROR_RCODE_NAME_ERROR,Microsoft.DnsClient.Commands.ResolveDnsName",
      " ",
      "",
    ]);
  });

  it("-ErrorAction SilentlyContinue keeps it silent, and it has failed nevertheless", () => {
    const silent = world.report("Resolve-DnsName gone. -ErrorAction SilentlyContinue");
    expect(silent).toMatchObject({ stdout: "", stderr: "", exitCode: 1 });
  });

  const ofNames = [
    "",
    "Name                           Type   TTL   Section    NameHost",
    "----                           ----   ---   -------    --------",
  ];
  const ofZone = [
    "",
    "Name                        Type TTL   Section    PrimaryServer               NameAdministrator           SerialNumber",
    "----                        ---- ---   -------    -------------               -----------------           ------------",
  ];

  it.each<readonly [string, string, readonly unknown[]]>([
    [
      "an address is asked for as a name",
      "10.96.0.20",
      [...ofNames, "20.0.96.10.in-addr.arpa        PTR    30    Answer     web.shop.svc.cluster.local"],
    ],
    [
      "SRV: ports and targets, and the target's address below",
      "-Type SRV _https._tcp.kubernetes.default.svc.cluster.local",
      [
        "",
        "Name                                     Type   TTL   Section    NameTarget                     Priority Weight Port",
        "----                                     ----   ---   -------    ----------                     -------- ------ ----",
        "_https._tcp.kubernetes.default.svc.clust SRV    30    Answer     kubernetes.default.svc.cluster 0        100    443",
        "er.local                                                         .local",
        "",
        "Name       : kubernetes.default.svc.cluster.local",
        "QueryType  : A",
        "TTL        : 30",
        "Section    : Additional",
        "IP4Address : 10.96.0.1",
      ],
    ],
    [
      "a type that the name has not: the zone's SOA record",
      "-Type MX web.shop.svc.cluster.local",
      [
        ...ofZone,
        expect.stringMatching(
          /^cluster\.local {15}SOA {2}30 {4}Authority {2}ns\.dns\.cluster\.local {8}hostmaster\.cluster\.local {4}\d+$/,
        ),
      ],
    ],
    ...["-Type AAAA web", "-Type ANY web", "-Type All web.shop.svc.cluster.local"].map(
      (words): readonly [string, string, readonly unknown[]] => [
        "of CoreDNS, which has no record for it, the zone's SOA record",
        words,
        [
          ...ofZone,
          expect.stringMatching(/^cluster\.local +SOA {2}30 {4}Authority {2}ns\.dns\.cluster\.local /),
        ],
      ],
    ),
    [
      "TXT",
      "dns-version.cluster.local TXT",
      [
        "",
        "Name                                     Type   TTL   Section    Strings",
        "----                                     ----   ---   -------    -------",
        "dns-version.cluster.local                TXT    28800 Answer     {1.1.0}",
      ],
    ],
    [
      "a server of its own",
      "web.shop.svc.cluster.local -Server kube-dns.kube-system.svc.cluster.local -DnsOnly -Type A",
      [...head, "web.shop.svc.cluster.local                     A      30    Answer     10.96.0.20"],
    ],
  ])("%s", (_, words, lines) => {
    expect(world.lines(`Resolve-DnsName ${words}`)).toEqual([...lines, "", ""]);
  });

  it("shows a zone's SOA record as a list without its server", () => {
    expect(world.lines("Resolve-DnsName cluster.local -Type SOA | fl").slice(2, -2)).toEqual([
      "Name                   : cluster.local",
      "QueryType              : SOA",
      "TTL                    : 30",
      "Section                : Answer",
      "NameAdministrator      : hostmaster.cluster.local",
      expect.stringMatching(/^SerialNumber {11}: \d+$/),
      "TimeToZoneRefresh      : 7200",
      "TimeToZoneFailureRetry : 1800",
      "TimeToExpiration       : 86400",
      "DefaultTTL             : 30",
    ]);
  });

  it.each([
    ["-Type SRV _x._tcp.gone.shop.svc.cluster.local", "DNS name does not exist"],
    ["-Type MX web -Server 10.96.0.77", "This operation returned because the timeout period expired"],
    ["web -Server gone.", "DNS name does not exist"],
  ])("%s: %s", (words, said) => {
    const { stdout, stderr, exitCode } = world.report(`Resolve-DnsName ${words}`);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(stderr).toContain(said);
  });

  it("has numbers for types where they go into JSON", () => {
    const text = world.lines("Resolve-DnsName web -Type A | Select Name, Type, IPAddress | ConvertTo-Json");
    expect(text).toEqual([
      "{",
      '    "Name":  "web.shop.svc.cluster.local",',
      '    "Type":  1,',
      '    "IPAddress":  "10.96.0.20"',
      "}",
    ]);
  });
});

describe("what an adapter has", () => {
  it("Get-NetAdapter cuts a long name and a long description at their ends", () => {
    const [, title, rule, row, ...end] = world.lines("Get-NetAdapter");
    expect([title, rule]).toEqual([
      "Name                      InterfaceDescription                    ifIndex Status       MacAddress             LinkSpeed",
      "----                      --------------------                    ------- ------       ----------             ---------",
    ]);
    expect(row).toMatch(
      /^vEthernet \(shop_storef\.\.\. Hyper-V Virtual Ethernet Container A\.\.\. {6}\d\d Up {11}00-15-5D(-[0-9A-F]{2}){3} {8}10 Gbps$/,
    );
    expect(end).toEqual(["", ""]);
  });

  it("Get-NetAdapter | fl has a list of its own", () => {
    const text = world.lines("Get-NetAdapter -Name * | fl");
    expect(text.map((line) => line.split(" : ")[0]?.trimEnd())).toEqual([
      "",
      "",
      "Name",
      "InterfaceDescription",
      "InterfaceIndex",
      "MacAddress",
      "MediaType",
      "PhysicalMediaType",
      "InterfaceOperationalStatus",
      "AdminStatus",
      "LinkSpeed(Gbps)",
      "MediaConnectionState",
      "ConnectorPresent",
      "",
      "",
    ]);
    expect(text).toContain("PhysicalMediaType          : Unspecified");
    expect(text).toContain("ConnectorPresent           : False");
  });

  it("Get-DnsClientServerAddress has two lines of title and a row for each family", () => {
    const text = world.lines("Get-DnsClientServerAddress");
    expect(text.slice(0, 4)).toEqual([
      "",
      "InterfaceAlias               Interface Address ServerAddresses",
      "                             Index     Family",
      "--------------               --------- ------- ---------------",
    ]);
    expect(text[4]).toMatch(/^vEthernet \(shop_storefron\.\.\. {8}\d\d IPv4 {4}\{10\.96\.0\.10\}$/);
    expect(text[5]).toMatch(/^vEthernet \(shop_storefron\.\.\. {8}\d\d IPv6 {4}\{\}$/);
    expect(text[6]).toMatch(/^Loopback Pseudo-Interface \d {9}\d\d IPv4 {4}\{\}$/);
    expect(text[7]).toMatch(/IPv6 {4}\{fec0:0:0:ffff::1, fec0:0:0:ffff::2, fec0:0:0:ffff::3\}$/);
  });

  it("Get-DnsClientGlobalSetting lists the suffixes", () => {
    expect(world.lines("Get-DnsClientGlobalSetting")).toEqual([
      "",
      "",
      "UseSuffixSearchList : True",
      "SuffixSearchList    : {shop.svc.cluster.local, svc.cluster.local, cluster.local}",
      "UseDevolution       : True",
      "DevolutionLevel     : 0",
      "",
      "",
    ]);
  });

  it("Get-NetIPConfiguration lists address, gateway and server", () => {
    const text = world.lines("Get-NetIPConfiguration");
    expect(text.slice(2)).toEqual([
      expect.stringMatching(/^InterfaceAlias {7}: vEthernet \(/),
      expect.stringMatching(/^InterfaceIndex {7}: \d+$/),
      expect.stringMatching(/^InterfaceDescription : Hyper-V Virtual Ethernet Container Adapter/),
      `IPv4Address          : ${ownAddress()}`,
      "IPv6DefaultGateway   :",
      expect.stringMatching(/^IPv4DefaultGateway {3}: 10\.244\.\d+\.2$/),
      "DNSServer            : 10.96.0.10",
      "",
      "",
    ]);
  });

  it("Get-NetRoute shows the highest destination first and the default gateway last", () => {
    const text = world.lines("Get-NetRoute -AddressFamily IPv4");
    expect(text.slice(1, 3)).toEqual([
      "ifIndex DestinationPrefix                              NextHop                                  RouteMetric ifMetric PolicyStore",
      "------- -----------------                              -------                                  ----------- -------- -----------",
    ]);
    const routes = text.slice(3, -2);
    expect(routes.map((line) => line.slice(8, 54).trim())).toEqual([
      "255.255.255.255/32",
      "255.255.255.255/32",
      "224.0.0.0/4",
      "224.0.0.0/4",
      "127.255.255.255/32",
      "127.0.0.1/32",
      "127.0.0.0/8",
      expect.stringMatching(/^10\.244\.\d+\.255\/32$/),
      `${ownAddress()}/32`,
      expect.stringMatching(/^10\.244\.\d+\.0\/24$/),
      "0.0.0.0/0",
    ]);
    expect(routes[1]).toMatch(/^\d+ +255\.255\.255\.255\/32 {29}0\.0\.0\.0 {42}256 75 {7}ActiveStore$/);
    expect(routes.at(-1)).toMatch(/ 10\.244\.\d+\.2 +\d+ 15 +ActiveStore$/);
    expect(world.lines("Get-NetRoute -AddressFamily IPv4 -State Alive")).toEqual(text);
    expect(world.lines("Get-NetRoute -State Dead")).toEqual([]);
  });

  it("Get-NetCompartment: a node has all, a pod its own", () => {
    expect(world.lines("Get-NetCompartment -CompartmentId 1", "node/win-1").slice(2, 5)).toEqual([
      "CompartmentId          : 1",
      "CompartmentDescription : Default Compartment",
      "CompartmentGuid        : {b1062982-2b18-4b4f-b3d5-a78ddb9cdd49}",
    ]);
    const ids = world.lines("Get-NetCompartment | Select -ExpandProperty CompartmentId", "node/win-1");
    const own = world.lines("Get-NetCompartment | Select -ExpandProperty CompartmentId");
    expect(ids[0]).toBe("1");
    expect(own).toHaveLength(1);
    expect(ids).toContain(own[0]);
    expect(world.lines("Get-NetCompartment | select CompartmentDescription").join()).toMatch(
      /\\Container_[0-9a-f-]{36}/i,
    );
  });
});

describe("a pipeline", () => {
  it.each([
    ['Get-NetAdapter | ? Name -EQ "vEthernet (Ethernet)" | Select ifIndex', "ifIndex"],
    ["get-netadapter | Where-Object { $_.Name -like '*(Ethernet)' } | select-object IFINDEX", "ifIndex"],
    ["Get-NetAdapter | where Status -ne Down | ? { $_.ConnectorPresent -eq $false } | ft ifIndex", "ifIndex"],
    ["Get-NetAdapter 'vEthernet (Ethernet)' | Select ifIndex -First 1", "ifIndex"],
  ])("%s", (line, title) => {
    const [, first, rule, value, ...rest] = world.lines(line, "node/win-1");
    expect([first, rule]).toEqual([title, "-------"]);
    expect(value).toMatch(/^ +\d+$/);
    expect(rest.slice(-2)).toEqual(["", ""]);
  });

  // about_Comparison_Operators: texts in any case, numbers as numbers.
  it.each(["Name", "ifIndex"])("Where-Object compares %s", (property) => {
    const listed = (line: string): readonly string[] => {
      const text = world.lines(line, "node/win-1");
      return text.filter((each) => each !== "");
    };
    const all = listed(`Get-NetAdapter | Select -ExpandProperty ${property}`);
    expect(all.length).toBeGreaterThan(1);
    const isNumber = property === "ifIndex";
    const rank = (a: string, b: string): number => {
      if (isNumber) return Number(a) - Number(b);
      const [x, y] = [a.toLowerCase(), b.toLowerCase()];
      return x === y ? 0 : x > y ? 1 : -1;
    };
    const operators: Readonly<Record<string, (order: number) => boolean>> = {
      "-eq": (order) => order === 0,
      "-NE": (order) => order !== 0,
      "-gt": (order) => order > 0,
      "-ge": (order) => order >= 0,
      "-lt": (order) => order < 0,
      "-le": (order) => order <= 0,
    };
    const others = isNumber ? ["0", "100"] : ["a", "zz"];
    for (const wanted of [...all, ...others, ...all.map((each) => each.toUpperCase())])
      for (const [operator, holds] of Object.entries(operators)) {
        const line = `Get-NetAdapter | ? ${property} ${operator} "${wanted}" | Select -ExpandProperty ${property}`;
        expect([line, listed(line)]).toEqual([line, all.filter((each) => holds(rank(each, wanted)))]);
      }
  });

  it("five selected properties make a list, and one that is not there is empty", () => {
    const text = world.lines("Get-NetAdapter | Select Status, MtuSize, MediaType, AdminStatus, Colour");
    expect(text.slice(2, 7)).toEqual([
      "Status      : Up",
      expect.stringMatching(/^MtuSize     : 1\d{3}$/),
      "MediaType   : 802.3",
      "AdminStatus : Up",
      "Colour      :",
    ]);
  });

  it("several objects become a list of JSON; lists stand below their bracket", () => {
    const text = world.lines(
      "Get-DnsClientServerAddress -AddressFamily IPv4 | Select AddressFamily, ServerAddresses | ConvertTo-Json",
    );
    expect(text).toEqual([
      "[",
      "    {",
      '        "AddressFamily":  2,',
      '        "ServerAddresses":  [',
      '                                "10.96.0.10"',
      "                            ]",
      "    },",
      "    {",
      '        "AddressFamily":  2,',
      '        "ServerAddresses":  [',
      "",
      "                            ]",
      "    }",
      "]",
    ]);
    expect(
      world.lines("Get-DnsClientGlobalSetting | select UseDevolution | convertto-json -Compress"),
    ).toEqual(['{"UseDevolution":true}']);
  });

  // about_Parentheses; about_Arrays: members of all objects at once.
  it.each([
    ['(Get-HnsNetwork | ? Name -EQ "cbr0").Subnets.AddressPrefix', ["10.244.0.0/24"]],
    ['(Get-NetAdapter | ? Name -Like "vEthernet (Ethernet*").Name', ["vEthernet (Ethernet)"]],
    ["(Get-NetCompartment -CompartmentId 1).CompartmentId", ["1"]],
    ["(Get-NetCompartment -CompartmentId 1).Count", ["1"]],
    ['(Get-HnsNetwork | ? Name -EQ "vxlan0").ID', []],
    [
      "(Get-HnsNetwork).Subnets | Select GatewayAddress | ConvertTo-Json -Compress",
      ['{"GatewayAddress":"10.244.0.1"}'],
    ],
  ])("%s", (line, expected) => {
    expect(world.lines(line, "node/win-1")).toEqual(expected);
    expect(world.lines(["powershell", "-Command", line], "node/win-1")).toEqual(expected);
  });

  // about_Member-Access_Enumeration: a member of what is inside, of all of it at once; Select-Object -ExpandProperty likewise.
  it.each([
    ['Get-HnsNetwork | ? { $_.Subnets.AddressPrefix -eq "10.244.0.0/24" } | Select -Expand Name', ["cbr0"]],
    ["Get-HnsNetwork | ? { $_.Subnets.GatewayAddress -like '10.244.*' } | Select -Expand Name", ["cbr0"]],
    ['Get-HnsNetwork | ? { $_.Subnets.AddressPrefix -eq "10.9.0.0/24" } | Select -Expand Name', []],
    ["Get-HnsNetwork | ? { $_.Subnets.Count -ge 1 } | Select -Expand Name", ["cbr0"]],
    ["Get-HnsNetwork | ? { $_.Subnets.Count -gt 1 } | Select -Expand Name", []],
    ["(Get-HnsNetwork | Select -ExpandProperty Subnets).GatewayAddress", ["10.244.0.1"]],
    ["Get-HnsNetwork | Select -Expand Subnets | Select -Expand GatewayAddress", ["10.244.0.1"]],
  ])("%s", (line, expected) => {
    expect(world.lines(line, "node/win-1")).toEqual(expected);
  });

  it("an error in parentheses has its place in the line as it was typed", () => {
    const { stderr } = world.report("(Resolve-DnsName gone.).IPAddress");
    expect(stderr.split("\r\n").slice(1, 4)).toEqual([
      "At line:1 char:2",
      "+ (Resolve-DnsName gone.).IPAddress",
      "+  ~~~~~~~~~~~~~~~~~~~~~",
    ]);
  });

  it("nothing left is nothing printed", () => {
    expect(world.report("Get-NetAdapter | ? Name -EQ nothing")).toMatchObject({
      stdout: "",
      stderr: "",
      exitCode: 0,
    });
  });

  it("is read the same behind powershell -Command, in one word or several", () => {
    const line = "Get-NetRoute 0.0.0.0/0 | select NextHop";
    const expected = world.lines(line);
    expect(expected[3]).toMatch(/^10\.244\./);
    expect(world.lines(["powershell", "-Command", line])).toEqual(expected);
    expect(world.lines(["powershell.exe", ...line.split(" ")])).toEqual(expected);
    expect(world.lines(`powershell -c "${line}"`)).toEqual(expected);
    expect(world.lines(line.split(" "))).toEqual(expected);
  });
});

describe("what goes wrong", () => {
  it.each([
    [
      "Get-NetAdapter -Name zz",
      "Get-NetAdapter : No MSFT_NetAdapter objects found with property 'Name' equal to 'zz'.  Verify the value of the property and retry.",
      "ObjectNotFound: (zz:String) [Get-NetAdapter], CimJobException",
      "CmdletizationQuery_NotFound_Name,Get-NetAdapter",
    ],
    [
      "Get-NetRoute -Colour red",
      "Get-NetRoute : A parameter cannot be found that matches parameter name 'Colour'.",
      "InvalidArgument: (:) [Get-NetRoute], ParameterBindingException",
      "NamedParameterNotFound,Get-NetRoute",
    ],
    [
      "Get-NetAdapter | frobnicate",
      "frobnicate : The term 'frobnicate' is not recognized as the name of a cmdlet, function, script file, or operable program.",
      "ObjectNotFound: (frobnicate:String) [frobnicate], CommandNotFoundException",
      "CommandNotFoundException",
    ],
  ])("%s", (line, message, category, id) => {
    const { stdout, stderr, exitCode } = world.report(line);
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 1 });
    expect(stderr.startsWith(message)).toBe(true);
    expect(stderr).toContain(`    + CategoryInfo          : ${category}\r\n`);
    expect(stderr).toContain(`    + FullyQualifiedErrorId : ${id}\r\n`);
  });

  it("a pattern that fits nothing is no error", () => {
    expect(world.report("Get-NetAdapter z*")).toMatchObject({ stdout: "", stderr: "", exitCode: 0 });
  });

  it("cmd.exe has no cmdlets", () => {
    expect(world.report("cmd /c Get-NetAdapter".split(" "))).toMatchObject({ isListed: false, exitCode: 1 });
  });

  it.each([
    ["Get-NetRoute -PolicyStore PersistentStore", /Get-NetRoute -PolicyStore is not one/],
    ["Get-NetAdapter | Sort-Object Name", /\| Sort-Object Name is not one/],
    ["Get-NetAdapter | ? Name -match x", /\| \? Name -match x is not one/],
    ["Get-NetAdapter; Get-NetRoute", /a line with ; is not one/],
    ["Resolve-DnsName web -Type WKS", /-Type WKS is not one/],
    ["Get-NetRoute -State Stale", /-State stale is not one/],
    ["Resolve-DnsName", /without a name/],
  ])("%s is refused rather than answered wrongly", (line, message) => {
    expect(() => world.report(line)).toThrow(message);
  });
});

describe("addresses, interfaces and neighbours", () => {
  it("Get-NetIPAddress is a list of each address, by hand but for the loopback's", () => {
    const lists = world.lines("Get-NetIPAddress -AddressFamily IPv4");
    expect(lists.slice(0, 16)).toEqual([
      "",
      "",
      `IPAddress         : ${ownAddress()}`,
      expect.stringMatching(/^InterfaceIndex {4}: \d+$/),
      expect.stringMatching(/^InterfaceAlias {4}: vEthernet \(.+\)$/),
      "AddressFamily     : IPv4",
      "Type              : Unicast",
      "PrefixLength      : 24",
      "PrefixOrigin      : Manual",
      "SuffixOrigin      : Manual",
      "AddressState      : Preferred",
      "ValidLifetime     : Infinite ([TimeSpan]::MaxValue)",
      "PreferredLifetime : Infinite ([TimeSpan]::MaxValue)",
      "SkipAsSource      : False",
      "PolicyStore       : ActiveStore",
      "",
    ]);
    expect(lists).toContain("IPAddress         : 127.0.0.1");
    expect(world.lines("(Get-NetIPAddress -AddressFamily IPv4 -PrefixOrigin Manual).IPAddress")).toEqual([
      ownAddress(),
    ]);
  });

  it("Get-NetIPAddress | Format-Table has columns of its own, IPv6 first, the loopback last", () => {
    expect(world.lines("Get-NetIPAddress | ft")).toEqual([
      "",
      "ifIndex IPAddress                                       PrefixLength PrefixOrigin SuffixOrigin AddressState PolicyStore",
      "------- ---------                                       ------------ ------------ ------------ ------------ -----------",
      expect.stringMatching(/^\d+ +::1 {54}128 WellKnown {4}WellKnown {4}Preferred {4}ActiveStore$/),
      expect.stringMatching(/^\d+ +10\.[\d.]+ +24 Manual {7}Manual {7}Preferred {4}ActiveStore$/),
      expect.stringMatching(/^\d+ +127\.0\.0\.1 {50}8 WellKnown {4}WellKnown {4}Preferred {4}ActiveStore$/),
      "",
      "",
    ]);
  });

  it("Get-NetIPInterface has MTU and metric of each interface, as netsh has them", () => {
    const [mtu] =
      /(?<=\s)1[45]\d\d(?=\s)/.exec(world.lines("netsh interface ipv4 show interfaces").join("\n")) ?? [];
    const lines = world.lines("Get-NetIPInterface -AddressFamily IPv4");
    expect(lines.slice(0, 3)).toEqual([
      "",
      "ifIndex InterfaceAlias                  AddressFamily NlMtu(Bytes) InterfaceMetric Dhcp     ConnectionState PolicyStore",
      "------- --------------                  ------------- ------------ --------------- ----     --------------- -----------",
    ]);
    expect(lines[3]).toMatch(
      new RegExp(`^\\d+ +vEthernet \\(.+ IPv4 {18}${mtu} {14}15 Disabled Connected {7}ActiveStore$`),
    );
    expect(lines[4]).toMatch(
      /^\d+ +Loopback Pseudo-Interface \d+ +IPv4 {12}4294967295 {14}75 Disabled Connected/,
    );
  });

  it("Get-NetNeighbor knows whom arp -a knows, and who did not answer", () => {
    const from = "pod/shop/storefront";
    const [, arp, neighbors] = world.sequence(["ping -n 1 10.96.0.20", "arp -a", "Get-NetNeighbor"], from);
    const known = (arp ?? []).flatMap(
      (line) => /^ {2}([\d.]+) +([\da-f-]{17})/.exec(line)?.slice(1, 3) ?? [],
    );
    expect(known.length).toBeGreaterThan(0);
    expect((neighbors ?? []).slice(0, 3)).toEqual([
      "",
      "ifIndex IPAddress                                          LinkLayerAddress      State       PolicyStore",
      "------- ---------                                          ----------------      -----       -----------",
    ]);
    for (const text of known) expect((neighbors ?? []).join("\n").toLowerCase()).toContain(text);
    expect(world.report("Get-NetNeighbor -State Stale").stderr).toContain(
      "No MSFT_NetNeighbor objects found",
    );
    const [, gone] = world.sequence(
      [`ping -n 1 ${ownAddress().replace(/\d+$/, "253")}`, "Get-NetNeighbor"],
      from,
    );
    expect((gone ?? []).join("\n")).toMatch(/\.253 +00-00-00-00-00-00 {5}(Unreachable|Incomplete)/);
  });

  it("a neighbour that does not answer is told by the own address", () => {
    expect(world.lines(`ping -n 1 ${ownAddress().replace(/\d+$/, "253")}`)).toContain(
      `Reply from ${ownAddress()}: Destination host unreachable.`,
    );
  });
});

describe("what the machine holds besides", () => {
  it("hostname, and the hosts file that the kubelet wrote", () => {
    expect(world.lines("hostname")).toEqual(["storefront"]);
    expect(world.lines("hostname", "node/win-1")).toEqual(["win-1"]);
    const file = String.raw`C:\Windows\System32\drivers\etc\hosts`;
    const lines = world.lines(`type ${file}`);
    expect(lines[0]).toBe("# Kubernetes-managed hosts file.");
    expect(lines).toContain(`${ownAddress()}\tstorefront`);
    expect(world.lines(`powershell cat ${file}`)).toEqual(lines);
    expect(world.lines(`Get-Content -Path ${file}`)).toEqual(lines);
    expect(() => world.report(`type ${file}`, "node/win-1")).toThrow("is not one of the commands");
    expect(() => world.report(String.raw`type C:\k\config`)).toThrow("is not one of the commands");
  });

  it("Clear-DnsClientCache forgets what was remembered", () => {
    const from = "pod/shop/storefront";
    const [, before, nothing, after] = world.sequence(
      ["Resolve-DnsName web", "ipconfig /displaydns", "Clear-DnsClientCache", "ipconfig /displaydns"],
      from,
    );
    expect((before ?? []).join("\n")).toContain("web.shop.svc.cluster.local");
    expect(nothing).toEqual([]);
    expect((after ?? []).join("\n")).not.toContain("web.shop");
  });

  it.each(["tnc web -Port 80", "gip", "iwr -UseBasicParsing http://web"])("%s is PowerShell's", (line) => {
    expect(world.report(line)).toMatchObject({ exitCode: 0, isListed: true });
    expect(world.lines(line)).toEqual(world.lines(`powershell ${line}`));
  });
});
