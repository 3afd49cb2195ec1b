// What hnsdiag and the module hns.psm1 print on a node (dataplane.md §7.13; microsoft/SDN), and that a pod has neither.
import { beforeAll, describe, expect, it } from "vitest";
import { type ExecWorld, makeExecWorld } from "#test/support/cluster/exec-world.ts";
import { jsonLines } from "../powershell/convert-to-json.ts";
import { objectOfJson } from "../powershell/objects.ts";

const NODE = "node/win-1";
let world: ExecWorld;
beforeAll(async () => {
  world = await makeExecWorld();
});

describe("hnsdiag", () => {
  it("list all shows four tables, in the form of a node's", () => {
    const text = world.lines("hnsdiag list all", NODE).join("\n");
    const table = (name: string, columns: string): RegExp => new RegExp(`(^|\\n\\n)${name}:\\n${columns}\\n`);
    expect(text).toMatch(table("Networks", "Name +ID"));
    expect(text).toMatch(table("Endpoints", "Name +ID +Virtual Network Name"));
    expect(text).toMatch(table("Namespaces", "ID +\\| Endpoint IDs"));
    expect(text).toMatch(table("LoadBalancers", "ID +\\| Virtual IPs +\\| Direct IP IDs"));
    expect(text).toMatch(/\n[0-9a-f-]{36} \| {2}10\.96\.0\.20 +\| [0-9a-f-]{36}/);
  });

  it("list networks -d shows the document in v1 form", () => {
    const document = JSON.parse(world.lines("hnsdiag list networks -d", NODE).join("\n")) as object;
    expect(document).toMatchObject({ Name: "cbr0", Type: "L2Bridge" });
  });

  it("shows the object of an id alone", () => {
    const [, first = ""] = world.lines("hnsdiag list endpoints", NODE);
    const id = /[0-9a-f-]{36}/.exec(first)?.[0] ?? "";
    expect(world.lines(`hnsdiag list endpoints ${id.toUpperCase()}`, NODE)).toHaveLength(2);
  });

  it("is no command of a pod", () => {
    expect(world.report("hnsdiag list all")).toMatchObject({ exitCode: 1, stdout: "" });
  });

  it.each(["hnsdiag delete networks x", "hnsdiag list routes", "hnsdiag list all -x", "hnsdiag"])(
    "%s is refused with what there is",
    (line) => {
      expect(() => world.report(line, NODE)).toThrow(/is not one of the commands that Mullion has/);
    },
  );
});

describe("Get-Hns…", () => {
  it("the pipelines of the troubleshooting list find a network by its name", () => {
    expect(world.lines("Get-HnsNetwork | ? Name -EQ cbr0 | Select Name, Type", NODE)).toEqual(
      ["", "Name Type    ", "---- ----    ", "cbr0 L2Bridge", "", ""].map(
        (line) => expect.stringMatching(new RegExp(`^${line.trimEnd()} *$`)) as string,
      ),
    );
    expect(world.lines("Get-HnsNetwork | ? Name -EQ flannel.4096", NODE).join("")).toBe("");
  });

  it("as a list nested objects stand as ConvertFrom-Json's do", () => {
    const text = world.lines("Get-HnsNetwork | Format-List Name, Subnets", NODE).join("\n");
    expect(text).toMatch(
      /^Subnets +: \{@\{AdditionalParams=; AddressPrefix=10\.\S+; .*Policies=System\.Object\[\]; /m,
    );
  });

  it("Get-HnsEndpoint by id, and Get-HnsPolicyList with its policies", () => {
    const [name = "", id = ""] = world.lines("Get-HnsEndpoint | Select Name, ID", NODE)[3]?.split(/ +/) ?? [];
    expect(world.lines(`Get-HnsEndpoint -Id ${id} | Select Name`, NODE)[3]?.trim()).toBe(name);
    const text = world.lines("Get-HnsPolicyList | ConvertTo-Json", NODE).join("");
    expect(JSON.stringify(JSON.parse(text))).toContain(
      "@{Type=ELB; Protocol=6; InternalPort=80; ExternalPort=80; VIPs=System.Object[]",
    );
    const deep = world.lines("Get-HnsPolicyList | ConvertTo-Json -Depth 10", NODE).join("");
    expect(JSON.stringify(JSON.parse(deep))).toContain(`"VIPs":["10.96.0.20"]`);
  });

  it("is no cmdlet of a pod", () => {
    const { exitCode, stderr } = world.report("Get-HnsNetwork");
    expect(exitCode).toBe(1);
    expect(stderr).toContain("The term 'Get-HnsNetwork' is not recognized as the name of a cmdlet");
  });
});

describe("ConvertTo-Json of nested objects", () => {
  const DOCUMENT = { A: { B: { C: { D: 1 } } }, L: [{ M: [1, 2], N: {} }], E: {}, T: ["x", "y"], Z: null };

  it("goes two steps deep, a list being one, and puts what is empty over three lines", () => {
    expect(jsonLines([objectOfJson(DOCUMENT)], { isCompact: false })).toEqual([
      "{",
      '    "A":  {',
      '              "B":  {',
      '                        "C":  "@{D=1}"',
      "                    }",
      "          },",
      '    "L":  [',
      "              {",
      '                  "M":  "1 2",',
      '                  "N":  ""',
      "              }",
      "          ],",
      '    "E":  {',
      "",
      "          },",
      '    "T":  [',
      '              "x",',
      '              "y"',
      "          ],",
      '    "Z":  ""',
      "}",
    ]);
  });

  it("a list of objects is a step, too", () => {
    const [first] = JSON.parse(
      jsonLines([DOCUMENT, DOCUMENT].map(objectOfJson), { isCompact: true }).join(""),
    ) as [object];
    expect(first).toMatchObject({ A: { B: "@{C=}" } });
  });
});
