/**
 * NodeLocal DNSCache (https://kubernetes.io/docs/tasks/administer-cluster/nodelocaldns/): an agent on each Linux node that has an address
 * of its own on a dummy interface, answers there, and asks the cluster's DNS. It has no part for Windows: pods of Windows nodes that are
 * told its address reach nobody.
 *
 * Inferred: its cache is left out, so that each question goes on to the cluster's DNS; and where it has the address of that Service, too
 * (`-localip` with both), questions take the way of the Service, which leads to the same answers. Inferred: the built-in server of its
 * pod answers on port 53 of the node's other addresses, where the agent does not listen.
 */
import type { Pod } from "#contracts/kubernetes/objects.ts";
import { parseMac } from "#core/net/mac.ts";
import { type Ip, parseIpv4, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import { MemoryDevice } from "#dataplane/device/memory-pair.ts";
import type { Interface } from "#dataplane/host/interface.ts";
import type { ClusterNode } from "../cluster.ts";
import { DnsServer } from "./dns-server.ts";

/** Of the manifest of Kubernetes (cluster/addons/dns/nodelocaldns). */
const LABEL = "k8s-app";
const AGENT = "node-local-dns";
const INTERFACE = "nodelocaldns";
/** Nothing is sent over it. */
const OWN_MAC = defined(parseMac("02-00-00-00-35-00"), "a MAC");
const MTU_BYTES = 1_500;
const HOST_LENGTH = 32;
const LINK_LOCAL = defined(parsePrefix("169.254.0.0/16"), "a range");

/** The addresses that the agent of this pod gives its node; none for any other pod. */
export function localAddressesOf({ metadata, spec }: Pod): readonly Ip[] {
  if (metadata.labels?.[LABEL] !== AGENT) return [];
  const words = (spec?.containers ?? []).flatMap(({ command = [], args = [] }) => [...command, ...args]);
  const at = words.findIndex((word) => /^--?localip$/.test(word));
  const given = at < 0 ? words.find((word) => /^--?localip=/.test(word))?.split("=")[1] : words[at + 1];
  return (given ?? "")
    .split(",")
    .flatMap((text) => parseIpv4(text.trim()) ?? [])
    .filter((ip) => prefixContains(LINK_LOCAL, ip));
}

/** The agent of one node, which asks the cluster's DNS at its Service. */
export class NodeLocalCache {
  private readonly node: ClusterNode;
  private readonly link: Interface;
  private readonly servers: readonly DnsServer[];

  constructor(node: ClusterNode, addresses: readonly Ip[], service: Ip) {
    const { root } = node.host;
    this.node = node;
    const device = new MemoryDevice(root.env.clock, MTU_BYTES, 0);
    this.link = root.addInterface({ name: INTERFACE, mac: OWN_MAC, device });
    for (const ip of addresses) root.addAddress(this.link, { ip, length: HOST_LENGTH });
    this.servers = addresses.map((ip) => {
      const server = new DnsServer({ compartment: root, sources: [], upstreams: [service] });
      server.listen(ip);
      return server;
    });
  }

  /** Another Service takes the place of the one that it asks. */
  setService(service: Ip): void {
    for (const server of this.servers) server.upstreams = [service];
  }

  close(): void {
    for (const server of this.servers) server.close();
    this.node.host.root.removeInterface(this.link);
  }
}
