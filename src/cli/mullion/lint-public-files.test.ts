// `mullion lint` over the shapes of files that projects publish: no warning where they are healthy.
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";

async function run(files: Readonly<Record<string, string>>, ...words: readonly string[]) {
  const terminal = new MemoryTerminal(files, 200);
  const argv = ["lint", ...Object.keys(files), ...words];
  const code = await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output };
}

const AZURE = JSON.stringify({
  cniVersion: "0.3.0",
  name: "azure",
  plugins: [
    {
      type: "azure-vnet",
      mode: "bridge",
      bridge: "azure0",
      capabilities: { portMappings: true, dns: true },
      ipam: { type: "azure-cns" },
      dns: { Nameservers: ["10.0.0.10", "168.63.129.16"], Search: ["svc.cluster.local"] },
      AdditionalArgs: [
        {
          Name: "EndpointPolicy",
          Value: { Type: "OutBoundNAT", ExceptionList: ["10.224.0.0/12", "10.224.1.0/12"] },
        },
      ],
    },
  ],
});

describe("a healthy file draws no warning", () => {
  it("AKS' file for azure-vnet, whose prefixes have host bits: a note", async () => {
    const { code, out } = await run({ "10-azure.conflist": AZURE });
    expect(out).toContain("info: hns-prefix-host-bits");
    expect(out).toContain("was seen to refuse");
    expect(code).toBe(0);
  });

  it("the example of the nat plugin, whose gateway is the one that is taken", async () => {
    const text = JSON.stringify({
      cniVersion: "0.2.0",
      name: "natNetwork",
      type: "nat",
      master: "Ethernet",
      ipam: { subnet: "192.168.100.0/24", routes: [{ gateway: "192.168.100.1" }] },
    });
    expect((await run({ "nat.conf": text })).out).toContain("nothing found");
    const other = await run({ "nat.conf": text.replace("100.1", "100.254") });
    expect(other.out).toContain("they take 192.168.100.1");
  });

  it("one plugin of a list in a file of its own, which is not for Windows: a note", async () => {
    const text = '{ "cniVersion": "0.3.0", "type": "tuning", "sysctl": { "net.core.somaxconn": "500" } }';
    expect((await run({ "tuning.conf": text })).out).toContain("info: cni-name-invalid");
    const windows = '{ "cniVersion": "0.3.0", "type": "win-bridge", "apiVersion": 2 }';
    expect((await run({ "win.conf": windows })).out).toContain("error: cni-name-invalid");
  });

  it("a back end in capitals, which flanneld makes small", async () => {
    const text = '{ "Network": "10.244.0.0/16", "Backend": { "Type": "VXLAN", "VNI": 4096, "Port": 4789 } }';
    expect((await run({ "net-conf.json": text })).out).toContain("nothing found");
  });

  it("a net-conf of a cluster of Linux nodes with a back end of Linux", async () => {
    const text = '{ "Network": "10.244.0.0/16", "Backend": { "Type": "wireguard" } }';
    expect((await run({ "net-conf.json": text })).out).toContain("nothing found");
  });
});

describe("a back end of flannel that is wrong is found without a Windows node", () => {
  it.each([
    ["host_gw", "error: flannel-backend-not-for-windows", 'Write "host-gw".'],
    ["hostgw", "error: flannel-backend-not-for-windows", 'Write "host-gw".'],
    ["udp", "warning: flannel-backend-not-for-windows", "Write vxlan or host-gw."],
  ])("%s", async (type, finding, fix) => {
    const { code, out } = await run({
      "net-conf.json": JSON.stringify({ Network: "10.244.0.0/16", Backend: { Type: type } }),
    });
    expect(out).toContain(finding);
    expect(out).toContain(fix);
    expect(code).toBe(1);
  });
});

const POD = (name: string, port: number): string => `apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  nodeName: win-1
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: web, image: "registry.example/web:1", ports: [{ containerPort: 80, hostPort: ${port} }] }]
`;

describe("host ports", () => {
  it("that two pods of one node ask for are named, as a second ADD would name them", async () => {
    const { code, out } = await run({ "a.yaml": POD("a", 8080), "b.yaml": POD("b", 8080) });
    expect(out).toContain("b.yaml:7:");
    expect(out).toContain("hostPort 8080 (TCP) of node win-1 belongs to Pod a already");
    expect(code).toBe(1);
    expect((await run({ "a.yaml": POD("a", 8080), "b.yaml": POD("b", 8081) })).out).not.toContain(
      "host-port-conflict",
    );
  });
});

describe("what is printed", () => {
  it("the worst first, a paragraph each; with --long the page and what has the same cause", async () => {
    const files = {
      "10-azure.conflist": AZURE,
      "net-conf.json": '{"Network": "10.244.0.0/16", "Backend": {"Type": "host_gw"}}',
    };
    const { out } = await run(files);
    expect(out.indexOf("error: flannel")).toBeGreaterThanOrEqual(0);
    expect(out.indexOf("error: flannel")).toBeLessThan(out.indexOf("info: hns"));
    expect(out).not.toContain("data/catalogue/");
    expect((await run(files, "--long")).out).toContain("data/catalogue/hns-requests/hns-prefix-host-bits.md");
  });
});
