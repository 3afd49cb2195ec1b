/** What a packet carries through the pipelines of a logical network. */
import type { Packet } from "#core/wire/packet.ts";
import type { TrackedPacket } from "../host/netfilter/connection-table.ts";
import type { Place } from "./language/actions.ts";
import type { FieldBits } from "./language/match.ts";
import { PacketFields, chooseBits, replaceBits } from "./packet-fields.ts";

/** Fields that live beside the frame. */
const METADATA: ReadonlySet<string> = new Set([
  "xxreg0",
  "xxreg1",
  "xreg4",
  "flags",
  "ct_mark",
  "ct_label",
  "ct_state",
  "pkt.mark",
]);

/** True for a field that is no part of the frame. */
export function isMetadata(base: string): boolean {
  return METADATA.has(base);
}

/** What is known of a packet in the zone where it was looked up last. */
export interface PacketTracking {
  readonly zone: string;
  readonly tracked: TrackedPacket;
  /** What stood beside the connection when it was looked up; undefined for one that was in no table yet. */
  readonly found: { readonly mark: bigint; readonly label: bigint } | undefined;
  /** `ct_state` as the datapath has it; flows see it from the next table on. */
  readonly bits: number;
}

export class PacketState {
  /** Id of the datapath that it is in. */
  datapath: string;
  inport: string;
  outport = "";
  fields: PacketFields;
  /** What `push` has put aside for `pop`, the last first. */
  readonly stack: (bigint | string)[] = [];
  /** What connection tracking found last; flows see what `showConnection` took from it. */
  tracking: PacketTracking | undefined;
  private readonly metadata = new Map<string, bigint>();

  constructor(datapath: string, inport: string, packet: Packet | PacketFields) {
    this.datapath = datapath;
    this.inport = inport;
    this.fields = packet instanceof PacketFields ? packet : new PacketFields(packet);
  }

  /** One of its own, with the same metadata. */
  copy(): PacketState {
    const copy = new PacketState(this.datapath, this.inport, this.fields.copy());
    copy.outport = this.outport;
    copy.tracking = this.tracking;
    copy.stack.push(...this.stack);
    for (const [name, value] of this.metadata) copy.metadata.set(name, value);
    return copy;
  }

  /** Becomes a packet that the chassis made; connection tracking knows nothing of it. */
  become(packet: Packet): void {
    packet.tag = this.fields.packet.tag;
    this.fields = new PacketFields(packet);
    this.clearConnection();
  }

  /** Lets flows see what connection tracking found; `bits` is another state than that. */
  showConnection(bits?: number): void {
    const { tracking } = this;
    if (tracking === undefined) return;
    this.metadata.set("ct_state", BigInt(bits ?? tracking.bits));
    this.metadata.set("ct_mark", tracking.tracked.connection?.mark ?? 0n);
    this.metadata.set("ct_label", tracking.tracked.connection?.label ?? 0n);
  }

  /** Registers end with the ingress pipeline; flags, marks and connection state go on. */
  clearRegisters(): void {
    for (const name of ["xxreg0", "xxreg1", "xreg4"]) this.metadata.delete(name);
  }

  clearConnection(): void {
    this.tracking = undefined;
    for (const name of ["ct_state", "ct_mark", "ct_label"]) this.metadata.delete(name);
  }

  /** Goes into another datapath at `port` with nothing of this one's metadata. */
  enter(datapath: string, port: string): void {
    this.metadata.clear();
    this.tracking = undefined;
    this.datapath = datapath;
    this.inport = port;
    this.outport = "";
  }

  read(field: FieldBits): bigint {
    return chooseBits(this.readWhole(field.base), field);
  }

  private readWhole(base: string): bigint {
    return METADATA.has(base) ? (this.metadata.get(base) ?? 0n) : this.fields.read(base);
  }

  /** Writes bits; false where the frame has no such field. */
  write(field: FieldBits, value: bigint): boolean {
    const whole = replaceBits(this.readWhole(field.base), field, value);
    if (!METADATA.has(field.base)) return this.fields.write(field.base, whole);
    this.metadata.set(field.base, whole);
    return true;
  }

  readPlace(place: Place): bigint | string {
    return place.kind === "port" ? this[place.port] : this.read(place.field);
  }

  writePlace(place: Place, value: bigint | string): boolean {
    if (place.kind === "field") return typeof value === "bigint" && this.write(place.field, value);
    if (typeof value !== "string") return false;
    this[place.port] = value;
    return true;
  }
}
