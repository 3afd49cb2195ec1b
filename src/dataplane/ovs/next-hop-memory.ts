/**
 * The memory of next hops: answers go back over the router that a connection came from, where several lead there (ovn-sb(5),
 * `commit_ecmp_nh`, `chk_ecmp_nh_mac`, `chk_ecmp_nh`). A memory lasts 30 seconds, and 20 without a packet
 * (https://github.com/ovn-org/ovn/blob/main/lib/actions.c, commit_ecmp_learn_action).
 */
import { LIMITS } from "#core/base/limits.ts";
import { type FiveTuple, reverseTuple } from "#core/net/five-tuple.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { readTuple, tupleKey } from "../host/netfilter/tuple.ts";
import type { PacketState } from "./packet-state.ts";

const LIFE_MS = 30_000;
const IDLE_MS = 20_000;

interface Memory {
  readonly endsAtMs: number;
  usedAtMs: number;
}

/** Addresses and ports; those of SCTP are none that connections are tracked by. */
function tupleOf({ fields }: PacketState): FiveTuple | undefined {
  const tuple = readTuple(fields.packet.bytes, fields.headers);
  if (tuple?.protocol !== IpProtocol.sctp) return tuple;
  const [sourcePort, destinationPort] = [Number(fields.read("sctp.src")), Number(fields.read("sctp.dst"))];
  return { ...tuple, sourcePort, destinationPort };
}

export class NextHopMemory {
  private readonly memories = new Map<string, Memory>();

  /** A packet came from its next hop: it, and what answers it, are known from here on. */
  commit(state: PacketState, nowMs: number): void {
    const tuple = tupleOf(state);
    if (tuple === undefined) return;
    if (this.memories.size >= LIMITS.trackedConnectionsMax) this.memories.clear();
    const key = `${state.datapath} ${tupleKey(tuple)}`;
    for (const each of [`${key} ${state.fields.read("eth.src")}`, key])
      this.memories.set(each, { endsAtMs: nowMs + LIFE_MS, usedAtMs: nowMs });
  }

  /** `chk_ecmp_nh_mac`: the packet is of a connection that came from this next hop. */
  isFromNextHop(state: PacketState, nowMs: number): boolean {
    const tuple = tupleOf(state);
    return (
      tuple !== undefined &&
      this.isKnown(`${state.datapath} ${tupleKey(tuple)} ${state.fields.read("eth.src")}`, nowMs)
    );
  }

  /** `chk_ecmp_nh`: the packet answers such a connection. */
  isAnswer(state: PacketState, nowMs: number): boolean {
    const tuple = tupleOf(state);
    return tuple !== undefined && this.isKnown(`${state.datapath} ${tupleKey(reverseTuple(tuple))}`, nowMs);
  }

  private isKnown(key: string, nowMs: number): boolean {
    const memory = this.memories.get(key);
    if (memory === undefined) return false;
    if (nowMs >= memory.endsAtMs || nowMs >= memory.usedAtMs + IDLE_MS) {
      this.memories.delete(key);
      return false;
    }
    memory.usedAtMs = nowMs;
    return true;
  }
}
