// The tool of that name: its words, its errors, and its texts of a whole port (dataplane.md §7.1, §7.5, §7.10).
import { beforeAll, describe, expect, it } from "vitest";
import type { ControlClient } from "#cluster/api/client.ts";
import { openInspectionClient } from "#test/support/cluster/inspection-client.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runVfpctrl } from "./program.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: eyes }
underlay: { subnet: 10.0.0.0/24, router: 10.0.0.1 }
outside:
  - { name: client, address: 198.51.100.7, ports: [{ port: 443 }] }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
  - { name: lin-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24 }
network: { plugin: win-bridge, routes: static }
pods:
  - { name: a, node: win-1, address: 10.244.1.10, ports: [{ port: 8080 }] }
  - { name: b, node: win-1, address: 10.244.1.11 }
`;

let client: ControlClient;
beforeAll(async () => {
  client = await openInspectionClient(CLUSTER);
});

async function run(...words: readonly string[]): Promise<{ code: number; out: string; err: string }> {
  const terminal = new MemoryTerminal();
  const code = await runVfpctrl(words, terminal, async () => Promise.resolve(client));
  return { code, out: terminal.output, err: terminal.errors };
}

describe("a port", () => {
  it.each(["pod/default/a", "pod/a", "10.244.1.10"])("%s names it", async (name) => {
    const { out } = await run("/port", name, "/list-layer");
    expect(out.split("\r\n").slice(0, 9)).toEqual([
      "",
      " ITEM LIST",
      "===========",
      "",
      "LAYER : LB_DSR",
      "    Friendly name : LB_DSR",
      "    Flags : 0x1 Default Allow ",
      "    Priority : 7",
      "",
    ]);
    expect(out.endsWith("\r\nCommand list-layer succeeded!\r\n")).toBe(true);
  });

  it("/port:GUID, in any case, before or behind the command", async () => {
    const { items } = await client.vfpPorts("win-1");
    const guid = items.find(({ addresses }) => addresses.includes("10.244.1.10"))?.name ?? "";
    expect((await run(`/port:${guid.toLowerCase()}`, "/LIST-LAYER")).out).toBe(
      (await run("/list-layer", "/port", guid)).out,
    );
  });

  it("/get-address-info: zeros where nothing was set", async () => {
    expect((await run("/get-address-info", "/port", "pod/a")).out.split("\r\n").slice(0, 6)).toEqual([
      "",
      "ADDRESS INFO",
      "  Provider IP : 0.0.0.0",
      "  Provider IPv6 : ::",
      "  Customer IPv4 : 0.0.0.0",
      "  Customer IPv6 : ::",
    ]);
  });

  it("/get-port-parser-settings: what was seen on all ports", async () => {
    const { out } = await run("/get-port-parser-settings", "/port", "pod/a");
    expect(out).toContain(
      "  PORT PARSER SETTINGS\r\n    ParseVxlan - True\r\n    ParseEncryptedVxlan - False\r\n",
    );
  });

  it("/list-nat-range: none before the first connection that needs one", async () => {
    const { out } = await run("/list-nat-range", "/port", "pod/a");
    expect(out).toBe("\r\n ITEM LIST\r\n===========\r\n\r\nCommand list-nat-range succeeded!\r\n");
  });

  it("/list-nat-pool: those of OutBoundNAT, one for each protocol", async () => {
    const { out } = await run("/list-nat-pool", "/port", "pod/a");
    const pools = [...out.matchAll(/NAT POOL : SLB_NATPOOL_IPV4_(TCP|UDP)_\S+0\r\n/g)].map(
      ([, name]) => name,
    );
    expect(pools).toEqual(["TCP", "UDP"]);
    expect(out).toContain("Command list-nat-pool succeeded!");
  });

  it("/get-switch-forwarding-settings is about switches, and needs no port", async () => {
    const { out } = await run("/get-switch-forwarding-settings");
    expect(out).toContain("    Inner MAC forwarding : FALSE\r\n");
    expect(out).toContain("    Forward all traffic to external network : FALSE\r\n");
    expect(out).toContain("Command get-switch-forwarding-settings succeeded!");
  });

  it("/get-layer-counter of one layer", async () => {
    const { out } = await run("/get-layer-counter", "/port", "pod/a", "/layer", "LB_DSR");
    expect(out.match(/LAYER : /g)).toHaveLength(1);
    expect(out.match(/ count : \d+/g)).toHaveLength(24);
  });

  it("/get-rule-counter stands under each rule", async () => {
    const { out } = await run("/get-rule-counter", "/port", "pod/a", "/layer", "ACL_ENDPOINT_LAYER");
    expect(out.match(/Matched packets : \d+/g)?.length).toBe(out.match(/RULE : /g)?.length);
  });
});

// The classes and what is told of each are those of dataplane.md §7.7.
it("/get-port-flow-stats is zero in every class before the first connection", async () => {
  const { out } = await run("/get-port-flow-stats", "/port", "pod/b");
  const names = [...out.matchAll(/^ {2}(\S+) flows\r?$/gm)].map(([, name]) => name);
  expect(new Set(names)).toEqual(new Set(["entries", "half-open", "other", "tcp", "total", "udp"]));
  const counts = [...out.matchAll(/^ {6}(?:Count|Limit|Maximum|Created) : (\d+)\r?$/gm)].map(
    ([, count]) => count,
  );
  expect(counts).toEqual(Array.from({ length: 24 }, () => "0"));
});

it("/list-unified-flow shows what a running cluster remembers", async () => {
  const { out, code } = await run("/list-unified-flow", "/port", "pod/a");
  expect({ code, hasEnd: out.includes("Command list-unified-flow succeeded!") }).toEqual({
    code: 0,
    hasEnd: true,
  });
});

describe("what cannot be done is a line ERROR, and exit 1", () => {
  it.each([
    [["/list-rules", "/port", "x"], "there is no command /list-rules; did you mean /list-rule?"],
    [["/list-rule"], "the port is missing: /port PORT"],
    [["/list-rule", "/port"], "/port needs a value"],
    [["/list-rule", "/list-layer"], "/list-rule and /list-layer are two commands"],
    [["list-rule"], '"list-rule" is not an option'],
    [["/list-rule", "/port", "pod/a", "/format", "2"], '/format is 0 for text or 1 for JSON, not "2"'],
    [["/list-rule", "/port", "pod/a", "/layer", "NONE"], "there is no layer NONE"],
    [["/list-rule", "/port", "pod/a", "/layer", "LB_DSR", "/group", "NONE"], "there is no group NONE"],
    [["/list-rule", "/port", "pod/a", "/layer", "ACL_ENDPOINT_LAYER", "/rule", "x"], "there is no rule x"],
    [["/list-group", "/port", "pod/a"], "the layer is missing: /layer LAYER"],
    [["/list-rule", "/port", "pod/nobody"], 'no switch port is called "pod/nobody"'],
    [["/list-vmswitch-port", "--mullion-node", "lin-1"], 'node "lin-1" runs Linux, and has no VFP'],
    [["/list-vmswitch-port", "--mullion-node", "win-9"], 'the cluster has no node "win-9"'],
    [["/list-vmswitch-port", "--mullion-colour", "x"], "there is no option --mullion-colour"],
    [["/list-vmswitch-port", "--mullion-lb-dsr", "x"], '--mullion-lb-dsr is tag-first or tag-last, not "x"'],
  ])("%j", async (words, message) => {
    const { code, out } = await run(...words);
    expect({ code, out }).toEqual({ code: 1, out: `ERROR: ${message}\r\n` });
  });

  it("without words: the commands", async () => {
    const { code, out } = await run();
    expect(code).toBe(0);
    expect(out).toContain("/list-vmswitch-port");
  });
});
