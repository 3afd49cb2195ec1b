/** The program on an overlay network: source VIP, remote endpoints with the address of their node, ClusterIPs as endpoints. */
import { describe, expect, it } from "vitest";
import type { HostComputeEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { listEndpoints, listLoadBalancers } from "#contracts/hcn/operations.ts";
import { type LocalHns, createHns } from "#hns/local-hns.ts";
import { ProgramRun } from "#test/support/kube-proxy/kube-proxy-program.ts";
import { LOCAL_POD, OVERLAY, SOURCE_VIP, addOverlayNetwork } from "#test/support/hns/overlay-node.ts";

/** A pod of the other node, its node, and an address that no node has. */
const [REMOTE_POD, OTHER_NODE] = ["10.244.2.3", "10.0.0.12"] as const;
const OUTSIDE = "203.0.113.9";

function manifest(...addresses: readonly string[]): string {
  const listed = addresses.map((address) => {
    const node = address === LOCAL_POD ? "win-1" : "win-2";
    return `{addresses: [${address}], nodeName: ${node}, conditions: {ready: true}}`;
  });
  return `apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {type: NodePort, clusterIP: 10.96.0.20, ports: [{name: http, port: 80, targetPort: 8080, nodePort: 30080}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [${listed.join(", ")}]
`;
}

const ARGV = ["--mullion-manifests=web.yaml", `--network-name=${OVERLAY}`, "--bind-address=10.0.0.11"];
const WITH_VIP = [...ARGV, `--source-vip=${SOURCE_VIP}`];

async function overlayNode(): Promise<LocalHns> {
  const adapter = { name: "Ethernet", addresses: ["10.0.0.11/24"] };
  const hns = createHns({ adapters: [adapter] });
  await addOverlayNetwork(hns.client, adapter.name);
  return hns;
}

async function start(argv: readonly string[], ...addresses: readonly string[]): Promise<ProgramRun> {
  const files = { "web.yaml": manifest(...addresses) };
  const run = new ProgramRun({ argv, files, hns: await overlayNode() });
  // kube-proxy looks at an overlay network a second time after ten seconds (kube-proxy.md §2.2).
  await run.pass(13);
  return run;
}

function shown({ IpConfigurations, Policies = [], Flags = 0, MacAddress = "" }: HostComputeEndpoint): string {
  const address = IpConfigurations?.[0]?.IpAddress ?? "";
  const provider = Policies.find(({ Type }) => Type === "ProviderAddress")?.Settings?.["ProviderAddress"];
  return `${address} ${(Flags & 1) === 1 ? "remote" : "local"} at ${typeof provider === "string" ? provider : "here"} ${MacAddress.toLowerCase()}`;
}

async function endpoints(run: ProgramRun): Promise<readonly string[]> {
  const all = await listEndpoints(run.hns!.client);
  return all
    .filter(({ IpConfigurations }) => IpConfigurations?.[0]?.IpAddress !== LOCAL_POD)
    .map(shown)
    .toSorted();
}

async function sources(run: ProgramRun): Promise<readonly (string | undefined)[]> {
  return (await listLoadBalancers(run.hns!.client)).map(({ SourceVIP }) => SourceVIP);
}

const HOST_MAC = "00:15:5d:00:00:11";
const VIP_ENDPOINT = `10.96.0.20 remote at 10.0.0.11 ${HOST_MAC}`;
const SOURCE_ENDPOINT = `${SOURCE_VIP} local at here ${HOST_MAC}`;

describe.each(["upstream", "hardened"])("on an overlay network, %s", (compat) => {
  const argv = [...WITH_VIP, `--mullion-compat=${compat}`];

  it("KP-C2 KP-C15 a pod here and one there", async () => {
    const run = await start(argv, LOCAL_POD, REMOTE_POD);
    expect(await run.loadBalancers()).toEqual([
      `10.96.0.20:80→8080 [${LOCAL_POD},${REMOTE_POD}]`,
      `:30080→8080 [${LOCAL_POD},${REMOTE_POD}]`,
    ]);
    expect(await sources(run)).toEqual([SOURCE_VIP, SOURCE_VIP]);
    expect(await endpoints(run)).toEqual(
      [SOURCE_ENDPOINT, `${REMOTE_POD} remote at ${OTHER_NODE} 02-11-0a-f4-02-03`, VIP_ENDPOINT].toSorted(),
    );
    await run.stop();
  });

  it("KP-C3 KP-C4 a pod on another node's own address, and an address outside: the node's address is the source", async () => {
    const run = await start(argv, OTHER_NODE, OUTSIDE);
    expect(await sources(run)).toEqual(["10.0.0.11", "10.0.0.11"]);
    expect(await endpoints(run)).toEqual(
      [
        SOURCE_ENDPOINT,
        VIP_ENDPOINT,
        `${OTHER_NODE} remote at ${OTHER_NODE} 02-11-0a-00-00-0c`,
        `${OUTSIDE} remote at 10.0.0.11 02-11-cb-00-71-09`,
      ].toSorted(),
    );
    await run.stop();
  });

  it("KP-C18 the Service goes: its endpoints go, that of the source VIP stays", async () => {
    const run = await start(argv, REMOTE_POD);
    await run.rewrite("web.yaml", "");
    await run.pass(2);
    expect(await run.loadBalancers()).toEqual([]);
    expect(await endpoints(run)).toEqual([SOURCE_ENDPOINT]);
    await run.stop();
  });

  it("KP-S2 without a source VIP it ends, and says how to get one", async () => {
    const run = await start([...ARGV, `--mullion-compat=${compat}`], REMOTE_POD);
    expect(await run.ended).toBe(1);
    expect(run.terminal.errors).toContain("source-vip flag not set");
    expect(run.terminal.errors).toContain("--source-vip");
  });

  it("KP-C9 HNS refuses the source VIP: nothing is programmed, and what is wrong is said", async () => {
    const outside = [...ARGV, "--source-vip=192.0.2.7", `--mullion-compat=${compat}`];
    const run = await start(outside, REMOTE_POD);
    expect(await run.loadBalancers()).toEqual([]);
    expect(run.terminal.errors).toContain("192.0.2.7");
    expect(run.terminal.errors).toMatch(/code="[a-z-]+"/);
    await run.stop();
  });
});
