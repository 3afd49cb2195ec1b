/** Clusters with ovn-kubernetes' hybrid overlay for tests: opened, changed, and asked by packets. */
import { defined } from "#core/base/assert.ts";
import { readU16, readU48 } from "#core/base/bytes.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { getNetworkByName } from "#contracts/hcn/operations.ts";
import { type Mac, formatMac } from "#core/net/mac.ts";
import type { Packet } from "#core/wire/packet.ts";
import { forkCluster } from "#cluster/cluster.ts";
import { hcnClientOf } from "#cluster/machines/windows-node.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import { type SessionWorld, ask as askPort, attempt } from "./session-world.ts";

/** The network of pods, as ovn-kubernetes calls it. */
export const NETWORK: string = "OVNKubernetesHybridOverlayNetwork";
/** Annotations of the hybrid overlay begin with it. */
export const PREFIX: string = "k8s.ovn.org/hybrid-overlay";
/** The annotation with the MAC of a node's router. */
export const MAC: string = `${PREFIX}-distributed-router-gateway-mac`;

/** The cluster file: two nodes of each system. */
export function file(fields = "", build = "ws2022"): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: hybrid }
nodes:
  - { name: win-1, os: windows, build: ${build}, address: 10.0.0.11, podCIDR: 10.132.0.0/24 }
  - { name: win-2, os: windows, build: ${build}, address: 10.0.0.12, podCIDR: 10.132.1.0/24 }
  - { name: linux-1, os: linux, address: 10.0.0.21, podCIDR: 10.128.0.0/23 }
  - { name: linux-2, os: linux, address: 10.0.0.22, podCIDR: 10.128.2.0/23 }
network: { plugin: ovn-hybrid-overlay, clusterCIDR: 10.128.0.0/13${fields} }
pods:
  - { name: a, node: win-1 }
  - { name: b, node: win-2 }
  - { name: c, node: linux-1 }
  - { name: d, node: linux-2 }
`;
}

/** A Node with annotations. */
export function node(name: string, annotations: Readonly<Record<string, string>>): string {
  return `apiVersion: v1\nkind: Node\nmetadata: ${JSON.stringify({ name, annotations })}\n`;
}

/** Who answers. */
export function ask(world: SessionWorld, from: string, to: string, protocol: "tcp" | "icmp" = "tcp"): string {
  return askPort(world, from, to, { protocol, ...(protocol === "tcp" && { port: 8_080 }) });
}

/** HNS of a node. */
export function clientOf({ session }: SessionWorld, name: string): HcnClient {
  const found = session.cluster.nodes.find(({ spec }) => spec.name === name);
  return hcnClientOf(defined(found, `node ${name}`));
}

/** Annotations of a Node, as they are now. */
export function annotationsOf({ session }: SessionWorld, name: string): Readonly<Record<string, string>> {
  const found = session.listObjects("Node").find(({ metadata }) => metadata.name === name);
  const { metadata } = defined(found, name) as { readonly metadata: object };
  return (metadata as { readonly annotations?: Readonly<Record<string, string>> }).annotations ?? {};
}

/** Settings of the policies of that type of the network. */
export async function settingsOf(
  world: SessionWorld,
  name: string,
  type: string,
): Promise<readonly (Readonly<Record<string, unknown>> | undefined)[]> {
  const { Policies = [] } = await getNetworkByName(clientOf(world, name), NETWORK);
  return Policies.filter(({ Type }) => Type === type).map(({ Settings }) => Settings);
}

/** A setting as text. */
export function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "none";
}

/** Where a Windows node sends to, by the prefix. */
export async function waysOf(world: SessionWorld, name: string): Promise<readonly string[]> {
  const settings = await settingsOf(world, name, "RemoteSubnetRoute");
  const fields = ["DestinationPrefix", "ProviderAddress", "IsolationId", "DistributedRouterMacAddress"];
  return settings.map((each) => fields.map((field) => textOf(each?.[field])).join(" "));
}

/** Nodes in trouble, with the codes. */
export function troublesOf({ session }: SessionWorld): readonly string[] {
  return session.troubles().map(({ node: name, code }) => `${name} ${code}`);
}

/** Drops of the way there, then of the way back: their codes. */
export function dropsOf({ session }: SessionWorld, from: string, to: string): readonly string[] {
  const { report } = tracePacket(forkCluster(session.cluster), { from, to, protocol: "tcp", port: 8_080 });
  return [report.forward, report.reply].flatMap((leg) =>
    (leg?.steps ?? []).flatMap((step) => (step.kind === "drop" && "code" in step ? [step.code] : [])),
  );
}

/** VXLAN packets on the segment while a question is asked: UDP port, VNI, inner destination MAC. */
export function tunnelsOf({ session }: SessionWorld, from: string, to: string): readonly string[] {
  const copy = forkCluster(session.cluster);
  const seen: string[] = [];
  copy.underlay.segment.filter = {
    filterFrame: (_port: string, packet: Packet) => {
      const { bytes, start } = packet;
      const port = readU16(bytes, start + 36);
      if (readU16(bytes, start + 12) === 0x0800 && bytes[start + 23] === 17 && port !== 53) {
        const vni = (readU48(bytes, start + 44) % 2 ** 32) >>> 8;
        seen.push(`${port} ${vni} ${formatMac(readU48(bytes, start + 50) as Mac)}`);
      }
      return [packet];
    },
  };
  attempt(copy, from, to, { port: 8_080 });
  return seen;
}
