/** Settings of network interfaces in the namespace of this thread, by the requests of netdevice(7) and ipv6(7). */
import { writeNamedFile } from "#core/base/owner-only.node.ts";
import { viewOf, writeU128, writeU48 } from "#core/base/bytes.ts";
import { type Ip, type Ipv4, type Ipv6, maskOf } from "#core/net/ip.ts";
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
const INET6 = 10;
const DATAGRAM = 2;
const ETHERNET = 1;
const IS_UP = 1;

/** `struct rtentry` on a 64-bit machine. */
const ROUTE = { bytes: 120, destinationAt: 8, gatewayAt: 24, maskAt: 40, flagsAt: 56 } as const;
const ROUTE_IS_UP = 1;
const ROUTE_HAS_GATEWAY = 2;

/** `struct in6_ifreq` and `struct in6_rtmsg` on a 64-bit machine (linux/ipv6.h, linux/ipv6_route.h). */
const ADDRESS_6 = { bytes: 24, lengthAt: 16, indexAt: 20 } as const;
const ROUTE_6 = { bytes: 80, gatewayAt: 32, metricAt: 56, flagsAt: 72, indexAt: 76 } as const;
/** Of a route that somebody sets (IP6_RT_PRIO_USER). */
const ROUTE_6_METRIC = 1024;

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

/** What an interface has is given to it; asking whether an address is taken costs a second (networking/ip-sysctl). */
const GIVEN: readonly string[] = ["disable_ipv6", "accept_dad", "accept_ra"];
/** `/proc/sys` may not be written, or has no such file: the kernel does as it is used to. */
const NOT_WRITABLE: readonly (string | undefined)[] = ["EACCES", "EPERM", "EROFS", "ENOENT"];

function takeWhatIsGiven(name: string): void {
  for (const setting of GIVEN) {
    try {
      writeNamedFile(`/proc/sys/net/ipv6/conf/${name}/${setting}`, "0");
    } catch (error) {
      if (!NOT_WRITABLE.includes((error as NodeJS.ErrnoException).code)) throw error;
    }
  }
}

export class InterfaceSettings {
  private readonly calls: SystemCalls;
  private readonly socket: number;
  /** Of IPv6; made when it is needed, since a kernel may have none. */
  private socket6: number | undefined;

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

  /**
   * Adds an address of IPv6; one of IPv4 takes the place of the one before.
   * @throws SystemCallError EAFNOSUPPORT for IPv6 on a kernel without it.
   */
  setAddress(name: string, ip: Ip, length: number): void {
    if (typeof ip === "bigint") {
      this.addAddress6(name, ip, length);
      return;
    }
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

  addDefaultRoute(name: string, gateway: Ip): void {
    if (typeof gateway === "bigint") {
      const route = new Uint8Array(ROUTE_6.bytes);
      writeU128(route, ROUTE_6.gatewayAt, gateway);
      const fields = viewOf(route);
      fields.setUint32(ROUTE_6.metricAt, ROUTE_6_METRIC, true);
      fields.setUint32(ROUTE_6.flagsAt, ROUTE_IS_UP | ROUTE_HAS_GATEWAY, true);
      fields.setInt32(ROUTE_6.indexAt, this.indexOf(name), true);
      this.ask6("addRoute", "default", route);
      return;
    }
    const view = viewOf(new Uint8Array(ROUTE.bytes));
    writeAddress(view, ROUTE.destinationAt, 0 as Ipv4);
    writeAddress(view, ROUTE.gatewayAt, gateway);
    writeAddress(view, ROUTE.maskAt, 0 as Ipv4);
    view.setUint16(ROUTE.flagsAt, ROUTE_IS_UP | ROUTE_HAS_GATEWAY, true);
    this.ask("addRoute", "default", view);
  }

  /** Makes `name` a port of a bridge. */
  addToBridge(bridge: string, name: string): void {
    const request = interfaceRequest(bridge);
    request.setInt32(UNION_AT, this.indexOf(name), true);
    this.ask("addToBridge", bridge, request);
  }

  /** @returns whether the namespace has an interface of this name. */
  has(name: string): boolean {
    try {
      this.indexOf(name);
      return true;
    } catch (error) {
      if (error instanceof SystemCallError && error.code === "ENODEV") return false;
      throw error;
    }
  }

  close(): void {
    this.calls.call("close", "socket", this.socket);
    if (this.socket6 !== undefined) this.calls.call("close", "socket", this.socket6);
  }

  private addAddress6(name: string, ip: Ipv6, length: number): void {
    takeWhatIsGiven(name);
    const request = new Uint8Array(ADDRESS_6.bytes);
    writeU128(request, 0, ip);
    const fields = viewOf(request);
    fields.setUint32(ADDRESS_6.lengthAt, length, true);
    fields.setInt32(ADDRESS_6.indexAt, this.indexOf(name), true);
    this.ask6("setAddress", name, request);
  }

  private indexOf(name: string): number {
    const view = interfaceRequest(name);
    this.ask("getIndex", name, view);
    return view.getInt32(UNION_AT, true);
  }

  private ask(request: keyof typeof REQUEST, subject: string, view: DataView): void {
    this.calls.call("ioctl", subject, this.socket, REQUEST[request], new Uint8Array(view.buffer));
  }

  private ask6(request: keyof typeof REQUEST, subject: string, bytes: Uint8Array): void {
    this.socket6 ??= this.calls.call("socket", "IPv6", INET6, DATAGRAM, 0);
    this.calls.call("ioctl", subject, this.socket6, REQUEST[request], bytes);
  }
}
