// Counters as the tool of that name shows them (dataplane.md §7.12).
import { describe, expect, it } from "vitest";
import type { ControlClient } from "#cluster/api/client.ts";
import type { PacketCounterList } from "#cluster/api/documents.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runPktmon } from "./program.ts";

const COUNTERS: PacketCounterList = {
  apiVersion: "mullion/v1alpha1",
  kind: "PacketCounterList",
  items: [
    {
      node: "win-1",
      components: [
        {
          id: 1,
          group: "vSwitch Ethernet",
          name: "VFP Extension, Container NIC 1234abcd (web)",
          type: "Filter",
          driver: "vfpext.sys",
          inbound: { packets: 5, bytes: 0 },
          outbound: { packets: 7, bytes: 0 },
          drops: [
            {
              direction: "outbound",
              reason: "FailedSecurityPolicy",
              location: "0xE0006096",
              code: "acl-rule-blocked",
              packets: 2,
            },
          ],
        },
        { id: 2, group: "vSwitch Ethernet", name: "quiet", type: "NIC", driver: "vmswitch.sys", drops: [] },
        {
          id: 3,
          group: "TCP/IP compartment 1",
          name: "host",
          type: "Protocol",
          driver: "tcpip.sys",
          drops: [
            {
              direction: "inbound",
              reason: "Not locally destined",
              location: "0xE0004136",
              code: "destination-not-local",
              packets: 3,
            },
          ],
        },
      ],
    },
  ],
};

async function run(line: string, counters = COUNTERS): Promise<{ code: number; out: string; err: string }> {
  const terminal = new MemoryTerminal();
  const client = { packetCounters: async () => Promise.resolve(counters) } as unknown as ControlClient;
  const words = line.split(" ").filter((word) => word !== "");
  const code = await runPktmon(words, terminal, async () => Promise.resolve(client));
  return { code, out: terminal.output, err: terminal.errors };
}

function squeezed(text: string): readonly string[] {
  return text
    .split("\n")
    .map((line) => line.replaceAll(/\s+/g, " ").trim())
    .filter((line) => line !== "");
}

describe("pktmon counters", () => {
  it("a table per group, without what counted nothing", async () => {
    expect(squeezed((await run("counters")).out)).toEqual([
      "vSwitch Ethernet",
      "Id Name Count Packets Bytes | Packets Bytes",
      "1 VFP Extension, Container NIC 1234abcd (web) Flow 5 0 | 7 0",
      "1 VFP Extension, Container NIC 1234abcd (web) Drop 0 | 2",
      "TCP/IP compartment 1",
      "Id Name Count Packets Bytes | Packets Bytes",
      "3 host Drop 3 | 0",
    ]);
  });

  it("--type drop --drop-reason: why, and where", async () => {
    const { out } = await run("counters --type drop --drop-reason");
    expect(out).toContain(
      "outbound 2: DropReason FailedSecurityPolicy , DropLocation 0xE0006096 (mullion explain acl-rule-blocked)",
    );
    expect(out).toContain("inbound 3: DropReason Not locally destined , DropLocation 0xE0004136");
    expect(out).not.toContain("Flow");
  });

  it("--zero: everybody", async () => {
    expect((await run("counters --zero")).out).toContain("quiet");
  });

  it("--json: groups with components, as scripts read them", async () => {
    const groups = JSON.parse((await run("counters --json -r")).out) as readonly {
      Group: string;
      Components: readonly { Id: number; Counters: readonly { Inbound: { Packets: number } }[] }[];
    }[];
    const inbound = groups
      .flatMap(({ Components }) => Components)
      .filter(({ Id }) => Id === 1)
      .flatMap(({ Counters }) => Counters.map(({ Inbound }) => Inbound.Packets));
    expect(inbound).toEqual([5, 0]);
    expect(JSON.stringify(groups)).toContain('"DropLocation":"0xE0006096"');
  });

  it("nothing counted", async () => {
    expect((await run("counters", { ...COUNTERS, items: [] })).out).toBe("All counters are zero.\n");
  });

  it.each([
    ["start --capture", "pktmon start is not served: write packets with mullion trace --pcap FILE"],
    ["list", "there is no command list"],
    ["counters --type some", "--type is all, flow, drop, not some"],
    ["counters --live", "--live needs packets that continue"],
    ["counters --colour", "there is no option --colour"],
    ["counters --type", "--type needs a value"],
  ])("%s: exit 1, with the usage", async (line, message) => {
    const { code, out, err } = await run(line);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(message);
    expect(err).toContain("pktmon counters [--type");
  });
});
