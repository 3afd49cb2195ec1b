/**
 * Port blocks for NAT, kept from the node's own sockets: HNS reserves them from the host's dynamic range, where they
 * show as excluded ports (dataplane.md §1.8; hcn.md §4.8).
 */
import type { Compartment } from "../host/compartment.ts";
import type { LocalPorts } from "../host/local-ports.ts";
import type { Ip } from "../net/ip.ts";
import type { PortRange } from "../net/port-range.ts";
import type { PortBlockSource } from "../vfp/nat-pool.ts";
import { IpProtocol } from "../wire/ip-protocol.ts";

export class NodePortBlocks implements PortBlockSource {
  private readonly blocks: PortBlockSource;
  private readonly host: Compartment;

  /** `blocks` is the budget as one switch port sees it; `host` the compartment whose sockets keep off. */
  constructor(blocks: PortBlockSource, host: Compartment) {
    this.blocks = blocks;
    this.host = host;
  }

  acquire(ip: Ip, protocol: number): PortRange | undefined {
    const block = this.blocks.acquire(ip, protocol);
    if (block !== undefined) this.portsOf(protocol)?.exclude(block);
    return block;
  }

  release(ip: Ip, protocol: number, block: PortRange): void {
    this.blocks.release(ip, protocol, block);
    this.portsOf(protocol)?.include(block);
  }

  private portsOf(protocol: number): LocalPorts | undefined {
    if (protocol === IpProtocol.tcp) return this.host.tcp.ports;
    return protocol === IpProtocol.udp ? this.host.udp.ports : undefined;
  }
}
