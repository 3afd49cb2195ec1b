/**
 * Where OVN puts its keys in the headers of a tunnel (control-planes.md §4.3, read from the flows that ovn-controller
 * installs): the logical datapath, and the ports at which the packet came in and is to go out.
 *
 * ```
 * GENEVE   VNI: datapath; option 0x0102 type 0x80: 0 (1 bit), ingress port (15), egress port (16)
 * STT      context id: 0 (9 bits), ingress port (15), egress port (16), datapath (24)
 * VXLAN    VNI: egress port (12 bits), datapath (12); bit 23 marks a group, the ingress port is not carried
 * ```
 */
import { readU32, writeU32 } from "../../base/bytes.ts";
import type { GeneveOption } from "./geneve.ts";

/** Keys of OVN's logical world. */
export interface OvnTunnelKeys {
  /** `tunnel_key` of a Datapath_Binding: 24 bits, 12 over VXLAN. */
  readonly datapath: number;
  /** Of the port at which the packet came into the datapath: 15 bits; 0 where VXLAN carried it. */
  readonly ingressPort: number;
  /** Of the port, or from 32768 on the multicast group, where it is to go: 16 bits. */
  readonly egressPort: number;
}

/** Keys from here on name multicast groups. */
export const OVN_GROUP_MIN = 0x8000;

const GENEVE_OPTION = { optionClass: 0x0102, type: 0x80 } as const;
const VXLAN_GROUP_BIT = 0x800;

/** The option that goes with the VNI `datapath`. */
export function toOvnGeneveOption(keys: OvnTunnelKeys): GeneveOption {
  const data = new Uint8Array(4);
  writeU32(data, 0, ((keys.ingressPort & 0x7fff) << 16) | (keys.egressPort & 0xffff));
  return { ...GENEVE_OPTION, data };
}

/** The keys of a GENEVE packet; undefined when it carries no option of OVN. */
export function fromOvnGeneve(vni: number, options: readonly GeneveOption[]): OvnTunnelKeys | undefined {
  const option = options.find(
    ({ optionClass, type, data }) =>
      optionClass === GENEVE_OPTION.optionClass && type === GENEVE_OPTION.type && data.length === 4,
  );
  if (option === undefined) return undefined;
  const word = readU32(option.data, 0);
  return { datapath: vni, ingressPort: (word >>> 16) & 0x7fff, egressPort: word & 0xffff };
}

/** The context id of an STT frame. */
export function toOvnSttContextId(keys: OvnTunnelKeys): bigint {
  const ports = BigInt(((keys.ingressPort & 0x7fff) << 16) | (keys.egressPort & 0xffff)) & 0xffff_ffffn;
  return (ports << 24n) | BigInt(keys.datapath & 0xff_ffff);
}

export function fromOvnSttContextId(contextId: bigint): OvnTunnelKeys {
  return {
    datapath: Number(contextId & 0xff_ffffn),
    egressPort: Number((contextId >> 24n) & 0xffffn),
    ingressPort: Number((contextId >> 40n) & 0x7fffn),
  };
}

/** The VNI of a VXLAN packet. Of a group only the low 11 bits are carried, of the datapath the low 12. */
export function toOvnVxlanVni(keys: Omit<OvnTunnelKeys, "ingressPort">): number {
  const { datapath, egressPort } = keys;
  const egress = egressPort >= OVN_GROUP_MIN ? VXLAN_GROUP_BIT | (egressPort & 0x7ff) : egressPort & 0x7ff;
  return (egress << 12) | (datapath & 0xfff);
}

export function fromOvnVxlanVni(vni: number): OvnTunnelKeys {
  const egress = vni >>> 12;
  const isGroup = (egress & VXLAN_GROUP_BIT) !== 0;
  return {
    datapath: vni & 0xfff,
    ingressPort: 0,
    egressPort: isGroup ? OVN_GROUP_MIN | (egress & 0x7ff) : egress,
  };
}
