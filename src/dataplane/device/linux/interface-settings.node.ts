/** Settings of network interfaces in the namespace of this thread, by the requests of netdevice(7). IPv4 alone. */
import { viewOf, writeU48 } from "#core/base/bytes.ts";
import { type Ipv4, maskOf } from "#core/net/ip.ts";
import type { Mac } from "#core/net/mac.ts";
import { SystemCallError, type SystemCalls } from "./system-calls.node.ts";

/** `struct ifreq`: a name of 16 bytes with its zero, and a union. */
const REQUEST_BYTES = 40;
const NAME_BYTES_MAX = 15;
const NAME_TOO_LONG = 36;
const UNION_AT = 16;
const REQUEST = {
  addRoute: 0x890b,
  getFlags: 0x8913,
  setFlags: 0x8914,
  setAddress: 0x8916,
  setMask: 0x891c,
  setMtu: 0x8922,
  setMac: 0x8924,
  getIndex: 0x8933,
  addToBridge: 0x89a2,
} as const;

const INET = 2;
const DATAGRAM = 2;
const ETHERNET = 1;
const IS_UP = 1;

/** `struct rtentry` on a 64-bit machine. */
const ROUTE = { bytes: 120, destinationAt: 8, gatewayAt: 24, maskAt: 40, flagsAt: 56 } as const;
const ROUTE_IS_UP = 1;
const ROUTE_HAS_GATEWAY = 2;

/** A request about an interface. @throws SystemCallError ENAMETOOLONG for a name that is too long for the kernel. */
export function interfaceRequest(name: string): DataView {
  const bytes = new TextEncoder().encode(name);
  if (bytes.length === 0 || bytes.length > NAME_BYTES_MAX)
    throw new SystemCallError("ioctl", name, NAME_TOO_LONG);
  const request = new Uint8Array(REQUEST_BYTES);
  request.set(bytes);
  return viewOf(request);
}

/** `struct sockaddr_in`. */
function writeAddress(view: DataView, at: number, ip: Ipv4): void {
  view.setUint16(at, INET, true);
  view.setUint32(at + 4, ip);
}

export class InterfaceSettings {
  private readonly calls: SystemCalls;
  private readonly socket: number;

  /** Of the namespace that this thread is in now. */
  constructor(calls: SystemCalls) {
    this.calls = calls;
    this.socket = calls.call("socket", "", INET, DATAGRAM, 0);
  }

  setUp(name: string): void {
    const view = interfaceRequest(name);
    this.ask("getFlags", name, view);
    view.setUint16(UNION_AT, view.getUint16(UNION_AT, true) | IS_UP, true);
    this.ask("setFlags", name, view);
  }

  setAddress(name: string, ip: Ipv4, length: number): void {
    const view = interfaceRequest(name);
    writeAddress(view, UNION_AT, ip);
    this.ask("setAddress", name, view);
    writeAddress(view, UNION_AT, maskOf(length));
    this.ask("setMask", name, view);
  }

  setMtu(name: string, bytes: number): void {
    const view = interfaceRequest(name);
    view.setInt32(UNION_AT, bytes, true);
    this.ask("setMtu", name, view);
  }

  setMac(name: string, mac: Mac): void {
    const view = interfaceRequest(name);
    view.setUint16(UNION_AT, ETHERNET, true);
    writeU48(new Uint8Array(view.buffer), UNION_AT + 2, mac);
    this.ask("setMac", name, view);
  }

  addDefaultRoute(gateway: Ipv4): void {
    const view = viewOf(new Uint8Array(ROUTE.bytes));
    writeAddress(view, ROUTE.destinationAt, 0 as Ipv4);
    writeAddress(view, ROUTE.gatewayAt, gateway);
    writeAddress(view, ROUTE.maskAt, 0 as Ipv4);
    view.setUint16(ROUTE.flagsAt, ROUTE_IS_UP | ROUTE_HAS_GATEWAY, true);
    this.ask("addRoute", "default", view);
  }

  /** Makes `name` a port of a bridge. */
  addToBridge(bridge: string, name: string): void {
    const view = interfaceRequest(name);
    this.ask("getIndex", name, view);
    const index = view.getInt32(UNION_AT, true);
    const request = interfaceRequest(bridge);
    request.setInt32(UNION_AT, index, true);
    this.ask("addToBridge", bridge, request);
  }

  /** @returns whether the namespace has an interface of this name. */
  has(name: string): boolean {
    try {
      this.ask("getIndex", name, interfaceRequest(name));
      return true;
    } catch (error) {
      if (error instanceof SystemCallError && error.code === "ENODEV") return false;
      throw error;
    }
  }

  close(): void {
    this.calls.call("close", "socket", this.socket);
  }

  private ask(request: keyof typeof REQUEST, subject: string, view: DataView): void {
    this.calls.call("ioctl", subject, this.socket, REQUEST[request], new Uint8Array(view.buffer));
  }
}
