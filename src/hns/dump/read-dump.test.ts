// Dumps as people bring them from nodes. The samples are composed; their shapes are those of hcn.md §2.12, users.md §4 and
// dataplane.md §7.13.
import { beforeEach, describe, expect, it } from "vitest";
import { toldTexts } from "#test/support/told-texts.ts";
import { LIMITS } from "#core/base/limits.ts";
import { SourceText, decodeSource } from "#core/base/source-text.ts";
import type { JsonObject } from "#core/base/json.ts";
import type { DumpRead } from "./dumped-object.ts";
import { formatDump, readDump } from "./read-dump.ts";

/** What is read of every text here but the huge ones, whole. */
const told = toldTexts("test/support/hns/dumps-read.txt");
const TOLD_MAX = 3_000;
let texts = 0;
beforeEach(() => {
  texts = 0;
});

function read(text: string): DumpRead {
  const found = readDump(new SourceText("dump.txt", text));
  texts++;
  if (text.length <= TOLD_MAX) {
    const title =
      `${expect.getState().currentTestName ?? ""} (text ${texts}, ${text.length} letters)`.replaceAll(
        /\s+/g,
        " ",
      );
    const lines = Object.entries(found).flatMap(([field, value]) =>
      Array.isArray(value)
        ? value.map((each) => `${field}: ${JSON.stringify(each)}`)
        : [`${field}: ${JSON.stringify(value)}`],
    );
    const shown = `${lines.join("\n")}\n`;
    expect(shown).toBe(told.held(title, shown));
  }
  return found;
}

function documents(text: string): readonly JsonObject[] {
  const { objects, problems } = read(text);
  expect(problems).toEqual([]);
  return objects.map(({ document }) => document);
}

const NETWORK_ID = "6F7E13A2-8ADE-48EE-844E-AC0B0AFF2301";
const ENDPOINT_ID = "5e6298c2-4638-494e-be6b-ff6fef942c06";
const NETWORK: JsonObject = {
  ID: NETWORK_ID,
  Name: "cbr0",
  Type: "L2Bridge",
  Subnets: [{ AddressPrefix: "10.244.2.0/24", GatewayAddress: "10.244.2.1", Policies: [] }],
};
const ENDPOINT: JsonObject = {
  ID: ENDPOINT_ID,
  Name: "web",
  VirtualNetwork: NETWORK_ID.toLowerCase(),
  IPAddress: "10.244.2.10",
};

describe("the kind and the dialect of an object", () => {
  it.each<[kind: string, dialect: string, document: JsonObject]>([
    ["Network", "v1", NETWORK],
    ["Network", "v1", { ID: NETWORK_ID, Name: "nat", Type: "nat", NatName: "NAT1", Policies: [] }],
    [
      "Network",
      "v2",
      { ID: NETWORK_ID, Name: "nat", SchemaVersion: { Major: 2, Minor: 0 }, Ipams: [], Policies: [] },
    ],
    ["Network", "v2", { ID: NETWORK_ID, Type: "Private", SchemaVersion: { Major: 2, Minor: 2 } }],
    ["Endpoint", "v1", ENDPOINT],
    ["Endpoint", "v1", { ID: ENDPOINT_ID, Type: "Transparent", VirtualNetwork: NETWORK_ID, Policies: [] }],
    ["Endpoint", "v2", { ID: ENDPOINT_ID, HostComputeNetwork: NETWORK_ID, IpConfigurations: [] }],
    ["Namespace", "v1", { ID: ENDPOINT_ID, CompartmentId: 6, IsDefault: false, ResourceList: [] }],
    [
      "Namespace",
      "v2",
      { ID: ENDPOINT_ID, NamespaceId: 6, Type: "Host", SchemaVersion: { Major: 2, Minor: 0 } },
    ],
    ["LoadBalancer", "v1", { ID: ENDPOINT_ID, IsApplied: true, Policies: [{ Type: "ELB" }], References: [] }],
    [
      "LoadBalancer",
      "v2",
      { ID: ENDPOINT_ID, HostComputeEndpoints: [], PortMappings: [{ Protocol: 6 }], Flags: 1 },
    ],
    ["SdnRoute", "v2", { ID: ENDPOINT_ID, HostComputeEndpoints: [], Routes: [{ NextHop: "10.0.0.1" }] }],
    ["GuestNetworkService", "v2", { ID: ENDPOINT_ID, VirtualMachineId: NETWORK_ID }],
  ])("%s, %s", (kind, dialect, document) => {
    expect(read(JSON.stringify(document)).objects).toMatchObject([{ kind, dialect, document }]);
  });

  it("tells what is none, with its fields and its place", () => {
    const { objects, problems } = read(
      `[\n${JSON.stringify(NETWORK)},\n  {"Network": {"Version": "v1.2.6"}}\n]`,
    );
    expect(objects).toHaveLength(1);
    expect(problems).toMatchObject([
      {
        code: "hns-dump-object-unknown",
        message: "what begins here is not an object of HNS; it has the fields Network",
        where: { file: "dump.txt", line: 3, column: 3 },
      },
    ]);
  });

  it("tells an object without an ID", () => {
    const { problems } = read('{"Name":"cbr0","Subnets":[],"MacPools":[]}');
    expect(problems).toMatchObject([
      { message: expect.stringContaining("is a Network without an ID") as unknown },
    ]);
  });
});

// projectcalico/calico#8465: Get-HnsNetwork on a screen, of which a thread has the first or the last lines.
describe("half a paste of Format-List", () => {
  const FIRST = `ActivityId             : 07D4BE14-BCDF-497C-BE6D-EBE7BC24F598
AdditionalParams       :
CurrentEndpointCount   : 0
Extensions             : {@{Id=E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A; IsEnabled=False}, @{Id=430BDADD-BAB0-41AB-A369-94B67FA5BE0A;
                         IsEnabled=True}}
Health                 : @{LastErrorCode=0;`;
  const LAST = `LayeredOn              : 5E1C0F2A-6C0B-4F4E-9A0E-0D3C5B7F0A11
MacPools               : {@{EndMacAddress=00-15-5D-E0-CF-FF; StartMacAddress=00-15-5D-E0-C0-00}}
State                  : 1
Type                   : L2Bridge`;
  const ENDS =
    "the text ends in field Health of the Network that begins here, before its ID: the end of the paste is missing";
  const BEGINS =
    "the Network here begins with field LayeredOn, behind its ID: the beginning of the paste is missing";

  it.each([
    ["the first lines", FIRST, ENDS, 1],
    ["the first lines below a prompt", `PS C:\\> Get-HnsNetwork\n\n${FIRST}`, ENDS, 3],
    ["the last lines", LAST, BEGINS, 1],
  ])("is told with its place where it is all that there is: %s", (_, text, message, line) => {
    const { objects, problems } = read(text);
    expect(objects).toEqual([]);
    expect(problems).toMatchObject([{ code: "hns-dump-value-cut", message, where: { line, column: 1 } }]);
  });

  it("is a note beside whole objects, which are read", () => {
    const whole = `ActivityId : 07D4BE14-BCDF-497C-BE6D-EBE7BC24F598\nID         : ${NETWORK_ID}\nName       : cbr0\nType       : L2Bridge`;
    const { objects, problems, notes } = read(`${whole}\n\n${FIRST}`);
    expect(objects.map(({ kind }) => kind)).toEqual(["Network"]);
    expect(problems).toEqual([]);
    expect(notes).toMatchObject([{ code: "hns-dump-value-cut", message: ENDS, where: { line: 6 } }]);
  });

  it("is told once for each, in their order", () => {
    const { problems } = read(`${FIRST}\n\n${LAST}`);
    expect(problems.map(({ message, where }) => [message, where.line])).toEqual([
      [ENDS, 1],
      [BEGINS, 8],
    ]);
  });

  it("is not what other cmdlets print", () => {
    const address =
      "IPAddress      : 10.0.0.4\nInterfaceIndex : 4\nPrefixLength   : 24\nAddressState   : Preferred";
    expect(read(address).problems).toMatchObject([{ code: "hns-dump-unreadable" }]);
  });
});

it("an endpoint without an ID has its article", () => {
  const { problems } = read('{"IpConfigurations":[],"HostComputeNamespace":"","Name":"web"}');
  expect(problems).toMatchObject([
    { message: expect.stringContaining("is an Endpoint without an ID") as unknown },
  ]);
});

describe("what ConvertTo-Json makes of a list", () => {
  const both = [NETWORK, ENDPOINT] as const;
  it.each<[what: string, text: string, expected: readonly JsonObject[]]>([
    ["an array", JSON.stringify(both, undefined, 4), both],
    ["one object, of which no array was made", JSON.stringify(NETWORK), [NETWORK]],
    ["value and Count around it", JSON.stringify({ value: both, Count: 2 }), both],
    ["an answer of HNS v1", JSON.stringify({ Success: true, Output: both }), both],
    ["several commands, one after the other", both.map((each) => JSON.stringify(each)).join("\r\n"), both],
    ["without anything between", both.map((each) => JSON.stringify(each)).join(""), both],
    ["lists by name", JSON.stringify({ Networks: [NETWORK], Endpoints: [ENDPOINT] }), both],
    ["lists in lists, indented", `  [[[[[${JSON.stringify(NETWORK)}]]]]]`, [NETWORK]],
    ["nothing in the list", JSON.stringify([null, NETWORK]), [NETWORK]],
    [
      "Id, as Select-Object spells it",
      '{"Name":"n","Type":"Overlay","Id":"6f7e13a2-8ade-48ee-844e-ac0b0aff2301"}',
      [{ ID: "6f7e13a2-8ade-48ee-844e-ac0b0aff2301", Name: "n", Type: "Overlay" }],
    ],
  ])("%s", (_what, text, expected) => {
    expect(documents(text)).toEqual(expected);
  });

  it("leaves out the fields of remoting", () => {
    const remote = { ...NETWORK, PSComputerName: "win-1", RunspaceId: NETWORK_ID, PSShowComputerName: true };
    expect(documents(JSON.stringify(remote))).toEqual([NETWORK]);
  });

  it.each([
    ["UTF-8 with a mark", [0xef, 0xbb, 0xbf], "utf8"],
    ["UTF-16 as > writes it", [0xff, 0xfe], "utf16le"],
    ["UTF-16 without a mark", [], "utf16le"],
  ] as const)("%s", (_what, mark, encoding) => {
    const bytes = Buffer.concat([Buffer.from(mark), Buffer.from(JSON.stringify(both), encoding)]);
    const source = decodeSource("network.txt", bytes);
    expect(source && readDump(source).objects.map(({ document }) => document)).toEqual(both);
  });

  it("finds the JSON below the table that collectlogs.ps1 writes in front of it", () => {
    const table = ["", "Name Type     ID", "---- ----     --", `cbr0 L2Bridge ${NETWORK_ID}`, "", ""].join(
      "\r\n",
    );
    const { objects, linesPassedBy } = read(table + JSON.stringify([NETWORK], undefined, 2));
    expect(objects).toMatchObject([{ document: NETWORK, where: { line: 7, column: 3 } }]);
    expect(linesPassedBy).toBe(2);
  });
});

it.each([
  [
    "a type alone",
    { Type: "L2Driver" },
    /^what begins here is an HNS policy \(L2Driver\) without the object/,
  ],
  ["fields of a policy", { Type: "VLAN", VLAN: 4 }, /is an HNS policy \(VLAN\) without/],
  [
    "fields of something else",
    { Type: "Car", Wheels: 4 },
    /is not an object of HNS; it has the fields Type, Wheels$/,
  ],
  ["no fields", {}, /is not an object of HNS; it has no fields$/],
])("a document without an ID is called what it is: %s", (_what, document, message) => {
  expect(read(`[${JSON.stringify(document)}]`).problems).toMatchObject([
    { code: "hns-dump-object-unknown", message: expect.stringMatching(message) as unknown },
  ]);
});

it("lists in more than five lists are told with their place", () => {
  const { objects, problems } = read(`[[[[[[${JSON.stringify(NETWORK)}]]]]]]`);
  expect(objects).toEqual([]);
  expect(problems).toMatchObject([{ code: "hns-dump-unreadable", where: { line: 1, column: 7 } }]);
});

describe("values that PowerShell cut off", () => {
  it("takes back what a text still says", () => {
    const [document] = documents(
      JSON.stringify({
        ...NETWORK,
        Subnets: "@{AddressPrefix=10.244.2.0/24; GatewayAddress=10.244.2.1; ID=1; State=0; IPv6=False}",
        MacPools: { StartMacAddress: "00-15-5D-00-00-00" },
        Health: "@{LastErrorCode=0; LastUpdateTime=0}",
        AdditionalParams: "",
      }),
    );
    expect(document).toMatchObject({
      Subnets: [
        { AddressPrefix: "10.244.2.0/24", GatewayAddress: "10.244.2.1", ID: "1", State: 0, IPv6: false },
      ],
      MacPools: [{ StartMacAddress: "00-15-5D-00-00-00" }],
      Health: { LastErrorCode: 0, LastUpdateTime: 0 },
      AdditionalParams: {},
    });
  });

  it("takes back lists that became one text", () => {
    const policies =
      "@{Type=OutBoundNAT; ExceptionList=10.0.0.0/8 10.96.0.0/12} @{Type=L2Driver} @{Type=PA; PA=10.0.0.4}";
    expect(
      documents(JSON.stringify({ ...ENDPOINT, Policies: policies, SharedContainers: "" })),
    ).toMatchObject([
      {
        Policies: [
          { Type: "OutBoundNAT", ExceptionList: ["10.0.0.0/8", "10.96.0.0/12"] },
          { Type: "L2Driver" },
          { Type: "PA", PA: "10.0.0.4" },
        ],
        SharedContainers: [],
      },
    ]);
  });

  it("tells what is lost, at the field", () => {
    const text = `{\n  "ID": "${ENDPOINT_ID}",\n  "IPAddress": "10.244.2.10",\n  "Name": "web",\n  "Policies": ["@{Type=ACL; Rules=System.Object[]}", "System.Collections.Hashtable"]\n}`;
    const { objects, notes, problems } = read(text);
    expect(problems).toEqual([]);
    expect(objects[0]?.cut).toEqual(["Policies[0].Rules", "Policies[1]"]);
    expect(notes).toMatchObject([
      {
        code: "hns-dump-value-cut",
        message: 'cut off: Policies[0].Rules, Policies[1] of Endpoint "web"',
        where: { file: "dump.txt", line: 5, column: 3, field: "Policies[0].Rules" },
      },
    ]);
  });
});

describe("what Get-HnsNetwork shows on a screen", () => {
  const SCREEN = `PS C:\\> Get-HnsNetwork

ActivityId             : 19C8DEBE-0BA9-4C37-A3FF-DE1FBF03B201
AdditionalParams       :
CurrentEndpointCount   : 0
Extensions             : {@{Id=E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A; IsEnabled=False;
                         Name=Microsoft Windows Filtering Platform}, @{Id=EA24CD6C-D17A-4348-9190-09F0
                         D5BE83DD; IsEnabled=True; Name=Microsoft NDIS Capture}}
ID                     : ${NETWORK_ID}
IPv6                   : False
MacPools               : {@{EndMacAddress=00-15-5D-1B-FF-FF; StartMacAddress=00-15-5D-1B-F0-00}}
Name                   : 1
Policies               : {}
Subnets                : {@{AddressPrefix=192.168.255.0/30; Policies=System.Object[]; State=0}}
Type                   : overlay
Version                : 38654705666

ID         : ${ENDPOINT_ID}
Name       : Ethernet
IPAddress  : 10.42.9.37
Namespace  : @{ID=2C094B9E-AF3A-4DC1-97D8-821B68603D23}
`;

  it("reads both objects, joined where the screen broke them", () => {
    const { objects, problems, linesPassedBy } = read(SCREEN);
    expect(problems).toEqual([]);
    expect(linesPassedBy).toBe(1);
    expect(objects).toMatchObject([
      {
        kind: "Network",
        where: { line: 3, column: 1 },
        cut: ["Subnets[0].Policies"],
        document: {
          AdditionalParams: {},
          CurrentEndpointCount: 0,
          Extensions: [
            {
              Id: "E7C3B2F0-F3C5-48DF-AF2B-10FED6D72E7A",
              IsEnabled: false,
              Name: "Microsoft Windows Filtering Platform",
            },
            { Id: "EA24CD6C-D17A-4348-9190-09F0D5BE83DD", IsEnabled: true, Name: "Microsoft NDIS Capture" },
          ],
          IPv6: false,
          MacPools: [{ EndMacAddress: "00-15-5D-1B-FF-FF", StartMacAddress: "00-15-5D-1B-F0-00" }],
          // A name, although it is a number.
          Name: "1",
          Policies: [],
          Subnets: [{ AddressPrefix: "192.168.255.0/30", State: 0 }],
          Type: "overlay",
          Version: 38654705666,
        },
      },
      {
        kind: "Endpoint",
        where: { line: 18, column: 1 },
        document: { IPAddress: "10.42.9.37", Namespace: { ID: "2C094B9E-AF3A-4DC1-97D8-821B68603D23" } },
      },
    ]);
  });

  it("breaks words where the line is full, and nowhere else", () => {
    const full = "Extensions : {@{Name=Microsoft Windows Filtering Platform of a long, long name";
    const list = `ID         : ${NETWORK_ID}\nMacPools   : {}\nSubnets    : {}\n`;
    const names = [
      // The first line is full.
      [
        `${full}\n             and more}}`,
        "Microsoft Windows Filtering Platform of a long, long nameand more",
      ],
      // The second one is.
      [
        `Extensions : {@{Name=Microsoft\n${"             Windows".padEnd(full.length, "x")}\n             yz}}`,
        `Microsoft Windows${"x".repeat(full.length - 20)}yz`,
      ],
      // Neither is.
      [`Extensions : {@{Name=Microsoft\n             Windows\n             NAT}}`, "Microsoft Windows NAT"],
    ] as const;
    const pad = `Name       : ${"n".repeat(full.length - "Name       : ".length)}\n`;
    for (const [text, name] of names)
      expect(documents(list + pad + text)).toMatchObject([{ Extensions: [{ Name: name }] }]);
  });

  it("reads a list of one that is printed without its braces", () => {
    const text = `ID       : ${NETWORK_ID}\nMacPools : @{StartMacAddress=00-15-5D-00-00-00}\nSubnets  : {}`;
    expect(documents(text)).toMatchObject([{ MacPools: [{ StartMacAddress: "00-15-5D-00-00-00" }] }]);
  });

  it("ends an object at a line that is no field", () => {
    const first = `ID        : ${NETWORK_ID}\nMacPools  : {}\nType      : nat\n`;
    const second = `IPAddress : 10.42.9.37\nMTU       : 1500\nVirtualNetworkName : x\n`;
    const { objects, linesPassedBy } = read(`${first}PS C:\\> Get-HnsEndpoint\n${second}`);
    expect(objects.map(({ document }) => Object.keys(document))).toEqual([["ID", "MacPools", "Type"]]);
    expect(linesPassedBy).toBeGreaterThan(0);
  });
});

describe("what Format-Table shows on a screen", () => {
  const TABLE = [
    "ID                                   Name     IPAddress   Policies",
    "--                                   ----     ---------   --------",
    "c9385412-bdef-49f5-88b0-c9d484ef6701 4a625... 10.42.0.11  {@{Type=ACL}, @{...",
    "c9385412-bdef-49f5-88b0-c9d484ef6702          10.42.0.12  {}",
  ].join("\n");

  it("reads each row in its order, without cells that are empty, and says what is cut", () => {
    const { objects, notes } = read(TABLE);
    expect(objects.map(({ document, cut, where }) => ({ ...document, cut, line: where.line }))).toEqual([
      {
        ID: "c9385412-bdef-49f5-88b0-c9d484ef6701",
        Name: "4a625...",
        IPAddress: "10.42.0.11",
        Policies: [{ Type: "ACL" }, "@{..."],
        cut: ["Name", "Policies[1]"],
        line: 3,
      },
      { ID: "c9385412-bdef-49f5-88b0-c9d484ef6702", IPAddress: "10.42.0.12", Policies: [], cut: [], line: 4 },
    ]);
    expect(notes.map(({ code, where }) => [code, where.line])).toEqual([
      ["hns-dump-names-only", 3],
      ["hns-dump-value-cut", 3],
    ]);
  });

  it("reads tables in the order in which they stand around JSON", () => {
    const other = TABLE.replaceAll("ef670", "ef680");
    const { objects } = read(`${TABLE}\n\n${JSON.stringify(NETWORK)}\n\n${other}\n`);
    expect(objects.map(({ document }) => document["ID"])).toEqual([
      NETWORK_ID,
      ...["01", "02"].map((end) => `c9385412-bdef-49f5-88b0-c9d484ef67${end}`),
      ...["01", "02"].map((end) => `c9385412-bdef-49f5-88b0-c9d484ef68${end}`),
    ]);
  });
});

describe("what hnsdiag prints", () => {
  const LB = "326f84d7-35ec-4355-a60a-e82e2b05ec01";
  const TABLES = `PS C:\\Users\\azureuser> hnsdiag list all
Networks:
Name             ID
vxlan0           ${NETWORK_ID}
a name with spaces and more 705B6B4D-E2F2-421A-B31B-E3C5E8831901

Endpoints:
Name             ID                                   Virtual Network Name
Ethernet         ${ENDPOINT_ID} vxlan0

                 11796e63-07b3-4199-91d5-9bc25108fb01 a name with spaces and more

Namespaces:
ID                                   | Endpoint IDs
7cb720c0-ac4c-4266-92e1-dc277b2a9b01 | ${ENDPOINT_ID}

LoadBalancers:
ID                                   | Virtual IPs      | Direct IP IDs
${LB} |  10.96.0.10      | ${ENDPOINT_ID} 11796e63-07b3-4199-91d5-9bc25108fb01
af826f8b-9f78-41ea-bc9e-6e433f878401 |                  | ${ENDPOINT_ID}
`;

  it("without -d: names, ids, who refers to whom", () => {
    const { objects, problems, notes, linesPassedBy } = read(TABLES);
    expect(problems).toEqual([]);
    expect(linesPassedBy).toBe(1);
    expect(objects.map(({ kind, document, where }) => [kind, where.line, document])).toEqual([
      ["Network", 4, { ID: NETWORK_ID, Name: "vxlan0" }],
      ["Network", 5, { ID: "705B6B4D-E2F2-421A-B31B-E3C5E8831901", Name: "a name with spaces and more" }],
      ["Endpoint", 9, { ID: ENDPOINT_ID, Name: "Ethernet", VirtualNetworkName: "vxlan0" }],
      [
        "Endpoint",
        11,
        {
          ID: "11796e63-07b3-4199-91d5-9bc25108fb01",
          Name: "",
          VirtualNetworkName: "a name with spaces and more",
        },
      ],
      [
        "Namespace",
        15,
        {
          ID: "7cb720c0-ac4c-4266-92e1-dc277b2a9b01",
          ResourceList: [{ Type: "Endpoint", Data: { Id: ENDPOINT_ID } }],
        },
      ],
      [
        "LoadBalancer",
        19,
        {
          ID: LB,
          Policies: [{ Type: "ELB", VIPs: ["10.96.0.10"] }],
          References: [`/endpoints/${ENDPOINT_ID}`, "/endpoints/11796e63-07b3-4199-91d5-9bc25108fb01"],
        },
      ],
      [
        "LoadBalancer",
        20,
        {
          ID: "af826f8b-9f78-41ea-bc9e-6e433f878401",
          Policies: [{ Type: "ELB" }],
          References: [`/endpoints/${ENDPOINT_ID}`],
        },
      ],
    ]);
    expect(notes).toMatchObject([{ code: "hns-dump-names-only", where: { line: 4 } }]);
  });

  it("the lines as texts of JSON, where the collector sent them through ConvertTo-Json", () => {
    const { objects } = read(JSON.stringify(TABLES.split("\n"), undefined, 2));
    expect(objects.map(({ where }) => where.line)).toEqual([5, 6, 10, 12, 16, 20, 21]);
  });

  it("rows whose titles were not pasted, below their heading", () => {
    const { objects, linesPassedBy } = read(
      `Networks:\nvxlan0 ${NETWORK_ID}\nEndpoints:\nweb ${ENDPOINT_ID} vxlan0`,
    );
    expect(objects.map(({ kind, document }) => [kind, document])).toEqual([
      ["Network", { ID: NETWORK_ID, Name: "vxlan0" }],
      ["Endpoint", { ID: ENDPOINT_ID, Name: "web", VirtualNetworkName: "vxlan0" }],
    ]);
    expect(linesPassedBy).toBe(0);
  });

  it("a block ends where something else begins", () => {
    const { objects } = read(
      `Endpoint : ${ENDPOINT_ID}\n    Name : web\nNetworks:\nvxlan0 ${NETWORK_ID}\n    Type : Overlay\n`,
    );
    expect(objects.map(({ document }) => document)).toEqual([
      { ID: ENDPOINT_ID, Name: "web" },
      { ID: NETWORK_ID, Name: "vxlan0" },
    ]);
  });

  it("blocks of older builds", () => {
    const text = `Endpoint : ${ENDPOINT_ID}
    Name             : Ethernet
    IP Address       : 10.42.9.37
Load Balancer : ${LB}
    Virtual IPs      : 10.96.0.10
    Direct IP IDs    : ${ENDPOINT_ID}
`;
    expect(documents(text)).toEqual([
      { ID: ENDPOINT_ID, Name: "Ethernet", IPAddress: "10.42.9.37" },
      {
        ID: LB,
        Policies: [{ Type: "ELB", VIPs: ["10.96.0.10"] }],
        References: [`/endpoints/${ENDPOINT_ID}`],
      },
    ]);
  });

  it("with -d: objects one after the other, empty ones with an empty line inside", () => {
    const text = `{\n    "AdditionalParams":{\n\n    },\n    "ID":"${NETWORK_ID}",\n    "Name":"cbr0",\n    "Subnets":[\n\n    ]\n}\n{\n    "ID":"${ENDPOINT_ID}",\n    "IPAddress":"10.244.2.10"\n}\n`;
    expect(documents(text)).toEqual([
      { AdditionalParams: {}, ID: NETWORK_ID, Name: "cbr0", Subnets: [] },
      { ID: ENDPOINT_ID, IPAddress: "10.244.2.10" },
    ]);
  });
});

describe("our own dump", () => {
  it("gives its objects back as they are", () => {
    const id = ENDPOINT_ID;
    const document = { ID: id, Name: "web", Policies: "System.Object[]" };
    const internal = { portId: "abc" };
    const text = formatDump({ version: { Major: 13, Minor: 3 } }, [
      { kind: "Endpoint", id, document, internal },
    ]);
    expect(read(text)).toMatchObject({
      objects: [
        { kind: "Endpoint", dialect: "v2", document, internal, cut: [], where: { line: 11, column: 5 } },
      ],
      problems: [],
      notes: [],
    });
  });

  it("tells an object without a kind", () => {
    const text = '{"apiVersion":"mullion/v1alpha1","kind":"HnsDump","objects":[{"kind":"Pod","id":"x"}]}';
    expect(read(text).problems).toMatchObject([{ code: "hns-dump-object-unknown" }]);
  });
});

describe("broken files", () => {
  it.each<[what: string, text: string, message: RegExp, line: number]>([
    ["nothing", "", /holds no objects of HNS/, 1],
    ["an essay", "Dear maintainers,\nwe have a problem.", /holds no objects of HNS/, 1],
    [
      "cut off",
      `[${JSON.stringify(NETWORK)},\n{"ID": "${ENDPOINT_ID}", "IPAdd`,
      /is not closed|ends inside/,
      2,
    ],
    ["broken in the middle", `[${JSON.stringify(NETWORK)},\n{"ID" "x"},\n{}]`, /a colon is missing/, 2],
    ["wrapped by a console", '{"ID":"6f7e\n13a2"}', /not JSON/, 1],
    ["nested without end", "[".repeat(200), /nested more than 128 levels/, 1],
  ])("%s", (_what, text, message, line) => {
    const [problem] = read(text).problems;
    expect(problem?.message).toMatch(message);
    expect(problem?.where.line).toBe(line);
    expect(problem?.advice).not.toBe("");
  });

  it("reads what stands before and behind", () => {
    const text = `${JSON.stringify(NETWORK)}\n{"ID":"${ENDPOINT_ID}",,}\n${JSON.stringify(ENDPOINT)}\n`;
    const { objects, problems } = read(text);
    expect(objects.map(({ kind }) => kind)).toEqual(["Network", "Endpoint"]);
    expect(problems).toHaveLength(1);
  });

  it("gives up on a file that is broken everywhere, in linear time", () => {
    const { objects, problems } = read('{"\n'.repeat(200_000));
    expect(objects).toEqual([]);
    // Twenty broken values, and why no more of the file is read.
    expect(problems).toHaveLength(21);
    expect(problems.at(-1)?.message).toBe("too much of this file is broken to read on");
    expect(new Set(problems.map(({ code }) => code))).toEqual(new Set(["hns-dump-unreadable"]));
  });

  it.each([
    [19, "cbr0"],
    [20, undefined],
  ])("after %d broken values, the next object is %s", (count, expected) => {
    const { objects, problems } = read(`${'{"ID" 1}\n'.repeat(count)}${JSON.stringify(NETWORK)}\n`);
    expect(objects[0]?.document["Name"]).toBe(expected);
    expect(problems).toHaveLength(expected === undefined ? 21 : count);
  });

  it("tells a bounded number of problems", () => {
    const { problems } = read(`[${Array.from({ length: 2_000 }, () => '{"a":1}').join(",\n")}]`);
    expect(problems).toHaveLength(LIMITS.hnsDumpProblemsMax + 1);
    expect(problems.at(-1)?.message).toContain("is not read");
  });

  it("takes no prototype from a file", () => {
    const [document] = documents(
      `{"ID":"${ENDPOINT_ID}","IPAddress":"10.0.0.1","__proto__":{"polluted":true}}`,
    );
    expect(document).not.toHaveProperty("polluted");
  });
});
