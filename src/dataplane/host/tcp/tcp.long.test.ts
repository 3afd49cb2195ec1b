/** Transfers over networks that lose, repeat and delay, with fresh seeds; a failure names its seed. */
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { listPorts, makeRoutedPair } from "#test/support/dataplane/routed-pair.ts";
import { findWrongFrames, ip } from "#test/support/dataplane/stack-world.ts";
import type { TcpConnection, TcpCloseReason, TcpOwner } from "./tcp-connection.ts";

const RUNS = 150;
const PORT = 8080;

/** Sends `bytes`, closes, and keeps what it hears. */
class Side implements TcpOwner {
  readonly received: number[] = [];
  reason: TcpCloseReason | undefined;
  private readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  tcpConnected(connection: TcpConnection): void {
    connection.send(this.bytes);
    connection.close();
  }

  tcpData(_connection: TcpConnection, bytes: Uint8Array): void {
    this.received.push(...bytes);
  }

  tcpPeerFinished(): void {
    // It closed when it connected.
  }

  tcpClosed(_connection: TcpConnection, reason: TcpCloseReason): void {
    this.reason = reason;
  }
}

/** @returns true when both streams arrived whole. */
function transfer(seed: string): boolean {
  const prng = new Prng(seed);
  const ratio = (limit: number): number => prng.below(limit) / 100;
  const os = (): "windows" | "linux" => (prng.below(2) === 0 ? "windows" : "linux");
  const serverMtuBytes = prng.below(3) === 0 ? 600 + prng.below(900) : 1_500;
  const pair = makeRoutedPair({ seed, clientOs: os(), serverOs: os(), serverMtuBytes });
  if (prng.below(2) === 0) pair.server.netInterface.mtuBytes = 1_500;
  for (const port of listPorts(pair)) {
    const options = {
      lossRatio: ratio(9),
      duplicateRatio: ratio(20),
      delayRatio: ratio(30),
      delayMaxMs: 1 + prng.below(400),
    };
    Object.assign(port.lossy, { options });
  }
  const data = (): Uint8Array => Uint8Array.from({ length: prng.below(60_000) }, () => prng.below(256));
  const [up, down] = [data(), data()];
  const [client, server] = [new Side(up), new Side(down)];
  pair.server.compartment.tcp.listen({ port: PORT, acceptor: { tcpAccepted: (): TcpOwner => server } });
  pair.client.compartment.tcp.connect({ destination: ip("10.0.2.20"), port: PORT, owner: client });
  expect(pair.env.clock.runUntilIdle(3_600_000)).toBe(true);
  expect(listPorts(pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
  expect(listPorts(pair).flatMap((port) => port.compartment.tcp.listConnections())).toEqual([]);
  // A connection may be given up when the network is bad enough, but it never delivers anything wrong.
  const isPrefix = (part: readonly number[], whole: Uint8Array): boolean =>
    part.every((byte, index) => byte === whole[index]);
  expect([isPrefix(client.received, down), isPrefix(server.received, up)]).toEqual([true, true]);
  const isFinished = client.reason === "finished" && server.reason === "finished";
  if (isFinished) expect([client.received.length, server.received.length]).toEqual([down.length, up.length]);
  return isFinished;
}

describe("TCP over bad networks", () => {
  it("delivers what was sent, or says that it gave up", () => {
    const base = Number(process.env["SEED"] ?? Math.floor(Math.random() * 1_000_000_000));
    let finished = 0;
    for (let run = 0; run < RUNS; run++) {
      const seed = `${base}/${run}`;
      try {
        if (transfer(seed)) finished++;
      } catch (error) {
        throw new Error(`seed ${seed} failed; transfer("${seed}") repeats it`, { cause: error });
      }
    }
    expect(finished, `of ${RUNS} runs from seed ${base}`).toBeGreaterThan(RUNS / 2);
  });
});
