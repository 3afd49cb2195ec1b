import { describe, expect, it } from "vitest";
import { parseIpv4 } from "#core/net/ip.ts";
import { BackEndForecast } from "./back-end.ts";
import { NatPool } from "./nat-pool.ts";
import { keyOfTurns } from "./nat-turns.ts";

const TCP = 6;
const NODE = parseIpv4("10.0.0.11")!;
const POD = parseIpv4("10.244.1.3")!;
const SERVICE = { by: POD, ip: parseIpv4("10.96.0.7")!, port: 80 };
const BACK_ENDS = 5;
const BLOCK = { first: 40_000, last: 40_063 };

function poolOf(block: typeof BLOCK): NatPool {
  let left = [block];
  const blocks = {
    acquire: () => {
      const [next] = left;
      left = [];
      return next;
    },
    release: () => undefined,
  };
  return new NatPool({ name: "tcp", ip: NODE, protocol: TCP, blocks });
}

function placesOf(ports: readonly (number | undefined)[]): readonly number[] {
  const connection = { protocol: TCP, source: NODE, destination: SERVICE.ip, destinationPort: SERVICE.port };
  const forecast = new BackEndForecast(connection);
  return ports.map((port) => forecast.placeOf(port ?? -1, BACK_ENDS));
}

describe("a NAT pool that chooses in turn", () => {
  const counts = new Map([[keyOfTurns(TCP, SERVICE.ip, SERVICE.port), BACK_ENDS]]);

  it("gives ports that lead to each place once in a round", () => {
    const pool = poolOf(BLOCK);
    pool.allocate();
    pool.chooseInTurn(counts);
    for (let round = 0; round < 3; round++) {
      const ports = Array.from({ length: BACK_ENDS }, () => pool.allocate(SERVICE));
      expect(new Set(placesOf(ports)).size).toBe(BACK_ENDS);
    }
    expect(pool.usedCount).toBe(1 + 3 * BACK_ENDS);
  });

  it("leads each of those who ask at the same time to each place once in a round of their own", () => {
    const pool = poolOf(BLOCK);
    pool.chooseInTurn(counts);
    const other = { ...SERVICE, by: parseIpv4("10.244.1.4")! };
    // One asks twice as often as the other.
    const turns = Array.from({ length: BACK_ENDS }, () => [
      pool.allocate(SERVICE),
      pool.allocate(other),
      pool.allocate(other),
    ]);
    expect(new Set(placesOf(turns.map(([own]) => own))).size).toBe(BACK_ENDS);
    const others = placesOf(turns.flatMap((own) => own.slice(1)));
    expect(new Set(others.slice(0, BACK_ENDS)).size).toBe(BACK_ENDS);
    expect(new Set(others.slice(BACK_ENDS)).size).toBe(BACK_ENDS);
  });

  it("gives one port after the other for whoever else is asked", () => {
    const pool = poolOf(BLOCK);
    pool.chooseInTurn(counts);
    const other = { ...SERVICE, port: 443 };
    expect([pool.allocate(other), pool.allocate(), pool.allocate(other)]).toEqual([40_000, 40_001, 40_002]);
  });

  it("gives every free port before it gives none, and none twice", () => {
    const pool = poolOf({ first: BLOCK.first, last: BLOCK.first + 7 });
    pool.chooseInTurn(counts);
    const ports = Array.from({ length: 9 }, () => pool.allocate(SERVICE));
    expect(ports[8]).toBeUndefined();
    expect(new Set(ports.slice(0, 8)).size).toBe(8);
  });
});
