/**
 * A TAP: what the kernel sends out of it comes in here, and what is sent here arrives in the kernel. It is gone when its
 * descriptor is closed, and so with the process, however that ends.
 */
import { assert } from "#core/base/assert.ts";
import { viewOf } from "#core/base/bytes.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { Packet } from "#core/wire/packet.ts";
import { cutSuperFrame, insideOf, isSegmentable } from "#core/wire/segmentation.ts";
import type { Device, Receiver } from "../device.ts";
import { FRAME_AT, FrameMemory, SMALL_BYTES, detach } from "./frame-memory.ts";
import { InterfaceSettings, interfaceRequest } from "./interface-settings.node.ts";
import { SystemCallError, type SystemCalls } from "./system-calls.node.ts";
import { VIRTIO_HEADER_BYTES, leaveVirtio, takeVirtio } from "./virtio-header.ts";

/** In a buffer: what comes before the frame. */
const HEADER_AT = FRAME_AT - VIRTIO_HEADER_BYTES;
const PATH = "/dev/net/tun";
const READ_WRITE = 2;
const NON_BLOCKING = 0o4_000;
const CLOSE_ON_EXEC = 0o2_000_000;
const SET_INTERFACE = 0x4004_54ca;
const SET_OFFLOAD = 0x4004_54d0;
const SET_HEADER_BYTES = 0x4004_54d8;
/** TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6. */
const OFFLOADS = 0x01 | 0x02 | 0x04;
/** TUN_F_USO4, TUN_F_USO6: Linux 6.2. */
const UDP_OFFLOADS = 0x20 | 0x40;
/** TUN_F_UDP_TUNNEL_GSO, TUN_F_UDP_TUNNEL_GSO_CSUM: Linux 6.17. */
const TUNNEL_OFFLOADS = 0x80 | 0x100;
const FLAGS_AT = 16;
/** IFF_TAP, IFF_NO_PI, IFF_VNET_HDR, IFF_TUN_EXCL. */
const FLAGS = 0x0002 | 0x1000 | 0x4000 | 0x8000;
const IP_BYTES_MAX = 65_535;
/** So much is taken in before others have their turn, and before it is no longer near the processor. */
const BURST_BYTES = 512 * 1024;

/** What the kernel cuts. */
interface Cut {
  readonly protocols: readonly number[];
  /** In tunnels, too. */
  readonly hasTunnels: boolean;
}

const NOTHING_CUT: Cut = { protocols: [], hasTunnels: false };
const TCP_AND_UDP: readonly number[] = [IpProtocol.tcp, IpProtocol.udp];

/** What may be asked for, from the youngest kernel's on. */
function offloadsOf(hasTunnels: boolean): readonly (Cut & { readonly bits: number })[] {
  return [
    ...(hasTunnels
      ? [{ bits: OFFLOADS | UDP_OFFLOADS | TUNNEL_OFFLOADS, protocols: TCP_AND_UDP, hasTunnels }]
      : []),
    { bits: OFFLOADS | UDP_OFFLOADS, protocols: TCP_AND_UDP, hasTunnels: false },
    { bits: OFFLOADS, protocols: [IpProtocol.tcp], hasTunnels: false },
  ];
}

/** Asks for super frames. @returns what this kernel cuts of what was asked for. */
function setOffloads(calls: SystemCalls, { name, hasTunnels = false }: TapOptions, fd: number): Cut {
  const asked = offloadsOf(hasTunnels);
  for (const [index, { bits, ...cut }] of asked.entries())
    try {
      calls.call("setOffloads", name, fd, SET_OFFLOAD, bits);
      return cut;
    } catch (error) {
      const isUnknown = error instanceof SystemCallError && error.code === "EINVAL";
      if (!isUnknown || index === asked.length - 1) throw error;
    }
  return NOTHING_CUT;
}

/** Why there is no TAP, or none with the addresses that it was to have. */
export type TapFailure = "no-device" | "not-permitted" | "name-taken" | "no-ipv6";

const FAILURES: Readonly<Record<string, TapFailure>> = {
  ENOENT: "no-device",
  ENODEV: "no-device",
  ENXIO: "no-device",
  EACCES: "not-permitted",
  EPERM: "not-permitted",
  EBUSY: "name-taken",
  EEXIST: "name-taken",
  EAFNOSUPPORT: "no-ipv6",
};

/** @returns why no TAP could be made; undefined: for a reason that is nothing usual. */
export function tapFailure(error: unknown): TapFailure | undefined {
  return error instanceof SystemCallError ? FAILURES[error.code] : undefined;
}

export interface TapOptions {
  readonly name: string;
  readonly mtuBytes: number;
  /**
   * The kernel leaves checksums and large sends to this side: fewer frames, each of up to 64 KiB, where they stay whole;
   * where they are cut at once it does so faster itself.
   */
  readonly hasOffloads?: boolean;
  /** And those of tunnels, where the kernel has them: a VXLAN device may be behind it. */
  readonly hasTunnels?: boolean;
}

/** Memory that a frame is read into, with the header before it. */
export class Place {
  readonly bytes: Uint8Array;
  /** Where the kernel writes to. */
  readonly target: Uint8Array;
  readonly header: DataView;
  readonly address: number;

  constructor(bytes: Uint8Array, address = 0) {
    this.bytes = bytes;
    this.target = bytes.subarray(HEADER_AT);
    this.header = viewOf(this.target);
    this.address = address;
  }

  get length(): number {
    return this.target.length;
  }
}

/** Writes frames for a TAP, and tells it of those that the kernel did not take (`lose`). */
export interface TapOutlet {
  /** Takes over the bytes, of which a frame with its header is from `start` to `end`. */
  send(bytes: Uint8Array, start: number, end: number): void;
}

export class TapDevice implements Device {
  readonly name: string;
  readonly mtuBytes: number;
  /** Can be read when frames are there. */
  readonly fd: number;
  /** Frames that were lost here: the kernel had no room, or did not take them. */
  lost = 0;
  /** Told of each frame that the kernel does not take: the interface is down, or its queue is full. */
  onLost: (() => void) | undefined;
  /** Undefined: each frame is written by itself, at once. */
  outlet: TapOutlet | undefined;
  private readonly calls: SystemCalls;
  /** Where frames come from and go to: ports that give frames to one another share it. */
  memory: FrameMemory = new FrameMemory();
  /** The next frame is read into it, where each is read by itself. */
  private place: Place | undefined;
  private readonly headers = new Headers();
  private readonly cut: Cut;
  private receiver: Receiver | undefined;
  private hasSent = false;
  private isOpen = true;

  private constructor(calls: SystemCalls, { name, mtuBytes }: TapOptions, fd: number, cut: Cut) {
    this.calls = calls;
    this.cut = cut;
    this.name = name;
    this.mtuBytes = mtuBytes;
    this.fd = fd;
  }

  /** The kernel gets super frames whole. */
  get carriesSuperFrames(): boolean {
    return this.cut.protocols.length > 0;
  }

  /** And those in tunnels of UDP. */
  get carriesTunnels(): boolean {
    return this.cut.hasTunnels;
  }

  /** Makes a TAP in the namespace of this thread; it is down. @throws SystemCallError, see `tapFailure`. */
  static open(calls: SystemCalls, options: TapOptions): TapDevice {
    const { name, mtuBytes, hasOffloads = false } = options;
    const request = interfaceRequest(name);
    request.setUint16(FLAGS_AT, FLAGS, true);
    const fd = calls.call("open", PATH, PATH, READ_WRITE | NON_BLOCKING | CLOSE_ON_EXEC, 0);
    let cut = NOTHING_CUT;
    try {
      calls.call("ioctl", name, fd, SET_INTERFACE, new Uint8Array(request.buffer));
      const length = Int32Array.of(VIRTIO_HEADER_BYTES);
      calls.call("ioctl", name, fd, SET_HEADER_BYTES, new Uint8Array(length.buffer));
      if (hasOffloads) cut = setOffloads(calls, options, fd);
      const settings = new InterfaceSettings(calls);
      try {
        settings.setMtu(name, mtuBytes);
      } finally {
        settings.close();
      }
    } catch (error) {
      calls.call("close", name, fd);
      throw error;
    }
    return new TapDevice(calls, options, fd, cut);
  }

  attach(receiver: Receiver): void {
    this.receiver = receiver;
  }

  /** Hands on at most `framesMax` of the frames that wait. @returns how many there were. */
  readBurst(framesMax: number): number {
    let count = 0;
    let total = 0;
    while (this.isOpen && count < framesMax && total < BURST_BYTES) {
      this.place ??= new Place(this.memory.take("large"));
      const { target } = this.place;
      const bytes = this.calls.tryCall("read", this.name, this.fd, target, target.length);
      if (bytes === undefined) break;
      count++;
      total += bytes;
      if (this.arrive(this.place, bytes)) this.place = undefined;
    }
    return count;
  }

  /** Hands on what was read. @returns true when the packet has the place now. */
  arrive(place: Place, bytes: number): boolean {
    const length = bytes - VIRTIO_HEADER_BYTES;
    assert(length >= 0, "a TAP gives whole frames");
    const end = FRAME_AT + length;
    // A long frame stays where it was read; a short one moves to memory of its size.
    const isLong = end > SMALL_BYTES;
    const own = isLong ? place.bytes : this.memory.take("small");
    if (!isLong) own.set(place.bytes.subarray(FRAME_AT, end), FRAME_AT);
    const packet = new Packet(own, FRAME_AT, end);
    if (!takeVirtio(place.header, packet, this.headers)) {
      this.lost++;
      if (!isLong) this.memory.giveBack(own);
      return false;
    }
    this.receiver?.receive(packet);
    return isLong;
  }

  /** The kernel did not take a frame. */
  lose(): void {
    this.lost++;
    this.onLost?.();
  }

  transmit(packet: Packet): boolean {
    if (!this.isOpen) {
      this.onLost?.();
      return false;
    }
    const isSent = this.sendAll(packet);
    this.memory.release(packet);
    return isSent;
  }

  /** Whether frames were sent since it was asked last: their answers may be there already. */
  takeSent(): boolean {
    const { hasSent } = this;
    this.hasSent = false;
    return hasSent;
  }

  /** Takes the interface away. Nothing comes any more. */
  close(): void {
    if (!this.isOpen) return;
    this.isOpen = false;
    this.calls.call("close", this.name, this.fd);
  }

  private sendAll(packet: Packet): boolean {
    if (packet.segmentBytes === 0 || this.isCutByKernel(packet)) return this.send(packet);
    const segments = cutSuperFrame(packet);
    return segments !== undefined && segments.every((each) => this.send(each));
  }

  /** Afterwards `headers` are those of the super frame, in a tunnel those inside. */
  private isCutByKernel(packet: Packet): boolean {
    const { headers, cut } = this;
    if (packet.outerBytes > 0 && !(cut.hasTunnels && this.isUdpTunnel(packet))) return false;
    if (headers.parse(insideOf(packet)) !== undefined) return false;
    return cut.protocols.includes(headers.protocol) && isSegmentable(packet.bytes, headers);
  }

  /** No other tunnels are cut; and a packet that the outer headers made longer than IP can say is not, either. */
  private isUdpTunnel(packet: Packet): boolean {
    const { headers } = this;
    const isSound = headers.parse(packet) === undefined && headers.protocol === IpProtocol.udp;
    return isSound && packet.end - headers.network <= IP_BYTES_MAX;
  }

  /** Sends a frame, or a super frame whose headers were read. What the kernel needs to know of it stands in front. */
  private send(packet: Packet): boolean {
    if (packet.start < VIRTIO_HEADER_BYTES) {
      packet.prepend(VIRTIO_HEADER_BYTES);
      packet.start += VIRTIO_HEADER_BYTES;
    }
    const { bytes, start, end } = packet;
    const at = start - VIRTIO_HEADER_BYTES;
    if (packet.segmentBytes === 0) for (let index = at; index < start; index++) bytes[index] = 0;
    else leaveVirtio(viewOf(bytes.subarray(at, start)), packet, this.headers);
    this.hasSent = true;
    if (this.outlet !== undefined) {
      detach(packet);
      this.outlet.send(bytes, at, end);
      return true;
    }
    if (this.write(bytes.subarray(at, end))) return true;
    this.lose();
    return false;
  }

  /** @returns false: the interface is down or gone, its queue is full, or it takes no such frame. */
  private write(bytes: Uint8Array): boolean {
    try {
      return this.calls.tryCall("write", this.name, this.fd, bytes, bytes.length) !== undefined;
    } catch (error) {
      if (error instanceof SystemCallError) return false;
      throw error;
    }
  }
}
