/**
 * Tables of what the service has to find fast: policy lists by what they name (front ends, back ends, endpoints with
 * routes), compute systems, reserved ports. Plain data.
 */
import { type Guid, equalGuids } from "#contracts/hcn/guid.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { LOAD_BALANCER_FLAGS } from "#contracts/hcn/documents/load-balancer.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { SdnRouteRecord, LoadBalancerPortMappingRecord, LoadBalancerRecord } from "./records.ts";
import { SharedMap } from "#core/base/shared-map.ts";
import type { ComputeSystemType } from "#contracts/hcn/compute-systems.ts";
import { PORT_ACCESS } from "#contracts/hcn/documents/port-reservation.ts";

// Which front ends the node's load balancers have: the same address, protocol and port twice is refused (hcn.md §4.7).

/** What of a load balancer its front ends are. */
type FrontEndFields = Pick<LoadBalancerRecord, "frontendVips" | "portMappings" | "flags">;

interface FrontEnd {
  readonly key: string;
  readonly vip: Ip | undefined;
  readonly mapping: LoadBalancerPortMappingRecord;
}

/** A node port listens on all addresses of one family: two load balancers, one per family, can share it. */
function listenerOf(vip: Ip | undefined, flags: number): string {
  if (vip !== undefined) return formatIp(vip);
  return (flags & LOAD_BALANCER_FLAGS.IPv6) === 0 ? "*4" : "*6";
}

function frontEndsOf(fields: FrontEndFields): readonly FrontEnd[] {
  const vips: readonly (Ip | undefined)[] =
    fields.frontendVips.length === 0 ? [undefined] : fields.frontendVips;
  return fields.portMappings.flatMap((mapping) =>
    vips.map((vip) => ({
      key: [listenerOf(vip, fields.flags), mapping.protocol, mapping.externalPort].join("|"),
      vip,
      mapping,
    })),
  );
}

function clash({ vip, mapping }: FrontEnd, owner: string): HcnError {
  const listener = vip === undefined ? "the node's addresses" : formatIp(vip);
  return new HcnError("HCN_E_PORT_ALREADY_EXISTS", {
    detail: `Protocol ${mapping.protocol}, port ${mapping.externalPort} of ${listener} belongs to ${owner} already`,
    explanation: "load-balancer-port-already-exists",
  });
}

export class FrontEndTable {
  private readonly owners = new Map<string, Guid>();

  /**
   * Checks that all front ends are free for `owner`, whose own count as free: it may be about to replace them.
   * Inferred: that the networks of a node share their front ends.
   * @throws HcnError HCN_E_PORT_ALREADY_EXISTS.
   */
  checkFree(fields: FrontEndFields, owner: Guid): void {
    const seen = new Set<string>();
    for (const frontEnd of frontEndsOf(fields)) {
      const holder = this.owners.get(frontEnd.key);
      if (holder !== undefined && holder !== owner) throw clash(frontEnd, `load balancer ${holder}`);
      if (seen.has(frontEnd.key)) throw clash(frontEnd, "the same load balancer");
      seen.add(frontEnd.key);
    }
  }

  /** The first one has it: restored load balancers may claim one front end twice. */
  add(fields: FrontEndFields, owner: Guid): void {
    for (const { key } of frontEndsOf(fields)) if (!this.owners.has(key)) this.owners.set(key, owner);
  }

  /** Frees what load balancers have left that are gone. */
  releaseLeft(isThere: (owner: Guid) => boolean): void {
    for (const [key, owner] of this.owners) if (!isThere(owner)) this.owners.delete(key);
  }

  remove(fields: FrontEndFields, owner: Guid): void {
    for (const { key } of frontEndsOf(fields)) if (this.owners.get(key) === owner) this.owners.delete(key);
  }
}

// The node's SDN routes, and which of them each endpoint has.

export class SdnRouteTable {
  /** In order of creation. */
  private readonly routes = new Map<Guid, SdnRouteRecord>();
  /** Lists are replaced as a whole, so that a comparison sees a change. */
  private readonly ofEndpoints = new Map<Guid, readonly SdnRouteRecord[]>();

  get(id: Guid): SdnRouteRecord | undefined {
    return this.routes.get(id);
  }

  has(id: Guid): boolean {
    return this.routes.has(id);
  }

  keys(): Iterable<Guid> {
    return this.routes.keys();
  }

  values(): Iterable<SdnRouteRecord> {
    return this.routes.values();
  }

  /** Enters a route, or its new record in the place of the old. */
  set(route: SdnRouteRecord): void {
    const before = this.routes.get(route.id);
    if (before !== undefined) this.unlink(before);
    this.routes.set(route.id, route);
    for (const endpointId of new Set(route.endpointIds))
      this.ofEndpoints.set(endpointId, Object.freeze([...(this.ofEndpoint(endpointId) ?? []), route]));
  }

  remove(route: SdnRouteRecord): void {
    this.routes.delete(route.id);
    this.unlink(route);
  }

  /** The routes that name an endpoint, in the order in which they came; undefined: none. */
  ofEndpoint(endpointId: Guid): readonly SdnRouteRecord[] | undefined {
    return this.ofEndpoints.get(endpointId);
  }

  private unlink({ id, endpointIds }: SdnRouteRecord): void {
    for (const endpointId of endpointIds) {
      const left = this.ofEndpoint(endpointId)?.filter((other) => other.id !== id) ?? [];
      if (left.length === 0) this.ofEndpoints.delete(endpointId);
      else this.ofEndpoints.set(endpointId, Object.freeze(left));
    }
  }
}

// Which load balancers name an endpoint as a back end, whether it still exists or not.

type References = Pick<LoadBalancerRecord, "id" | "endpointIds">;

/** Pieces of a list, so that a change copies and freezes one piece of it, however long it is. */
type Pieces = readonly (readonly Guid[])[];

const PIECE_MAX = 64;

const NONE: readonly Guid[] = Object.freeze([]);

const NO_PIECES: Pieces = Object.freeze([]);

function withAdded(pieces: Pieces, id: Guid): Pieces {
  const last = pieces.at(-1);
  const copy = [...pieces];
  if (last === undefined || last.length >= PIECE_MAX) copy.push(Object.freeze([id]));
  else copy[copy.length - 1] = Object.freeze([...last, id]);
  return Object.freeze(copy);
}

function withoutRemoved(pieces: Pieces, id: Guid): Pieces {
  const index = pieces.findIndex((piece) => piece.includes(id));
  if (index < 0) return pieces;
  const left = (pieces[index] ?? NONE).filter((other) => other !== id);
  const copy = [...pieces];
  if (left.length === 0) copy.splice(index, 1);
  else copy[index] = Object.freeze(left);
  return Object.freeze(copy);
}

export class BackEndReferences {
  /** Most endpoints are named once, and a big cluster has many: only several get a list, in order. */
  private readonly referring = new SharedMap<Guid, Guid | Pieces>();

  add({ id, endpointIds }: References): void {
    for (const endpointId of new Set(endpointIds)) this.link(endpointId, id);
  }

  remove({ id, endpointIds }: References): void {
    for (const endpointId of new Set(endpointIds)) this.unlink(endpointId, id);
  }

  /** A load balancer names others: what it named before and still does is left alone. */
  replace(before: References, after: References): void {
    const [old, young] = [new Set(before.endpointIds), new Set(after.endpointIds)];
    for (const endpointId of old) if (!young.has(endpointId)) this.unlink(endpointId, before.id);
    for (const endpointId of young) if (!old.has(endpointId)) this.link(endpointId, after.id);
  }

  /** Makes forks cheap. */
  settle(): void {
    this.referring.settle();
  }

  /** Identifiers of the load balancers, in the order in which they came. */
  to(endpointId: Guid): readonly Guid[] {
    const known = this.referring.get(endpointId);
    if (known === undefined) return NONE;
    return typeof known === "string" ? [known] : known.flat();
  }

  private piecesOf(endpointId: Guid): Pieces {
    const known = this.referring.get(endpointId);
    if (known === undefined) return NO_PIECES;
    return typeof known === "string" ? [[known]] : known;
  }

  private link(endpointId: Guid, id: Guid): void {
    const known = this.referring.get(endpointId);
    this.referring.set(endpointId, known === undefined ? id : withAdded(this.piecesOf(endpointId), id));
  }

  private unlink(endpointId: Guid, id: Guid): void {
    const left = withoutRemoved(this.piecesOf(endpointId), id);
    const [first] = left;
    if (first === undefined) this.referring.delete(endpointId);
    else if (left.length === 1 && first.length === 1) this.referring.set(endpointId, first[0] ?? "");
    else this.referring.set(endpointId, left);
  }
}

// Which back ends a front end had before its load balancer was deleted: for `front-end-keeps-back-ends`.

/** What a front end is known by. */
type FormerFrontEnd = Pick<LoadBalancerRecord, "networkId" | "frontendVips" | "portMappings">;

const FRONT_ENDS_MAX = 4_096;

function keyOf({ networkId, frontendVips, portMappings }: FormerFrontEnd): string {
  const ports = portMappings.map(({ protocol, externalPort }) => `${protocol}/${externalPort}`);
  return [networkId, ...frontendVips.map(formatIp), ...ports].join(" ");
}

export class FormerBackEnds {
  /** The oldest first. */
  private readonly known = new Map<string, readonly Guid[]>();

  note(loadBalancer: LoadBalancerRecord): void {
    const key = keyOf(loadBalancer);
    this.known.delete(key);
    this.known.set(key, loadBalancer.endpointIds);
    if (this.known.size <= FRONT_ENDS_MAX) return;
    const oldest = this.known.keys().next();
    if (oldest.done !== true) this.known.delete(oldest.value);
  }

  of(fields: FormerFrontEnd): readonly Guid[] | undefined {
    return this.known.size === 0 ? undefined : this.known.get(keyOf(fields));
  }

  clear(): void {
    this.known.clear();
  }
}

// The containers and virtual machines of the node, as far as HNS asks for them. They belong to the Host Compute
// Service, so they outlive a restart of HNS.

export interface ComputeSystemRecord {
  readonly id: string;
  readonly systemType: ComputeSystemType;
  readonly owner: string;
  readonly runtimeId: Guid;
  readonly namespaceId: Guid | undefined;
  /** Compartment of a container without a namespace; made with its first endpoint. */
  readonly compartmentId: number | undefined;
}

export class ComputeSystemRegistry {
  private readonly systems = new Map<string, ComputeSystemRecord>();

  get(id: string): ComputeSystemRecord | undefined {
    return this.systems.get(id);
  }

  /** @throws HcnError HCS_E_SYSTEM_NOT_FOUND. */
  require(id: string): ComputeSystemRecord {
    const found = this.systems.get(id);
    if (found !== undefined) return found;
    throw new HcnError("HCS_E_SYSTEM_NOT_FOUND", {
      detail: `There is no compute system ${JSON.stringify(id)}`,
    });
  }

  /** A virtual machine by its id or by its runtime id. */
  findVirtualMachine(id: string): ComputeSystemRecord | undefined {
    return this.list().find(
      (system) =>
        system.systemType === "VirtualMachine" &&
        (equalGuids(system.id, id) || equalGuids(system.runtimeId, id)),
    );
  }

  /** Enters a system, or its new record in the place of the old. */
  set(system: ComputeSystemRecord): void {
    this.systems.set(system.id, Object.freeze(system));
  }

  remove(id: string): void {
    this.systems.delete(id);
  }

  /** In order of creation. */
  list(): readonly ComputeSystemRecord[] {
    return [...this.systems.values()];
  }
}

// The ports that guest network services have reserved.

export interface Reservation {
  readonly handle: Guid;
  readonly serviceId: Guid;
  readonly protocol: number;
  readonly access: number;
  readonly startingPort: number;
  readonly endingPort: number;
  readonly isRange: boolean;
}

function overlap(a: Reservation, b: Reservation): boolean {
  if ((a.protocol & b.protocol) === 0) return false;
  return a.startingPort <= b.endingPort && b.startingPort <= a.endingPort;
}

function isShared(reservation: Reservation): boolean {
  return reservation.access === PORT_ACCESS.SHARED;
}

export class PortReservationTable {
  private readonly reservations = new Map<Guid, Reservation>();

  /** The reservation that stands in the way; those that share meet each other. */
  conflictWith(wanted: Reservation): Reservation | undefined {
    for (const present of this.reservations.values())
      if (overlap(wanted, present) && !(isShared(wanted) && isShared(present))) return present;
    return undefined;
  }

  add(reservation: Reservation): void {
    this.reservations.set(reservation.handle, reservation);
  }

  /** @returns false when there is no such reservation. */
  release(handle: Guid): boolean {
    return this.reservations.delete(handle);
  }

  releaseAllOf(serviceId: Guid): void {
    for (const { handle, serviceId: owner } of this.list()) if (owner === serviceId) this.release(handle);
  }

  list(): readonly Reservation[] {
    return [...this.reservations.values()];
  }
}
