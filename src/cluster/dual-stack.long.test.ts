// Clusters with two families on L2Bridge (windows-networking-documentation.md §7; dataplane.md §2.11, §2.16;
// kube-proxy.md §3.11): examples/dual-stack, built once and asked in copies.
import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { validateTrace, validateVerification } from "#test/support/cluster/report-schemas.ts";
import { NameLookup } from "#dataplane/host/resolver/name-lookup.ts";
import type { NameResult } from "#dataplane/host/resolver/name-result.ts";
import { formatIp } from "#core/net/ip.ts";
import { type Cluster, forkCluster } from "./cluster.ts";
import { parseClusterFile } from "./file/parse-cluster-file.ts";
import { readInput } from "./input/read-input.ts";
import { openSession } from "./session/open-session.ts";
import { formatTrace } from "./trace/format-trace.ts";
import { type TraceRequest, tracePacket } from "./trace/trace.ts";
import type { TraceReport } from "./trace/trace-report.ts";
import { formatJunit } from "#diagnose/verify-text/junit.ts";
import { formatVerification } from "#diagnose/verify-text/format-verify.ts";
import { readModel } from "./verify/model-of-cluster.ts";
import type { VerifyReport } from "./verify/report.ts";
import { verifyCluster } from "./verify/verify.ts";

function textOf(name: string): string {
  return readFileSync(new URL(`../../examples/dual-stack/${name}`, import.meta.url), "utf8");
}

async function openText(text: string, services = textOf("services.yaml")): Promise<Cluster> {
  const read = readInput([
    { name: "cluster.yaml", text: text.replace("manifests:\n  - services.yaml\n", "") },
    { name: "services.yaml", text: services },
  ]);
  if (!("input" in read)) throw new Error(JSON.stringify(read.problems));
  const { session } = await openSession(read.input);
  return session.cluster;
}

let cluster: Cluster;

beforeAll(async () => {
  cluster = await openText(textOf("cluster.yaml"));
});

function trace(from: string, to: string, more: Partial<TraceRequest> = {}): TraceReport {
  const request = { from, to, protocol: "tcp", port: undefined, family: "ipv6", ...more } as const;
  return tracePacket(cluster, request).report;
}

describe("Kubernetes objects", () => {
  it("pods tell both addresses, the first family first, and those of their node", () => {
    const status = cluster.objects.Pod.find(({ metadata }) => metadata.name === "web-2")?.status;
    expect(status).toMatchObject({
      podIP: "10.244.1.3",
      podIPs: [{ ip: "10.244.1.3" }, { ip: "fd00:10:244:1::3" }],
      hostIPs: [{ ip: "10.0.0.12" }, { ip: "fd00:10::c" }],
    });
  });

  it("nodes have two addresses and two pod ranges", () => {
    const node = cluster.objects.Node.find(({ metadata }) => metadata.name === "win-2");
    expect(node?.spec).toMatchObject({ podCIDRs: ["10.244.1.0/24", "fd00:10:244:1::/64"] });
    expect(node?.status?.addresses?.map(({ address }) => address)).toEqual([
      "10.0.0.12",
      "fd00:10::c",
      "win-2",
    ]);
  });

  it("a Service that requires two families has slices of both, one that says nothing of the first alone", () => {
    const slices = (name: string) =>
      cluster.objects.EndpointSlice.filter(
        ({ metadata }) => metadata.labels?.["kubernetes.io/service-name"] === name,
      ).map(({ addressType, endpoints }) => [addressType, endpoints?.flatMap(({ addresses }) => addresses)]);
    expect(slices("web")).toEqual([
      ["IPv4", ["10.244.0.4", "10.244.1.3"]],
      ["IPv6", ["fd00:10:244::4", "fd00:10:244:1::3"]],
    ]);
    expect(slices("kube-dns").map(([family]) => family)).toEqual(["IPv4"]);
  });
});

describe("traces by IPv6", () => {
  it.each([
    ["pod/client", "pod/web-1", "fd00:10:244::3"],
    ["pod/client", "pod/web-2", "fd00:10:244::3"],
    ["pod/tools", "pod/web-2", "fd00:10:244:2::2"],
    ["external", "pod/web-1", "2001:db8::cb00:710a"],
    ["pod/client", "external", "fd00:10:244::3"],
    ["pod/client", "service/web", "fd00:10:244::3"],
    ["pod/tools", "service/web", "fd00:10:244:2::2"],
  ])("%s → %s arrives with the sender's own address", (from, to, seen) => {
    const report = trace(from, to, to === "external" ? { port: 443 } : {});
    expect(report.verdict).toBe("answered");
    expect(report.answer).toContain(`[${seen}]`);
    expect(validateTrace(JSON.parse(JSON.stringify(report))), JSON.stringify(validateTrace.errors)).toBe(
      true,
    );
    expect(
      formatTrace(report)
        .split("\n")
        .filter((line) => line.length > 100),
    ).toEqual([]);
  });

  it("an address says its family by itself, and the sender is shown with that of the same family", () => {
    const report = trace("pod/client", "fd00:10:244:1::3", { family: undefined });
    expect(report).toMatchObject({
      verdict: "answered",
      from: { address: "fd00:10:244::3" },
      to: { reference: "pod/default/web-2" },
    });
  });

  it("a Service of one family has no address of the other", () => {
    expect(() => trace("pod/client", "service/kube-system/kube-dns")).toThrow("has no IPv6 address");
  });

  it("WALK-6-7 an echo to the Service's address is not answered", () => {
    expect(trace("pod/client", "service/web", { protocol: "icmp" })).toMatchObject({
      verdict: "not-delivered",
      code: "icmp-to-service-not-balanced",
    });
  });

  it("DT-127 a node does not reach the host port of its own IPv6 address, and others do", () => {
    expect(trace("external", "node/win-2", { port: 8088 }).verdict).toBe("answered");
    expect(trace("node/win-2", "node/win-2", { port: 8088 }).verdict).not.toBe("answered");
  });

  it("without routes in the fabric the outside's answer is lost, for nobody translates (walk 6-4)", async () => {
    const text = textOf("cluster.yaml").replace("enabled: true", "enabled: true\n  podRoutes: false");
    const unrouted = await openText(text);
    const request = {
      from: "pod/client",
      to: "external",
      protocol: "tcp",
      port: 443,
      family: "ipv6",
    } as const;
    const { report } = tracePacket(unrouted, request);
    expect(report).toMatchObject({ verdict: "no-answer", code: "no-route-back" });
  });
});

describe("names", () => {
  function resolve(from: string, name: string): NameResult | undefined {
    const copy = forkCluster(cluster);
    const pod = copy.pods.find(({ spec }) => spec.name === from);
    const results: NameResult[] = [];
    const owner = { resolved: (_lookup: NameLookup, result: NameResult) => results.push(result) };
    new NameLookup({ compartment: pod!.compartment, name, type: "AAAA", owner }).start();
    copy.clock.runUntil(copy.clock.nowMs + 20_000);
    return results[0];
  }

  it.each(["client", "tools"])("%s gets the IPv6 address of the Service as an AAAA record", (from) => {
    const web = cluster.objects.Service.find(({ metadata }) => metadata.name === "web");
    const result = resolve(from, "web.default.svc.cluster.local");
    expect(result?.outcome).not.toBe("failed");
    const addresses = result !== undefined && "addresses" in result ? result.addresses : [];
    expect(addresses.map(formatIp)).toEqual([web?.spec?.clusterIPs?.[1]]);
  });

  it("and that of a host outside", () => {
    const result = resolve("client", "www.example.com");
    const addresses = result !== undefined && "addresses" in result ? result.addresses : [];
    expect(addresses.map(formatIp)).toEqual(["2001:db8::cb00:710a"]);
  });
});

describe("verify", () => {
  let report: VerifyReport;

  beforeAll(() => {
    report = verifyCluster(cluster, readModel(cluster));
  });

  it("finds nothing, in valid JSON, in text of 100 columns and in JUnit, the same in a second run", async () => {
    expect(report.findings).toEqual([]);
    expect(
      validateVerification(JSON.parse(JSON.stringify(report))),
      JSON.stringify(validateVerification.errors),
    ).toBe(true);
    const text = formatVerification(report);
    expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
    const names = [...formatJunit(report).matchAll(/<testcase classname="([^"]*)" name="([^"]*)"/g)];
    expect(new Set(names.map(([all]) => all)).size).toBe(report.cells.length);
    const again = await openText(textOf("cluster.yaml"));
    expect(JSON.stringify(verifyCluster(again, readModel(again)))).toBe(JSON.stringify(report));
  });

  it("asks every flow without a name by both families", () => {
    const flows = (family: "ipv6" | undefined) =>
      new Set(report.cells.filter((cell) => cell.family === family).map(({ flow }) => flow));
    const asked = [...flows(undefined)].filter((flow) => !/name|cluster-dns|host-network/.test(flow));
    expect([...flows("ipv6")].toSorted()).toEqual(asked.toSorted());
  });

  it("pods of Windows reach the outside by ICMPv6, where ICMP is not translated (dataplane.md §2.9, §2.11)", () => {
    const pings = report.cells.filter(
      ({ flow, protocol, fromSystem }) =>
        flow === "pod-to-external-ip" && protocol === "icmp" && fromSystem !== "linux",
    );
    expect(pings.map(({ family, expected }) => [family, expected])).toEqual([
      [undefined, "denied"],
      ["ipv6", "works"],
    ]);
  });
});

describe("what builds and versions have wrong", () => {
  async function findings(
    change: (text: string) => string,
    services = textOf("services.yaml"),
  ): Promise<VerifyReport> {
    const changed = await openText(change(textOf("cluster.yaml")), services);
    return verifyCluster(changed, readModel(changed));
  }

  it("before Kubernetes 1.36 the second family's node port is missing where all back ends are the node's (kube-proxy.md §3.11)", async () => {
    const local = textOf("services.yaml").replace(
      "  type: NodePort",
      "  type: NodePort\n  externalTrafficPolicy: Local",
    );
    const report = await findings((text) => text.replace('"1.36"', '"1.34"'), local);
    expect(report.findings).toEqual([]);
    const missing = report.cells.filter(({ row }) => row === "NODEPORT-SECOND-FAMILY");
    expect(missing.map(({ family, code }) => [family, code])).toContainEqual([
      "ipv6",
      "dual-stack-node-port-missing",
    ]);
  });

  it.each([
    [
      "Server 2022, whose pods lose each other under DSR",
      (text: string) => text.replaceAll("ws2025", "ws2022"),
    ],
    ["without DSR", (text: string) => text.replace("enableDSR: true", "enableDSR: false")],
    ["pods in the nodes' subnet", inNodeSubnet],
  ])("%s: nothing unexpected", async (_what, change) => {
    expect((await findings(change)).findings).toEqual([]);
  });
});

/** Pod ranges are parts of the underlay's subnet: cfg-1 of the walks. */
function inNodeSubnet(text: string): string {
  return text
    .replace("  plugin: hns", "  plugin: hns\n  shape: node-subnet")
    .replace("address: 10.0.0.11", "address: 10.0.0.11\n    podCIDR: 10.0.0.64/27")
    .replace("address: 10.0.0.12", "address: 10.0.0.12\n    podCIDR: 10.0.0.96/27")
    .replace("address: 10.0.0.21", "address: 10.0.0.21\n    podCIDR: 10.0.0.128/27");
}

describe("cluster files that ask for what Windows has not", () => {
  it.each([
    ["L2Tunnel", "dual stack for l2bridge networks alone"],
    ["Transparent", "addresses that pods make themselves of what a router advertises"],
  ])("driver %s, with what the documentation says of it", (driver, reason) => {
    const text = inNodeSubnet(textOf("cluster.yaml")).replace(
      "plugin: hns",
      `plugin: hns\n  driver: ${driver}`,
    );
    const result = parseClusterFile(text, "cluster.yaml");
    const problems = "problems" in result ? result.problems : [];
    expect(problems).toMatchObject([
      { code: "cluster-file-driver-mismatch", message: expect.stringContaining(reason) as string },
    ]);
  });

  it.each([
    ["driver Overlay", "plugin: hns", "driver: Overlay", "carry no IPv6"],
    ["driver NAT", "plugin: hns", "plugin: hns\n  driver: NAT", "has no IPv6 on nat networks"],
    ["plugin win-bridge", "plugin: hns", "plugin: win-bridge", "gives a pod the first address"],
    [
      "flannel's host-gw",
      "plugin: hns",
      "plugin: flannel\n  backend: host-gw",
      "flanneld on Windows leads IPv4 alone",
    ],
    [
      "a node's address elsewhere",
      "address: 10.0.0.12",
      "address: 10.0.0.12\n    ipv6: {address: 'fd99::1'}",
      "fd99::1 is not in fd00:10::/64",
    ],
    [
      "a pod range elsewhere",
      "address: 10.0.0.12",
      "address: 10.0.0.12\n    ipv6: {podCIDR: 'fd99::/64'}",
      "fd99::/64 is not in fd00:10:244::/48",
    ],
    [
      "a pod range without room",
      "address: 10.0.0.12",
      "address: 10.0.0.12\n    ipv6: {podCIDR: 'fd00:10:244::/124'}",
      "has fewer addresses than 10.244.1.0/24",
    ],
    ["Server 2019", "build: ws2025", "build: ws2019", "knows no dual stack"],
    ["a subnet that is not a /64", "enabled: true", "enabled: true\n  subnet: fd00:10::/56", "is not a /64"],
    [
      "no range for each node",
      "enabled: true",
      "enabled: true\n  clusterCIDR: fd00:10:244::/64",
      "no /64 for each of 3 nodes",
    ],
    [
      "ranges that overlap",
      "enabled: true",
      "enabled: true\n  serviceCIDR: fd00:10:244:5::/112",
      "overlaps ipv6.clusterCIDR",
    ],
    ["an IPv4 range", "enabled: true", "enabled: true\n  subnet: 10.0.0.0/24", "an IPv6 range"],
    ["host bits", "enabled: true", "enabled: true\n  subnet: fd00:10::1/64", "host bits"],
  ])("%s", (_what, from, to, message) => {
    const result = parseClusterFile(textOf("cluster.yaml").replace(from, to), "cluster.yaml");
    const problems = "problems" in result ? result.problems : [];
    expect(problems.map((problem) => `${problem.message} ${problem.advice}`).join("\n")).toContain(message);
  });
});

describe("further networks", () => {
  it("of driver L2Bridge carry IPv6, too, those of NAT do not; verify finds nothing", async () => {
    const text = textOf("cluster.yaml")
      .replace(
        "ipv6:\n",
        "networks:\n  - {name: blue, clusterCIDR: 10.245.0.0/16}\n  - {name: nat, driver: NAT, clusterCIDR: 172.20.0.0/16}\nipv6:\n",
      )
      .concat(
        "  - {name: blue-1, node: win-1, network: blue}\n  - {name: blue-2, node: win-2, network: blue}\n",
        "  - {name: hidden, node: win-1, network: nat}\n",
      );
    const further = await openText(text);
    const seconds = further.pods
      .filter(({ spec }) => spec.podNetwork !== "cbr0")
      .map(({ spec, address6 }) => `${spec.name} ${address6 === undefined ? "" : formatIp(address6)}`);
    // The first three /64 are those of the nodes.
    expect(seconds).toEqual(["blue-1 fd00:10:244:3::3", "blue-2 fd00:10:244:4::3", "hidden "]);
    const { report } = tracePacket(further, {
      from: "pod/blue-1",
      to: "pod/blue-2",
      protocol: "tcp",
      port: 8080,
      family: "ipv6",
    });
    expect(report.answer).toMatch(/^blue-2 saw \[fd00:10:244:3::3\]:/);
    expect(verifyCluster(further, readModel(further, 6)).findings).toEqual([]);
    expect(verifyCluster(further, readModel(further)).findings).toEqual([]);
  });
});

describe("win-bridge in hardened mode (CNI-048)", () => {
  it("gives pods an address of each family; verify finds nothing in either", async () => {
    const text = textOf("cluster.yaml")
      .replace("plugin: hns", "plugin: win-bridge")
      .replaceAll("build: ws2025", "build: ws2025\n    compat: hardened");
    const bridged = await openText(text);
    const addresses = bridged.pods
      .filter(({ spec, node }) => spec.namespace === "default" && node.hns !== undefined)
      .map(({ spec, address, address6 }) => `${spec.name} ${formatIp(address)} ${formatIp(address6!)}`);
    expect(addresses).toEqual([
      "client 10.244.0.3 fd00:10:244::3",
      "web-1 10.244.0.4 fd00:10:244::4",
      "web-2 10.244.1.3 fd00:10:244:1::3",
    ]);
    expect(verifyCluster(bridged, readModel(bridged, 6)).findings).toEqual([]);
    expect(verifyCluster(bridged, readModel(bridged)).findings).toEqual([]);
  });
});
