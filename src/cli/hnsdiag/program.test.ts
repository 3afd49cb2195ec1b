// The tool of that name, as the documentation and users show its output (dataplane.md §7.13).
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runHnsdiag } from "./program.ts";

/** Composed in the shape of a published list of a node. */
const NODE = `Networks:
Name             ID
nat              B5083512-BE1D-4326-B58F-56CA5154E801
vxlan0           705B6B4D-E2F2-421A-B31B-E3C5E8831901
a-network-with-a-long-name 705B6B4D-E2F2-421A-B31B-E3C5E8831902

Endpoints:
Name             ID                                   Virtual Network Name
Ethernet         11796e63-07b3-4199-91d5-9bc25108fb01 vxlan0
Ethernet         07f382ab-8884-40ba-8adf-efe4c92e8601 vxlan0

Namespaces:
ID                                   | Endpoint IDs
7cb720c0-ac4c-4266-92e1-dc277b2a9b01 | 11796e63-07b3-4199-91d5-9bc25108fb01

LoadBalancers:
ID                                   | Virtual IPs      | Direct IP IDs
326f84d7-35ec-4355-a60a-e82e2b05ec01 |  10.96.0.1       | 07f382ab-8884-40ba-8adf-efe4c92e8601
af826f8b-9f78-41ea-bc9e-6e433f878401 |                  | 11796e63-07b3-4199-91d5-9bc25108fb01 07f382ab-8884-40ba-8adf-efe4c92e8601
`;

async function run(line: string, text = NODE): Promise<{ code: number; out: string; err: string }> {
  const terminal = new MemoryTerminal({ "node.txt": text });
  const code = await runHnsdiag(`${line} --mullion-file node.txt`.trim().split(" "), terminal);
  return { code, out: terminal.output, err: terminal.errors };
}

describe("hnsdiag list", () => {
  it("all: prints a node's list as the node printed it", async () => {
    const { code, out } = await run("list all");
    expect(code).toBe(0);
    expect(out).toBe(NODE);
  });

  it("one kind: no heading", async () => {
    expect((await run("list networks")).out).toBe(
      [
        "Name             ID",
        "nat              B5083512-BE1D-4326-B58F-56CA5154E801",
        "vxlan0           705B6B4D-E2F2-421A-B31B-E3C5E8831901",
        "a-network-with-a-long-name 705B6B4D-E2F2-421A-B31B-E3C5E8831902",
        "",
      ].join("\n"),
    );
  });

  it.each(["-d", "-df"])(
    "%s: the v1 documents, one after the other, as the tool writes JSON",
    async (option) => {
      const { out } = await run(`list networks b5083512-be1d-4326-b58f-56ca5154e801 ${option}`);
      expect(out).toMatch(/^\{\n {4}"ID":"B5083512-[0-9A-F-]{27}",\n {4}"Name":"nat",\n/);
      expect(out).toMatch(/\n\}\n$/);
      // The tables say no more of a network, and what is told beside it is marked.
      const { ID, Name, ...more } = JSON.parse(out) as Record<string, unknown>;
      expect({ ID, Name }).toEqual({ ID: "B5083512-BE1D-4326-B58F-56CA5154E801", Name: "nat" });
      expect(more).toEqual({ Kind: "Network", Added: ["Kind"] });
      const all = await run(`list all ${option}`);
      expect(all.out.split("\n}\n{\n").length).toBe(3 + 2 + 1 + 2);
      const details = `{"AdditionalParams":{},"ID":"B5083512-BE1D-4326-B58F-56CA5154E801","Name":"nat","Type":"nat"}`;
      const shown = (await run(`list networks ${option}`, details)).out;
      expect(shown).toMatch(/^\{\n {4}"AdditionalParams":\{\n\n {4}\},\n {4}"ID":"B5083512-/);
      const { Name: name, Added: added } = JSON.parse(shown) as Record<string, unknown>;
      expect(name).toBe("nat");
      expect(added).toContain("ActivityId");
    },
  );

  it.each([
    ["list netwroks", "there is no kind netwroks; did you mean networks?"],
    ["list", "a kind is missing"],
    ["lst networks", "there is no command lst; did you mean list?"],
    ["list networks -x", "there is no option -x"],
    ["delete all", "there is no kind all"],
    ["delete networks", "the IDs of networks are missing"],
  ])("%s: exit 1, with the usage", async (line, message) => {
    const { code, out, err } = await run(line);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(message);
    expect(err).toContain("hnsdiag list networks|endpoints|namespaces|loadbalancers|all");
  });

  it.each(["-?", "/?", "--help"])("%s: the usage", async (option) => {
    expect(await run(option)).toMatchObject({
      code: 0,
      out: expect.stringContaining("hnsdiag delete") as unknown,
    });
  });

  it("says where it looked when nobody answers", async () => {
    const terminal = new MemoryTerminal();
    expect(await runHnsdiag(["list", "all", "--mullion-socket", "/nowhere.sock"], terminal)).toBe(1);
    expect(terminal.errors).toMatch(
      /hnsdiag: No HNS answers at unix:\/nowhere\.sock: .*\n.*mullion hns serve/,
    );
  });
});

describe("hnsdiag delete", () => {
  it("takes objects away by id, and tells what HNS answers when there is none", async () => {
    const line =
      "delete loadbalancers 326f84d7-35ec-4355-a60a-e82e2b05ec01 00000000-0000-0000-0000-000000000009";
    const { code, err } = await run(line);
    expect(code).toBe(1);
    expect(err).toContain("loadbalancer 00000000-0000-0000-0000-000000000009: ");
    expect(err).not.toContain("326f84d7");
  });
});
