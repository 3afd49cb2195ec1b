/**
 * Where the inner frame of a tunnel is, and what the tunnel calls itself: one look at a parsed packet, without
 * allocation. VXLAN and NVGRE, which VFP parses on every port (dataplane.md §1.2).
 */
import { readU16, readU24, readU8 } from "../../base/bytes.ts";
import { Headers } from "../headers.ts";
import { IpProtocol } from "../ip-protocol.ts";
import type { MalformedReason } from "../malformed.ts";
import { NVGRE_HEADER_BYTES, NvgreView } from "./nvgre.ts";
import { UDP_HEADER_BYTES } from "../udp.ts";
import { VXLAN_FLAG_VNI_VALID, VXLAN_HEADER_BYTES, VXLAN_PORT } from "./vxlan.ts";

/** Tunnels that are looked into. */
export type TunnelKind = "vxlan" | "nvgre";

/** A reusable view of the outermost tunnel of a packet. */
export class TunnelHeaders {
  /** Undefined when the packet carries no sound tunnel. */
  kind: TunnelKind | undefined;
  /** VNI or virtual subnet id, 24 bits. */
  id = 0;
  /** The headers of the inner frame. Holds while `kind` is set. */
  readonly inner: Headers = new Headers();
  /** Where the inner frame starts and ends. */
  innerStart = 0;
  innerEnd = 0;

  /**
   * Looks at the packet that `headers` has parsed from `bytes`.
   * @returns why the tunnel that the packet announces cannot be taken; undefined when it has none or a sound one.
   */
  locate(bytes: Uint8Array, headers: Headers, vxlanPort: number = VXLAN_PORT): MalformedReason | undefined {
    this.kind = undefined;
    if (headers.protocol === IpProtocol.udp) {
      const isVxlan = headers.transport >= 0 && readU16(bytes, headers.transport + 2) === vxlanPort;
      return isVxlan && !headers.isFragment ? this.locateVxlan(bytes, headers) : undefined;
    }
    if (headers.protocol !== IpProtocol.gre || headers.isFragment) return undefined;
    return this.locateNvgre(bytes, headers);
  }

  private locateVxlan(bytes: Uint8Array, headers: Headers): MalformedReason | undefined {
    const start = headers.transport + UDP_HEADER_BYTES;
    const end = headers.transport + readU16(bytes, headers.transport + 4);
    if (end - start < VXLAN_HEADER_BYTES) return "vxlan-truncated";
    if ((readU8(bytes, start) & VXLAN_FLAG_VNI_VALID) === 0) return "vxlan-vni-invalid";
    return this.enter("vxlan", readU24(bytes, start + 4), bytes, start + VXLAN_HEADER_BYTES, end);
  }

  private locateNvgre(bytes: Uint8Array, headers: Headers): MalformedReason | undefined {
    const start = headers.upper;
    if (!NvgreView.isNvgre(bytes, start, headers.end)) return undefined;
    if (headers.end - start < NVGRE_HEADER_BYTES) return "nvgre-truncated";
    const id = readU24(bytes, start + 4);
    return this.enter("nvgre", id, bytes, start + NVGRE_HEADER_BYTES, headers.end);
  }

  private enter(
    kind: TunnelKind,
    id: number,
    bytes: Uint8Array,
    start: number,
    end: number,
  ): MalformedReason | undefined {
    const malformed = this.inner.parseBytes(bytes, start, end);
    if (malformed !== undefined) return malformed;
    this.kind = kind;
    this.id = id;
    this.innerStart = start;
    this.innerEnd = end;
    return undefined;
  }
}
