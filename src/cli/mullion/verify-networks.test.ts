// Networks whose rules were right and whose answer was not: addresses that two virtual networks hold, NAT on Server 2019.
import { describe, expect, it } from "vitest";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

async function ask(
  text: string,
  manifest = "",
): Promise<{ readonly code: number; readonly report: VerifyReport }> {
  const terminal = new MemoryTerminal({ "cluster.yaml": text, "manifest.yaml": manifest });
  const also = manifest === "" ? [] : ["-f", "manifest.yaml"];
  const argv = ["verify", "-f", "cluster.yaml", ...also, "-o", "json"];
  const code = await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false });
  return { code, report: JSON.parse(terminal.output) as VerifyReport };
}

/** What came of a flow, by sender: `ws2022 works`. */
function outcomes({ cells }: VerifyReport, flow: string, from: RegExp): readonly string[] {
  return [
    ...new Set(
      cells
        .filter((cell) => cell.flow === flow && from.test(cell.from) && cell.verdict !== "not-tried")
        .map(({ expected, verdict, code = "" }) => `${expected} ${verdict} ${code}`.trim()),
    ),
  ];
}

describe("two overlay networks with the same addresses", () => {
  // windows-networking-documentation.md §2: addresses may be used again in an overlay of another VNID.
  const twins = (enableDSR: boolean): string => `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: twins}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: linux-1, os: linux, address: 10.0.0.21, podCIDR: 10.244.3.0/24}
network: {driver: Overlay, name: vxlan0, vni: 4096}
networks: [{name: blue, vni: 4097, vxlanPort: 9898}]
kubeProxy: {enableDSR: ${enableDSR}}
pods:
  - {name: web, node: win-1, address: 10.244.1.10}
  - {name: blue-web, node: win-1, network: blue, address: 10.244.1.10}
  - {name: blue-client, node: win-1, network: blue, address: 10.244.1.11}
`;

  it.each([false, true])("pods of both resolve names, DSR %s", async (enableDSR) => {
    const { code, report } = await ask(twins(enableDSR));
    expect(report.findings).toEqual([]);
    expect(code).toBe(0);
    expect(outcomes(report, "pod-to-external-name", /blue-/)).toEqual(["works as-expected"]);
    expect(outcomes(report, "pod-to-external-name", /default\/web/)).toEqual(["works as-expected"]);
  });
});

describe("names", () => {
  // windows-networking-documentation.md §6: `kubernetes.default` and `kubernetes.default.svc` do not resolve in a Windows pod.
  it("over both transports, and with a part of the full name", async () => {
    const { code, report } = await ask(`
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: names}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11}
  - {name: linux-1, os: linux, address: 10.0.0.21}
pods:
  - {name: web, node: win-1}
`);
    expect(code).toBe(0);
    const asked = report.cells.filter(({ flow }) => flow === "pod-to-cluster-dns");
    const own = asked.filter(({ from }) => from === "pod/default/web");
    expect(own.map(({ protocol, to, verdict }) => [protocol, to, verdict])).toEqual([
      ["udp", "service/kube-system/kube-dns", "as-expected"],
      ["tcp", "service/kube-system/kube-dns", "as-expected"],
    ]);
  });
});

describe("NAT networks by build", () => {
  const nat = (build: string): string => `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: nat}
nodes:
  - {name: win-1, os: windows, build: ${build}, address: 10.0.0.11, podCIDR: 172.20.1.0/24}
  - {name: win-2, os: windows, build: ${build}, address: 10.0.0.12, podCIDR: 172.20.2.0/24}
network: {driver: NAT, name: nat, clusterCIDR: 172.20.0.0/16}
pods:
  - {name: web, node: win-1, ports: [{port: 80, hostPort: 8080}]}
  - {name: api, node: win-2}
`;

  // microsoft/Windows-Containers#617: on Server 2019 containers of a NAT network may open no connections by default.
  it.each([
    { build: "ws2019", outside: "denied as-expected hns-nat-denies-outbound" },
    { build: "ws2022", outside: "works as-expected" },
    { build: "ws2025", outside: "works as-expected" },
  ])("$build: defect and expectation agree", async ({ build, outside }) => {
    const { code, report } = await ask(nat(build));
    expect(report.findings).toEqual([]);
    expect(code).toBe(0);
    expect(outcomes(report, "pod-to-external-ip", /^pod/)).toEqual([outside]);
    expect(outcomes(report, "outside-to-host-port", /^external/)).toEqual(["works as-expected"]);
  });

  it("a NAT network beside another one on Server 2019", async () => {
    const beside = nat("ws2019")
      .replace(
        "network: {driver: NAT, name: nat,",
        "network: {name: main}\nnetworks: [{driver: NAT, name: nat,",
      )
      .replace("172.20.0.0/16}", "172.20.0.0/16}]")
      .replaceAll(/, podCIDR: [^}]*/g, "")
      .replaceAll(/node: win-(\d)/g, "node: win-$1, network: nat");
    const { code, report } = await ask(beside);
    expect(report.findings).toEqual([]);
    expect(code).toBe(0);
    expect(outcomes(report, "pod-to-external-ip", /default\/api/)).toContain(
      "denied as-expected hns-nat-denies-outbound",
    );
  });
});

describe("a pod that is its own back end, with DSR", () => {
  // cni.md §2.2, dataplane.md §2.4 B-5: loopbackDSR gives the pod a policy for its own address.
  const hairpin = (loopbackDSR: boolean): string => `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: hairpin}
nodes:
  - {name: win-1, os: windows, build: ws2025, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
network:
  plugin: win-bridge
  cni:
    conflist:
      cniVersion: "1.0.0"
      name: cbr0
      plugins:
        - type: win-bridge
          apiVersion: 2
          loopbackDSR: ${loopbackDSR}
          capabilities: {portMappings: true, dns: true}
          ipam: {type: host-local, subnet: 10.244.1.0/24, rangeStart: 10.244.1.3}
          policies:
            - {name: EndpointPolicy, value: {Type: OutBoundNAT, Settings: {Exceptions: [10.244.0.0/16, 10.96.0.0/12, 10.0.0.0/24]}}}
kubeProxy: {enableDSR: true}
pods:
  - {name: web, node: win-1, labels: {app: web}, ports: [{port: 80}]}
`;
  const service = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{port: 80}]}
`;

  it.each([
    { loopbackDSR: true, outcome: "works as-expected" },
    { loopbackDSR: false, outcome: "denied as-expected hairpin-under-dsr" },
  ])("loopbackDSR $loopbackDSR: $outcome", async ({ loopbackDSR, outcome }) => {
    const { report } = await ask(hairpin(loopbackDSR), service);
    expect(report.findings).toEqual([]);
    expect(outcomes(report, "pod-to-own-service", /web/)).toContain(outcome);
  });
});
