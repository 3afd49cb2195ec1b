// The databases of OVN in the forms of ovn-nbctl and ovn-sbctl, of a cluster and of saved files (forms: test/live/ovn/show).
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "../program.ts";
import { list, listFlows, show } from "./show.ts";
import { trace } from "./trace.ts";

const CLUSTER = readFileSync("examples/ovn-transparent/cluster.yaml", "utf8");
const OBJECTS = readFileSync("examples/ovn-transparent/objects.yaml", "utf8");
const SAVED = readFileSync("test/support/dataplane/southbound-services.ndjson", "utf8");
const WITHOUT_OVN = CLUSTER.replace(/ {2}plugin: .*\n.*\n/, "  plugin: flannel\n");
const FILES = {
  "cluster.yaml": CLUSTER,
  "flannel.yaml": WITHOUT_OVN,
  "objects.yaml": OBJECTS,
  "sb.json": SAVED,
};

async function run(
  file: string,
  ...argv: readonly string[]
): Promise<{ readonly code: number; readonly out: string; readonly err: string }> {
  const terminal = new MemoryTerminal(FILES);
  const code = await runMullion({
    argv: ["ovn", ...argv, "-f", file],
    verbs: { ovn: { show, list, listFlows, trace } },
    terminal,
    version: "0",
    isDebug: false,
  });
  return { code, out: terminal.output, err: terminal.errors };
}

function withoutUuids(text: string): string {
  return text.replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "UUID");
}

describe("a cluster with ovn-kubernetes", () => {
  it("has the switch of a node, with its router and pods, as ovn-nbctl show prints it", async () => {
    const { code, out } = await run("cluster.yaml", "nb", "show", "win-1");
    expect(code).toBe(0);
    expect(withoutUuids(out)).toBe(`switch UUID (win-1)
    port default_client
        addresses: ["0a:58:0a:80:00:03 10.128.0.3"]
    port default_web
        addresses: ["0a:58:0a:80:00:04 10.128.0.4"]
    port k8s-win-1
        addresses: ["0a:58:0a:80:00:02 10.128.0.2"]
    port stor-win-1
        type: router
        router-port: rtos-win-1
`);
    expect(withoutUuids((await run("cluster.yaml", "nb", "show", "GR_win-2")).out)).toContain(`
    nat UUID
        external ip: "10.0.0.12"
        logical ip: "10.128.0.0/16"
        type: "snat"
`);
  });

  it("has chassis with the ports that they have claimed", async () => {
    expect((await run("cluster.yaml", "sb", "show", "win-2")).out).toBe(`Chassis win-2
    hostname: win-2
    Encap geneve
        ip: "10.0.0.12"
        options: {csum="true"}
    Port_Binding cr-rtos-win-2
    Port_Binding default_api
    Port_Binding etor-GR_win-2
    Port_Binding jtor-GR_win-2
    Port_Binding k8s-win-2
    Port_Binding rtoe-GR_win-2
    Port_Binding rtoj-GR_win-2
`);
  });

  it("lists rows with all columns, as text and as data", async () => {
    const text = await run("cluster.yaml", "nb", "list", "Logical_Switch_Port", "default_api");
    expect(text.out).toContain('addresses           : ["0a:58:0a:80:01:03 10.128.1.3"]\n');
    expect(text.out).toContain('external_ids        : {namespace=default, pod="true"}\n');
    expect(text.out).toContain("dhcpv4_options      : []\n");
    const data = await run("cluster.yaml", "sb", "list", "port_binding", "default_api", "-o", "json");
    expect(JSON.parse(data.out)).toMatchObject({
      kind: "OvnDatabase",
      name: "OVN_Southbound",
      tables: {
        Port_Binding: [
          { logical_port: "default_api", up: true, options: { "iface-id-ver": "default/api" }, tag: null },
        ],
      },
    });
  });

  it("prints flows that ovn trace takes", async () => {
    const flows = await run("cluster.yaml", "sb", "lflow-list");
    expect(flows.out).toMatch(
      /^Datapath: "win-1" \([0-9a-f-]{36}\) {2}Pipeline: ingress\n {2}table=0 \(ls_in_check_port_sec\), priority=100 {2}, match=\(eth\.src\[40\]\), action=\(drop;\)$/m,
    );
    const terminal = new MemoryTerminal({ "flows.txt": flows.out });
    const microflow =
      'inport == "default_client" && eth.src == 0a:58:0a:80:00:03 && eth.dst == 0a:58:0a:80:00:04 && ip4.src == 10.128.0.3 && ip4.dst == 10.128.0.4 && tcp.dst == 80';
    const argv = ["ovn", "trace", "-f", "flows.txt", microflow];
    const code = await runMullion({
      argv,
      verbs: { ovn: { trace } },
      terminal,
      version: "0",
      isDebug: false,
    });
    expect([code, terminal.output]).toEqual([0, expect.stringContaining("arrives at default_web")]);
  });
});

describe("a packet through the flows of a cluster", () => {
  const FROM_CLIENT =
    'inport == "default_client" && eth.src == 0a:58:0a:80:00:03 && eth.dst == 0a:58:0a:80:00:01 && ip4.src == 10.128.0.3';

  it("reaches a back end of a Service, and names the Service and the pod behind the flows", async () => {
    const { code, out, err } = await run(
      "cluster.yaml",
      "trace",
      `${FROM_CLIENT} && ip4.dst == 10.96.0.20 && tcp.dst == 80`,
    );
    expect([code, err]).toEqual([0, ""]);
    expect(out).toContain('\ningress(dp="win-1", inport="default_client")\n');
    expect(out).toContain("\n    # Load_Balancer Service_default/web_TCP_cluster, Service default/web\n");
    expect(out).toMatch(
      /\narrives at default_(web|api): TCP 10\.128\.0\.3:0 → 10\.128\.[01]\.[34]:8080 SYN\n$/,
    );
  });

  it("ends with 1 where port security drops it: the address is that of another pod", async () => {
    const forged = FROM_CLIENT.replace(
      "ip4.src == 10.128.0.3",
      "ip4.src == 10.128.0.4 && ip4.dst == 10.128.1.3",
    );
    const { code, out } = await run("cluster.yaml", "trace", `${forged} && tcp.dst == 80`);
    expect([code, out]).toEqual([1, expect.stringMatching(/\ndropped: ls_in_apply_port_sec, /)]);
  });

  it("of a cluster without OVN is refused", async () => {
    const { code, err } = await run("flannel.yaml", "trace", FROM_CLIENT);
    expect([code, err]).toEqual([2, expect.stringContaining("no OVN runs in this cluster")]);
  });
});

describe("a saved database", () => {
  it("is shown without a cluster", async () => {
    const { code, out } = await run("sb.json", "sb", "lflow-list");
    expect([code, out]).toEqual([0, expect.stringContaining("Pipeline: egress\n")]);
  });

  it.each([
    ["of the other kind", ["sb.json", "nb", "show"], "ovn-database-unreadable"],
    ["and an unknown table", ["sb.json", "sb", "list", "Pod"], "unknown-object"],
    ["and an unknown row", ["sb.json", "sb", "list", "Port_Binding", "nobody"], "unknown-object"],
    ["and an unknown datapath", ["sb.json", "sb", "lflow-list", "nobody"], "unknown-object"],
    ["and an unknown chassis", ["sb.json", "sb", "show", "nobody"], "unknown-object"],
  ] as const)("%s is refused by name", async (_title, [file, ...argv], code) => {
    const terminal = await run(file, ...argv);
    expect([terminal.code, terminal.err]).toEqual([2, expect.stringContaining(code)]);
  });
});
