/** Lookups over real packets: a client, a router, the cluster's DNS server. */
import { describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import type { ClusterZone } from "#control-plane/dns/cluster-zone.ts";
import { emitResponse, serveDns } from "#control-plane/dns/serve.ts";
import { StaticZone } from "#control-plane/dns/static-zone.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import {
  DNS_ADDRESS,
  type NameWorld,
  POD_DNS,
  makeNameWorld,
  resolve,
  sentByClient,
  formatQuestion,
} from "#test/support/dataplane/name-world.ts";
import { eventsOf, listPorts } from "#test/support/dataplane/routed-pair.ts";
import { cidr, findWrongFrames, ip } from "#test/support/dataplane/stack-world.ts";
import type { UdpDatagram, UdpOwner, UdpSocket } from "../udp.ts";
import { parseHostsFile } from "./known-names.ts";
import { NameLookup } from "./name-lookup.ts";
import type { NameResult } from "./name-result.ts";

const KUBERNETES = ip("10.96.0.1");

/** Answers from another address than the one asked, as behind a Service whose answers are not translated back. */
class AnswerFromElsewhere implements UdpOwner {
  answeredCount = 0;
  private readonly zone: ClusterZone;

  constructor(zone: ClusterZone) {
    this.zone = zone;
  }

  udpReceived(socket: UdpSocket, { source, sourcePort, bytes }: UdpDatagram): void {
    const step = serveDns(bytes, [this.zone]);
    if (step.kind !== "reply") return;
    this.answeredCount++;
    const answer = emitResponse(step.response, step.bytesMax);
    socket.send({ destination: source, port: sourcePort, bytes: answer, source: DNS_ADDRESS });
  }

  udpFailed(): void {
    this.answeredCount = -1;
  }
}

function questions(result: NameResult): string[] {
  return result.questions.map(formatQuestion);
}

function codeOf(result: NameResult): string {
  return result.outcome === "failed" ? result.code : "resolved";
}

/** Seconds since the first question, at which questions left the client. */
function sentAtSeconds(world: NameWorld): number[] {
  const sent = sentByClient(world);
  return sent.map(({ atMs }) => Math.round((atMs - sent[0]!.atMs) / 1_000));
}

describe("a Windows pod", () => {
  it("resolves a Service of its namespace by its name alone", () => {
    const world = makeNameWorld();
    const result = resolve(world, "kubernetes");
    expect(result).toMatchObject({
      outcome: "resolved",
      addresses: [KUBERNETES],
      canonicalName: "kubernetes.default.svc.cluster.local.",
    });
    expect(questions(result)).toEqual(["A kubernetes.default.svc.cluster.local.: 10.96.0.1"]);
    expect(result.questions[0]).toMatchObject({ server: DNS_ADDRESS, sentCount: 1, isCached: false });
    expect(listPorts(world.pair).flatMap((port) => findWrongFrames(port.capture.frames))).toEqual([]);
  });

  // windows-networking-documentation.md §6.
  it.each([
    [
      "kubernetes.default.svc.cluster.local",
      "resolved",
      "A kubernetes.default.svc.cluster.local.: 10.96.0.1",
    ],
    ["web.shop.svc.cluster.local.", "resolved", "A web.shop.svc.cluster.local.: 10.96.0.20"],
    ["db-0.db.default.svc.cluster.local", "resolved", "A db-0.db.default.svc.cluster.local.: 10.0.2.20"],
    ["nobody.default.svc.cluster.local", "dns-name-unknown", "A nobody.default.svc.cluster.local.: NXDOMAIN"],
    ["shop.svc.cluster.local", "dns-no-address", "A shop.svc.cluster.local.: no A record"],
    ["web", "dns-single-suffix-only", "A web.default.svc.cluster.local.: NXDOMAIN"],
  ])("%s: %s", (name, code, question) => {
    const result = resolve(makeNameWorld(), name);
    expect(codeOf(result)).toBe(code);
    expect(questions(result)).toEqual([question]);
  });

  it.each(["kubernetes.default", "kubernetes.default.svc"])(
    "asks for %s as it is, and says that no suffix was added (DT-158)",
    (name) => {
      // The cluster's server asks its own servers, which know no such name.
      const world = makeNameWorld({ sources: [new StaticZone()] });
      const result = resolve(world, name);
      expect(result).toMatchObject({
        outcome: "failed",
        code: "dns-name-with-dot-not-completed",
        detail: `there is no ${name}.; a name with a dot gets no suffix`,
      });
      expect(questions(result)).toEqual([`A ${name}.: NXDOMAIN`]);
    },
  );

  it("remembers an answer as long as its records live", () => {
    const world = makeNameWorld();
    resolve(world, "kubernetes");
    const { clock } = world.pair.env;
    clock.runUntil(clock.nowMs + 29_000);
    const again = resolve(world, "KUBERNETES");
    expect(questions(again)).toEqual(["A KUBERNETES.default.svc.cluster.local.: 10.96.0.1 (remembered)"]);
    expect(sentByClient(world)).toHaveLength(1);
    clock.runUntil(clock.nowMs + 2_000);
    resolve(world, "kubernetes");
    expect(sentByClient(world)).toHaveLength(2);
  });

  it("DT-160 F-46 remembers for five minutes that there is no such name", () => {
    const world = makeNameWorld();
    resolve(world, "nobody");
    const { clock } = world.pair.env;
    clock.runUntil(clock.nowMs + 299_000);
    expect(codeOf(resolve(world, "nobody"))).toBe("dns-single-suffix-only");
    expect(sentByClient(world)).toHaveLength(1);
    clock.runUntil(clock.nowMs + 2_000);
    resolve(world, "nobody");
    expect(sentByClient(world)).toHaveLength(2);
  });

  it("remembers an answer for a day at most", () => {
    const zone = new StaticZone();
    zone.add({ name: "old.example", ttlSeconds: 1_000_000, type: "A", ip: ip("10.96.0.1") as Ipv4 });
    const world = makeNameWorld({ sources: [zone] });
    resolve(world, "old.example");
    const { clock } = world.pair.env;
    clock.runUntil(clock.nowMs + 86_399_000);
    expect(resolve(world, "old.example").questions[0]!.isCached).toBe(true);
    clock.runUntil(clock.nowMs + 2_000);
    expect(resolve(world, "old.example").questions[0]!.isCached).toBe(false);
  });

  // KB 2834226.
  it("asks at 0, 1, 2, 4 and 8 seconds, and gives up after 10", () => {
    const world = makeNameWorld();
    resolve(world, "warm-up");
    world.pair.client.capture.frames.length = 0;
    world.pair.server.lossy.loseNext = 100;
    const result = resolve(world, "kubernetes");
    expect(result).toMatchObject({ outcome: "failed", code: "dns-timeout", tookMs: 10_000 });
    expect(sentAtSeconds(world)).toEqual([0, 1, 2, 4, 8]);
    expect(new Set(sentByClient(world).map(({ message }) => message.id)).size).toBe(1);
  });

  it("takes an answer that comes late", () => {
    const world = makeNameWorld();
    world.pair.server.lossy.loseNext = 2;
    expect(resolve(world, "kubernetes")).toMatchObject({ outcome: "resolved" });
  });

  it("asks the second server after a second, and hears whoever answers", () => {
    const servers = [ip("10.0.2.99"), DNS_ADDRESS];
    const world = makeNameWorld({ dns: { ...POD_DNS, servers } });
    const result = resolve(world, "kubernetes");
    expect(result.outcome).toBe("resolved");
    expect(result.questions[0]).toMatchObject({ server: DNS_ADDRESS, asked: servers, sentCount: 2 });
    expect(sentAtSeconds(world)).toEqual([0, 1]);
  });

  it("has nobody to ask without a server", () => {
    const world = makeNameWorld({ dns: { ...POD_DNS, servers: [] } });
    expect(resolve(world, "kubernetes")).toMatchObject({ code: "dns-no-server", questions: [] });
    expect(sentByClient(world)).toEqual([]);
  });

  it("asks nobody for a single label without a suffix", () => {
    const world = makeNameWorld({ dns: { ...POD_DNS, search: [] } });
    expect(resolve(world, "kubernetes")).toMatchObject({ code: "dns-name-unknown", questions: [] });
  });
});

describe("a Linux pod", () => {
  it("goes through its suffixes and then asks for the name as it is", () => {
    const zone = new StaticZone();
    const world = makeNameWorld({ clientOs: "linux", sources: [zone] });
    const result = resolve(world, "nobody.example");
    expect(codeOf(result)).toBe("dns-name-unknown");
    expect(questions(result)).toEqual([
      "A nobody.example.default.svc.cluster.local.: NXDOMAIN",
      "A nobody.example.svc.cluster.local.: NXDOMAIN",
      "A nobody.example.cluster.local.: NXDOMAIN",
      "A nobody.example.: NXDOMAIN",
    ]);
  });

  it.each([
    [
      "kubernetes.default",
      [
        "A kubernetes.default.default.svc.cluster.local.: NXDOMAIN",
        "A kubernetes.default.svc.cluster.local.: 10.96.0.1",
      ],
    ],
    [
      "web.shop.svc",
      [
        "A web.shop.svc.default.svc.cluster.local.: NXDOMAIN",
        "A web.shop.svc.svc.cluster.local.: NXDOMAIN",
        "A web.shop.svc.cluster.local.: 10.96.0.20",
      ],
    ],
    ["db", ["A db.default.svc.cluster.local.: 10.0.2.20"]],
  ])("completes %s, which Windows does not", (name, expected) => {
    const result = resolve(makeNameWorld({ clientOs: "linux" }), name);
    expect(result.outcome).toBe("resolved");
    expect(questions(result)).toEqual(expected);
  });

  it("remembers nothing", () => {
    const world = makeNameWorld({ clientOs: "linux" });
    resolve(world, "kubernetes");
    resolve(world, "kubernetes");
    expect(sentByClient(world)).toHaveLength(2);
  });

  it("waits five seconds, twice, then tries the name as it is", () => {
    const world = makeNameWorld({ clientOs: "linux" });
    resolve(world, "kubernetes");
    world.pair.client.capture.frames.length = 0;
    world.pair.server.lossy.loseNext = 1_000;
    const result = resolve(world, "kubernetes");
    expect(result).toMatchObject({ code: "dns-timeout", tookMs: 20_000 });
    expect(sentAtSeconds(world)).toEqual([0, 5, 10, 15]);
    expect(result.questions.map(({ name }) => name)).toEqual([
      "kubernetes.default.svc.cluster.local.",
      "kubernetes.",
    ]);
  });

  it("takes the machine itself for its server when it has none", () => {
    const world = makeNameWorld({ clientOs: "linux", dns: { ...POD_DNS, servers: [] } });
    const result = resolve(world, "kubernetes");
    expect(result).toMatchObject({ code: "dns-no-server", tookMs: 0 });
    expect(result.questions[0]).toMatchObject({ asked: [ip("127.0.0.1")], outcome: "unreachable" });
  });
});

describe.each(["windows", "linux"] as const)("on %s", (clientOs) => {
  it("an address is no question, nor is localhost", () => {
    const world = makeNameWorld({ clientOs });
    expect(resolve(world, "10.1.2.3")).toMatchObject({ addresses: [ip("10.1.2.3")], questions: [] });
    expect(resolve(world, "LocalHost")).toMatchObject({ addresses: [ip("127.0.0.1")], questions: [] });
    expect(resolve(world, "localhost", { type: "AAAA" })).toMatchObject({ addresses: [ip("::1")] });
    expect(sentByClient(world)).toEqual([]);
  });

  it.each(["", "..", "a b", `${"x".repeat(64)}.example`])("%j is no name", (name) => {
    expect(resolve(makeNameWorld({ clientOs }), name)).toMatchObject({
      code: "dns-name-unknown",
      questions: [],
    });
  });

  it("asks from a port of its own with an id of its own each time", () => {
    const world = makeNameWorld({ clientOs });
    resolve(world, "kubernetes");
    resolve(world, "nobody.");
    const sent = sentByClient(world);
    expect(new Set(sent.map(({ sourcePort }) => sourcePort)).size).toBe(2);
    expect(new Set(sent.map(({ message }) => message.id)).size).toBe(2);
    const { first, last } = world.pair.client.compartment.profile.ephemeralPorts;
    expect(sent.every(({ sourcePort }) => sourcePort >= first && sourcePort <= last)).toBe(true);
    expect(world.pair.client.compartment.udp.listSockets()).toEqual([]);
  });

  it("asks for IPv6 addresses when they are wanted", () => {
    const result = resolve(makeNameWorld({ clientOs }), "kubernetes.default.svc.cluster.local.", {
      type: "AAAA",
    });
    expect(result).toMatchObject({ code: "dns-no-address" });
    expect(questions(result)).toEqual(["AAAA kubernetes.default.svc.cluster.local.: no AAAA record"]);
  });

  it("hears at once that nothing listens on the server's port", () => {
    const world = makeNameWorld({ clientOs, isServed: false });
    const result = resolve(world, "kubernetes.");
    expect(result).toMatchObject({ code: "dns-server-unreachable" });
    expect(result.questions[0]!.detail).toBe("destination port unreachable, says 10.0.2.20");
    expect(result.tookMs).toBeLessThan(1_000);
  });

  it("hears at once that there is no way to the server", () => {
    const world = makeNameWorld({ clientOs, dns: { ...POD_DNS, servers: [ip("fd00::10")] } });
    expect(resolve(world, "kubernetes.")).toMatchObject({ code: "dns-server-unreachable", tookMs: 0 });
  });

  it("hears that the server cannot find out", () => {
    const world = makeNameWorld({ clientOs, upstreams: [] });
    const result = resolve(world, "www.example.com.");
    expect(result).toMatchObject({ code: "dns-server-failure" });
    expect(result.questions[0]!.detail).toBe("REFUSED");
  });

  it("takes no answer from an address that it did not ask", () => {
    const world = makeNameWorld({ clientOs });
    const { compartment, netInterface } = world.pair.server;
    compartment.addAddress(netInterface, cidr("10.0.2.30/24"));
    world.pair.client.compartment.dns = { ...POD_DNS, servers: [ip("10.0.2.30")] };
    world.server.close();
    const owner = new AnswerFromElsewhere(world.zone);
    compartment.udp.bind({ owner, port: 53 });
    expect(codeOf(resolve(world, "kubernetes.default.svc.cluster.local."))).toBe("dns-timeout");
    expect(owner.answeredCount).toBeGreaterThan(0);
  });

  it("can be copied while it waits, and both copies end alike", () => {
    const world = makeNameWorld({ clientOs });
    const lookup = new NameLookup({ compartment: world.pair.client.compartment, name: "kubernetes" });
    lookup.start();
    const copy = fork({ world, lookup });
    world.pair.env.clock.runUntil(60_000);
    expect(copy.lookup.result).toBeUndefined();
    copy.world.pair.env.clock.runUntil(60_000);
    expect(copy.lookup.result).toEqual(lookup.result);
    expect(lookup.result).toMatchObject({ outcome: "resolved", addresses: [KUBERNETES] });
  });

  it("marks the question that a trace follows, and its answer", () => {
    const world = makeNameWorld({ clientOs });
    eventsOf(world.pair).events.length = 0;
    resolve(world, "kubernetes", { followedQuestion: 0 });
    const lines = eventsOf(world.pair).lines();
    expect(lines).toContain("1 deliver server/host");
    expect(lines.at(-1)).toBe("2 deliver client/host");
  });

  it("sends the same bytes from the same seed", () => {
    const run = (): string[] => {
      const world = makeNameWorld({ clientOs });
      resolve(world, "kubernetes");
      resolve(world, "db.default.svc.cluster.local.");
      return world.pair.client.capture.lines();
    };
    expect(run()).toEqual(run());
  });
});

describe("the hosts file", () => {
  const HOSTS = parseHostsFile(`# made for a test
    10.1.2.3  kubernetes  Files.Example  # two names
    10.1.2.4  files.example
    fd00::5   files.example
    nonsense  web
    10.1.2.5  api.default.svc.cluster.local`);

  it.each(["windows", "linux"] as const)("DT-167 is consulted first on %s: no packet is sent", (clientOs) => {
    const world = makeNameWorld({ clientOs });
    world.pair.client.compartment.hosts = HOSTS;
    expect(resolve(world, "kubernetes")).toMatchObject({ outcome: "resolved", addresses: [ip("10.1.2.3")] });
    expect(resolve(world, "FILES.example.")).toMatchObject({ addresses: [ip("10.1.2.3"), ip("10.1.2.4")] });
    expect(resolve(world, "files.example", { type: "AAAA" })).toMatchObject({ addresses: [ip("fd00::5")] });
    expect(sentByClient(world)).toEqual([]);
    expect(codeOf(resolve(world, "web.shop.svc.cluster.local."))).toBe("resolved");
    expect(sentByClient(world)).toHaveLength(1);
  });

  it("is asked for the completed name on Windows, too", () => {
    const world = makeNameWorld();
    world.pair.client.compartment.hosts = HOSTS;
    expect(resolve(world, "api")).toMatchObject({ addresses: [ip("10.1.2.5")] });
  });
});

describe("nslookup on Windows", () => {
  const manner = "nslookup" as const;

  it("DT-159 has a search of its own: every suffix, for names with a dot as well", () => {
    const world = makeNameWorld();
    expect(questions(resolve(world, "web.shop", { manner }))).toEqual([
      "A web.shop.default.svc.cluster.local.: NXDOMAIN",
      "A web.shop.svc.cluster.local.: 10.96.0.20",
    ]);
    expect(questions(resolve(world, "kubernetes.", { manner }))).toHaveLength(1);
  });

  it("DT-159 neither reads nor fills the cache, and does not read the hosts file", () => {
    const world = makeNameWorld();
    world.pair.client.compartment.hosts = parseHostsFile("10.1.2.3 kubernetes");
    for (let i = 0; i < 2; i++)
      expect(resolve(world, "kubernetes", { manner })).toMatchObject({ addresses: [KUBERNETES] });
    world.pair.client.compartment.hosts = parseHostsFile("");
    resolve(world, "kubernetes");
    resolve(world, "kubernetes", { manner });
    expect(sentByClient(world)).toHaveLength(4);
  });

  it("gives up two seconds after its second question", () => {
    const world = makeNameWorld();
    resolve(world, "warm-up");
    world.pair.client.capture.frames.length = 0;
    world.pair.server.lossy.loseNext = 100;
    expect(resolve(world, "kubernetes", { manner })).toMatchObject({ code: "dns-timeout", tookMs: 4_000 });
    expect(sentAtSeconds(world)).toEqual([0, 2]);
  });
});
