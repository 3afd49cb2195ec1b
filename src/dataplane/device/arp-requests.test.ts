import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import type { Ip } from "#core/net/ip.ts";
import { Packet } from "#core/wire/packet.ts";
import { ArpRequests } from "./arp-requests.ts";
import { memoryPair } from "./memory-pair.ts";

const [ONE, OTHER] = memoryPair(new VirtualClock(), { delayMs: 1 });

/** Addresses of which a machine knows who has them, as a table of neighbours has them. */
function known(...ips: readonly number[]) {
  const all = new Set(ips as readonly Ip[]);
  return { size: all.size, has: (ip: Ip): boolean => all.has(ip), addresses: (): Iterable<Ip> => all };
}

function requestsFrom(...senders: readonly number[]): ArpRequests {
  const requests = new ArpRequests();
  for (const senderIp of senders)
    requests.add({ senderIp: senderIp as Ip, targetIp: 99 as Ip }, Packet.ofLength(42), ONE);
  return requests;
}

// RFC 826: who sent is noted only by who knows it, however many it knows and however many have sent.
describe("requests of one moment are from a neighbour", () => {
  it.each([
    ["the only neighbour", requestsFrom(1, 2, 3), known(2), true],
    ["one of many neighbours", requestsFrom(2), known(1, 2, 3), true],
    ["somebody who is none of few", requestsFrom(1, 2, 3), known(4), false],
    ["somebody who is none of many", requestsFrom(4), known(1, 2, 3), false],
  ])("%s", (_name, requests, neighbours, expected) => {
    expect(requests.areFrom(neighbours, OTHER)).toBe(expected);
    // What came by a cable does not go back by it.
    expect(requests.areFrom(neighbours, ONE)).toBe(false);
  });
});
