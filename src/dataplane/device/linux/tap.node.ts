/**
 * A TAP: what the kernel sends out of it comes in here, and what is sent here arrives in the kernel. It is gone when its
 * descriptor is closed, and so with the process, however that ends.
 */
import { assert } from "#core/base/assert.ts";
import { viewOf } from "#core/base/bytes.ts";
import { Headers } from "#core/wire/headers.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { HEADROOM_BYTES, Packet } from "#core/wire/packet.ts";
import { isSegmentable, segmentPacket } from "#core/wire/segmentation.ts";
import type { Device, Receiver } from "../device.ts";
import { InterfaceSettings, interfaceRequest } from "./interface-settings.node.ts";
import { SystemCallError, type SystemCalls } from "./system-calls.node.ts";
import { VIRTIO_HEADER_BYTES, leaveVirtio, takeVirtio } from "./virtio-header.ts";

const PATH = "/dev/net/tun";
const READ_WRITE = 2;
const NON_BLOCKING = 0o4_000;
const CLOSE_ON_EXEC = 0o2_000_000;
const SET_INTERFACE = 0x4004_54ca;
const SET_OFFLOAD = 0x4004_54d0;
/** TUN_F_CSUM, TUN_F_TSO4, TUN_F_TSO6. */
const OFFLOADS = 0x01 | 0x02 | 0x04;
const FLAGS_AT = 16;
/** IFF_TAP, IFF_NO_PI, IFF_VNET_HDR, IFF_TUN_EXCL. */
const FLAGS = 0x0002 | 0x1000 | 0x4000 | 0x8000;
/** The largest IP packet, its Ethernet header with a VLAN tag, and what stands before it. */
const BUFFER_BYTES = VIRTIO_HEADER_BYTES + 18 + 65_535;

/** Why there is no TAP. */
export type TapFailure = "no-device" | "not-permitted" | "name-taken";

const FAILURES: Readonly<Record<string, TapFailure>> = {
  ENOENT: "no-device",
  ENODEV: "no-device",
  ENXIO: "no-device",
  EACCES: "not-permitted",
  EPERM: "not-permitted",
  EBUSY: "name-taken",
  EEXIST: "name-taken",
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
}

export class TapDevice implements Device {
  readonly name: string;
  readonly mtuBytes: number;
  /** Can be read when frames are there. */
  readonly fd: number;
  /** Frames that were lost here: the kernel had no room, or did not take them. */
  lost = 0;
  private readonly calls: SystemCalls;
  private readonly buffer = new Uint8Array(BUFFER_BYTES);
  private readonly header = viewOf(this.buffer);
  private readonly headers = new Headers();
  private readonly hasOffloads: boolean;
  private receiver: Receiver | undefined;
  private hasSent = false;
  private isOpen = true;

  private constructor(calls: SystemCalls, { name, mtuBytes, hasOffloads = false }: TapOptions, fd: number) {
    this.calls = calls;
    this.hasOffloads = hasOffloads;
    this.name = name;
    this.mtuBytes = mtuBytes;
    this.fd = fd;
  }

  /** Makes a TAP in the namespace of this thread; it is down. @throws SystemCallError, see `tapFailure`. */
  static open(calls: SystemCalls, options: TapOptions): TapDevice {
    const { name, mtuBytes, hasOffloads = false } = options;
    const request = interfaceRequest(name);
    request.setUint16(FLAGS_AT, FLAGS, true);
    const fd = calls.call("open", PATH, PATH, READ_WRITE | NON_BLOCKING | CLOSE_ON_EXEC, 0);
    try {
      calls.call("ioctl", name, fd, SET_INTERFACE, new Uint8Array(request.buffer));
      if (hasOffloads) calls.call("setOffloads", name, fd, SET_OFFLOAD, OFFLOADS);
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
    return new TapDevice(calls, options, fd);
  }

  attach(receiver: Receiver): void {
    this.receiver = receiver;
  }

  /** Hands on at most `framesMax` of the frames that wait. @returns how many there were. */
  readBurst(framesMax: number): number {
    let count = 0;
    while (this.isOpen && count < framesMax) {
      const bytes = this.calls.tryCall("read", this.name, this.fd, this.buffer, BUFFER_BYTES);
      if (bytes === undefined) break;
      count++;
      const packet = this.packetOf(bytes);
      if (packet === undefined) this.lost++;
      else this.receiver?.receive(packet);
    }
    return count;
  }

  transmit(packet: Packet): boolean {
    if (!this.isOpen) return false;
    if (packet.segmentBytes === 0) return this.send(packet);
    const isWhole = this.headers.parse(packet) === undefined && isSegmentable(packet.bytes, this.headers);
    if (!isWhole) packet.segmentBytes = 0;
    if (!isWhole || (this.hasOffloads && this.headers.protocol === IpProtocol.tcp)) return this.send(packet);
    const segments = segmentPacket(packet, this.headers, packet.segmentBytes);
    return segments.every((each) => this.send(each));
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

  /** A packet has memory of its own: who receives it keeps it. */
  private packetOf(bytes: number): Packet | undefined {
    const length = bytes - VIRTIO_HEADER_BYTES;
    assert(length >= 0, "a TAP gives whole frames");
    const packet = new Packet(
      new Uint8Array(HEADROOM_BYTES + length),
      HEADROOM_BYTES,
      HEADROOM_BYTES + length,
    );
    packet.bytes.set(this.buffer.subarray(VIRTIO_HEADER_BYTES, bytes), HEADROOM_BYTES);
    return takeVirtio(this.header, packet) ? packet : undefined;
  }

  /** Sends a frame, or a super frame whose headers were read. */
  private send(packet: Packet): boolean {
    leaveVirtio(this.header, packet, this.headers);
    this.buffer.set(packet.frame, VIRTIO_HEADER_BYTES);
    this.hasSent = true;
    if (this.write(VIRTIO_HEADER_BYTES + packet.length)) return true;
    this.lost++;
    return false;
  }

  /** @returns false: the interface is down or gone, its queue is full, or it takes no such frame. */
  private write(bytes: number): boolean {
    try {
      return this.calls.tryCall("write", this.name, this.fd, this.buffer, bytes) !== undefined;
    } catch (error) {
      if (error instanceof SystemCallError) return false;
      throw error;
    }
  }
}
