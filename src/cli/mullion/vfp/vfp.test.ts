// Ports, dumps, and how they differ, from one end of the command line to the other.
import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { vfpDifferencesSchema, vfpListingSchema } from "#diagnose/vfp-text/documents.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runVfpctrl } from "../../vfpctrl/program.ts";
import { runMullion } from "../program.ts";
import { diff, ports, show } from "./vfp.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: eyes }
underlay: { subnet: 10.0.0.0/24, router: 10.0.0.1 }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: win-2, os: windows, build: ws2022, address: 10.0.0.12, podCIDR: 10.244.2.0/24 }
network: { plugin: win-bridge, routes: static }
pods:
  - { name: a, node: win-1, address: 10.244.1.10, ports: [{ port: 8080 }] }
  - { name: c, node: win-2, address: 10.244.2.10 }
`;

async function run(
  line: string,
  files: Readonly<Record<string, string>> = {},
): Promise<MemoryTerminal & { code: number }> {
  const terminal = new MemoryTerminal({ "c.yaml": CLUSTER, ...files });
  const argv = ["vfp", ...line.split(" ")];
  const verbs = { vfp: { ports, show, diff } };
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  return Object.assign(terminal, { code });
}

/** What vfpctrl prints of a pod's port. */
async function dump(port: string, ...more: readonly string[]): Promise<string> {
  const terminal = new MemoryTerminal({ "c.yaml": CLUSTER });
  await runVfpctrl(["/list-rule", "/port", port, "--mullion-file", "c.yaml", ...more], terminal);
  return terminal.output;
}

describe("mullion vfp", () => {
  it("ports: a table of both nodes", async () => {
    const { code, output } = await run("ports -f c.yaml");
    expect(code).toBe(0);
    const rows = output.trimEnd().split("\n");
    expect(rows[0]).toMatch(/^NODE\s+PORT\s+TYPE\s+ADDRESSES\s+MAC\s+DROPS\s+GUID$/);
    expect(rows.filter((row) => row.startsWith("win-1"))).toHaveLength(4);
    expect(output).toMatch(/win-1\s+ExternalPort\s+External/);
    expect(output).toMatch(/win-2\s+Container NIC \w{8}\s+Synthetic\s+10\.244\.2\.10/);
  });

  it("show: what vfpctrl prints, read again", async () => {
    const [port, file] = [
      await run("show pod/a -f c.yaml"),
      await run("show a.txt", { "a.txt": await dump("pod/a") }),
    ];
    expect([port.code, file.code]).toEqual([0, 0]);
    expect(port.output).toContain("LAYER : SLB_NAT_LAYER");
    const bare = (text: string): string =>
      text.replaceAll(/^ +(?:Rule counters:|(?:Matched|Dropped|Pending) \w+ : \d+)\n/gm, "");
    expect(bare(port.output)).toBe(file.output);
  });

  const EXCERPT = [
    "LAYER : SLB_NAT_LAYER",
    "    Priority : 600",
    "  GROUP : SLB_GROUP_NAT_IPv4_OUT",
    "    Direction : OUT",
    "    RULE : ",
    "        Friendly name : SNAT_RULE",
    "        Type : dynnat",
    "        Conditions:",
    "            Protocols : 6",
    "    RULE : 1234",
    "        Priority : 100",
    "        Flow TTL: 240",
    "        Rule Data:",
    "            Transposi",
  ].join("\n");

  it("show: an excerpt gets no field that it does not carry, and is said to be cut", async () => {
    const { code, output, errors } = await run("show r.txt", { "r.txt": EXCERPT });
    const bare = (text: string): readonly string[] =>
      text
        .split("\n")
        .map((line) => line.trim())
        .filter((line) => line !== "");
    expect(bare(output)).toEqual(bare(EXCERPT));
    expect(errors).toContain('r.txt:14: the text ends in the middle of rule "1234", which begins in line 10');
    expect(code).toBe(1);
    const json = JSON.parse((await run("show r.txt -o json", { "r.txt": EXCERPT })).output) as {
      readonly layers: readonly { readonly groups: readonly { readonly rules: readonly object[] }[] }[];
    };
    expect(json.layers[0]?.groups[0]?.rules[0]).toMatchObject({
      absent: ["Priority", "Flags", "Flow TTL", "FlagsEx"],
    });
  });

  it("show: JSON without a field gets none", async () => {
    const rules = { Rules: [{ Name: "A", Type: "allow", Priority: 7 }] };
    const { output } = await run("show r.json", { "r.json": JSON.stringify(rules) });
    expect(output).not.toMatch(/Flags|Flow TTL|Conditions|GROUP|LAYER/);
    expect(output).toContain("Priority : 7");
  });

  it("diff: a field that one text does not carry is no difference", async () => {
    const whole = EXCERPT.replace("        Type : dynnat", "        Priority : 200\n        Type : dynnat");
    const { output } = await run("diff r.txt s.txt", { "r.txt": EXCERPT, "s.txt": whole });
    expect(output).toBe("");
  });

  it("show: bad lines by number, and JSON with them", async () => {
    const text = (await dump("pod/a")).replace("Priority : 65500", "Priority : often");
    const line = text.split("\r\n").findIndex((each) => each.includes("often")) + 1;
    const { code, errors, output } = await run("show a.txt -o json", { "a.txt": text });
    expect(code).toBe(1);
    expect(errors).toContain(`a.txt:${line}: Priority must be a whole number up to 65535, not "often"\n`);
    expect(JSON.parse(output)).toMatchObject({ kind: "VfpListing", problems: [{ line }] });
  });

  it.each([
    ["show pod/a -f c.yaml", vfpListingSchema()],
    ["show a.txt", vfpListingSchema()],
    ["diff pod/a pod/c -f c.yaml", vfpDifferencesSchema()],
    ["diff a.txt win-2:pod/c -f c.yaml", vfpDifferencesSchema()],
  ])("%s -o json: as its schema says", async (line, schema) => {
    const { output } = await run(`${line} -o json`, { "a.txt": await dump("pod/a") });
    const validate = new Ajv2020({ strict: true }).compile(schema);
    const { layers, differences } = JSON.parse(output) as Record<string, readonly unknown[] | undefined>;
    expect([validate(JSON.parse(output)), validate.errors]).toEqual([true, null]);
    expect((layers ?? differences ?? []).length).toBeGreaterThan(0);
  });

  it("show: a file that is not there, and no cluster", async () => {
    const { code, errors } = await run("show rules.txt --name there-is-no-such-cluster");
    expect(code).toBe(2);
    expect(errors).toContain('there is no file "rules.txt", and no cluster runs that could have such a port');
    const pod = await run("show pod/default/a --name there-is-no-such-cluster");
    expect(pod.errors).toContain("[cluster-not-running]");
  });

  it("diff: two pods of two nodes have the same rules", async () => {
    const { code, output, errors } = await run("diff pod/a pod/c -f c.yaml");
    expect(output.split("\n").filter((line) => !line.includes("L2_REWRITE") && line !== "")).toEqual([]);
    expect(code).toBe(output === "" ? 0 : 1);
    expect(errors).not.toBe("");
  });

  it("diff: a node's dump, as text or JSON, against the port that it is of", async () => {
    const files = { "a.txt": await dump("pod/a"), "a.json": await dump("pod/a", "/format", "1") };
    for (const file of ["a.txt", "a.json"]) {
      const { code, output } = await run(`diff ${file} win-1:pod/a -f c.yaml`, files);
      expect({ file, code, output }).toEqual({ file, code: 0, output: "" });
    }
  });

  it("diff: says in words what a node lost", async () => {
    const good = await dump("pod/a");
    const bad = good
      .replace("Priority : 65500", "Priority : 100")
      .replace(/ {4}RULE : SNAT_UDP.*?FlagsEx : 0 \r\n\r\n/s, "");
    const { code, output, errors } = await run("diff good.txt bad.txt", { "good.txt": good, "bad.txt": bad });
    expect(code).toBe(1);
    expect(output.split("\n")).toEqual([
      expect.stringMatching(
        /^rule Allow (?:In|Out) in ACL_ENDPOINT_LAYER, ACL_ENDPOINT_GROUP_IPV4_\w+: Priority is 65500 on good\.txt and 100 on bad\.txt$/,
      ) as unknown,
      expect.stringMatching(
        /^rule SNAT_UDP_\S+ in SLB_NAT_LAYER, SLB_GROUP_NAT_IPv4_OUT is only on good\.txt$/,
      ) as unknown,
      "",
    ]);
    expect(errors).toBe("2 differences.\n");
  });

  it.each([
    ["show nothing.txt -f c.yaml", 'no switch port is called "nothing.txt"'],
    ["show empty.txt", "empty.txt has no layer, group or rule of vfpctrl"],
    ["show error.txt", 'error.txt:1: vfpctrl said "ERROR: no such port" instead of a list'],
    ["show two.txt", "two.txt is about 2 ports"],
    ["show two.txt#00000000-0000-4000-8000-00000000000f", "has no layer, group or rule of vfpctrl for port"],
  ])("%s", async (line, message) => {
    const one = "RULE : x\nType : allow\nFlow TTL: 0\nFlagsEx : 0\n";
    const [a, b] = ["00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"];
    const { code, errors } = await run(line, {
      "empty.txt": "",
      "error.txt": "ERROR: no such port",
      "two.txt": `Policy for port : ${a}\n${one}\nPolicy for port : ${b}\n${one}`,
    });
    expect(code).toBe(2);
    expect(errors).toContain(message);
  });
});
