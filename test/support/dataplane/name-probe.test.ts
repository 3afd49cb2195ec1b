import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { type NameWorld, makeNameWorld } from "./name-world.ts";
import { eventsOf } from "./routed-pair.ts";
import { ip } from "./stack-world.ts";
import { NameProbe, type NameProbeOptions, formatResolution } from "./name-probe.ts";
import { IdentificationServer } from "#dataplane/host/services/identification-server.ts";

function world(): NameWorld {
  const made = makeNameWorld();
  const server = new IdentificationServer(made.pair.server.compartment, "db-0");
  server.listenTcp(80);
  server.listenUdp(80);
  return made;
}

function probe(made: NameWorld, name: string, options: Partial<NameProbeOptions> = {}): NameProbe {
  const { compartment } = made.pair.client;
  const attempt = new NameProbe({ compartment, name, protocol: "tcp", port: 80, ...options });
  attempt.start();
  const endMs = made.pair.env.clock.nowMs + 60_000;
  while (attempt.result === undefined && made.pair.env.clock.nowMs < endMs && made.pair.env.clock.step());
  return attempt;
}

describe("NameProbe", () => {
  it.each([
    ["tcp", "db-0 saw 10.0.1.10:"],
    ["udp", "db-0 saw 10.0.1.10:"],
    ["icmp", "echo reply from 10.0.2.20"],
  ] as const)("resolves the name and reaches its address by %s", (protocol, answer) => {
    const attempt = probe(world(), "db", { protocol });
    expect(attempt.resolution).toMatchObject({ outcome: "resolved", addresses: [ip("10.0.2.20")] });
    expect(attempt.address).toBe(ip("10.0.2.20"));
    expect(attempt.result).toMatchObject({ outcome: "answered" });
    expect(attempt.result).toHaveProperty("answer", expect.stringContaining(answer));
    expect(formatResolution(attempt.resolution!)).toBe("db: 10.0.2.20");
  });

  it("says why a name led nowhere", () => {
    const attempt = probe(world(), "nobody");
    expect(attempt.address).toBeUndefined();
    expect(attempt.result).toEqual({
      outcome: "unreachable",
      detail:
        "nobody does not resolve: there is no nobody.default.svc.cluster.local.; the suffixes svc.cluster.local, cluster.local are not tried",
    });
  });

  it("says what the address said", () => {
    expect(probe(world(), "db", { port: 81 }).result).toMatchObject({ outcome: "refused" });
  });

  it.each([
    ["connection", "the handshake's first packet", 6],
    [{ question: 0 }, "the question", 17],
  ] as const)("lets a trace follow %j: %s", (followed, _title, protocol) => {
    const made = world();
    eventsOf(made.pair).events.length = 0;
    probe(made, "db", { followed });
    const { events } = eventsOf(made.pair);
    const taken = events.filter(({ tag, event }) => tag === 1 && event.kind === "deliver");
    expect(taken).toHaveLength(1);
    expect(taken[0]!.frame[23]).toBe(protocol);
  });

  it("can be copied at any moment", () => {
    const made = world();
    const attempt = new NameProbe({
      compartment: made.pair.client.compartment,
      name: "db",
      protocol: "tcp",
      port: 80,
    });
    attempt.start();
    while (attempt.resolution === undefined) made.pair.env.clock.step();
    const copy = fork({ made, attempt });
    copy.made.pair.env.clock.runUntil(60_000);
    made.pair.env.clock.runUntil(60_000);
    expect(attempt.result).toMatchObject({ outcome: "answered" });
    expect(copy.attempt.result).toEqual(attempt.result);
  });
});
