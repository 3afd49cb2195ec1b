import { describe, expect, it } from "vitest";
import type { FiveTuple } from "#core/net/five-tuple.ts";
import { memoryPair } from "../../device/memory-pair.ts";
import { cidr, ip, mac, makeEnvironment, prefix } from "#test/support/dataplane/stack-world.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { Host } from "../host.ts";
import { TrackedPacket } from "./connection-table.ts";
import { type Candidate, evaluate, isMatching } from "./translator.ts";
import { type Match, type Rule, type Target, RuleSet } from "./rule-set.ts";

const NODE = "10.0.0.21";

/** What rules see of a packet 10.244.1.10:1000 → `destination`. */
function candidate(destination = "10.96.0.10", port = 80, state: TrackedPacket["state"] = "new"): Candidate {
  const env = makeEnvironment();
  const { root } = new Host(env, { name: "lin-1", os: "linux" });
  const [device] = memoryPair(env.clock, { delayMs: 0 });
  const eth0 = root.addInterface({ name: "eth0", mac: mac("00-15-5D-00-00-11"), device });
  root.addAddress(eth0, cidr(`${NODE}/24`));
  const tuple: FiveTuple = {
    protocol: IpProtocol.tcp,
    source: ip("10.244.1.10"),
    sourcePort: 1_000,
    destination: ip(destination),
    destinationPort: port,
  };
  return { tuple, tracked: new TrackedPacket(state), compartment: root };
}

describe("one match", () => {
  it.each<[Match, boolean]>([
    [{}, true],
    [{ protocol: IpProtocol.tcp, destinationPort: 80 }, true],
    [{ protocol: IpProtocol.udp }, false],
    [{ destinationPort: 81 }, false],
    [{ source: prefix("10.244.0.0/16") }, true],
    [{ source: prefix("10.0.0.0/24") }, false],
    [{ notSource: prefix("10.244.0.0/16") }, false],
    [{ notSource: prefix("10.0.0.0/24") }, true],
    [{ destination: prefix("10.96.0.10/32") }, true],
    [{ destination: prefix("10.96.0.11/32") }, false],
    [{ notDestination: prefix("224.0.0.0/4") }, true],
    [{ notDestination: prefix("10.96.0.0/12") }, false],
    [{ isToLocal: true }, false],
    [{ isToLocal: false }, true],
    [{ isFromLocal: true }, false],
    [{ state: "new" }, true],
    [{ state: "invalid" }, false],
    [{ mark: 0x4000 }, false],
    [{ protocol: IpProtocol.tcp, source: prefix("10.0.0.0/8"), destinationPort: 81 }, false],
  ])("%j: %s", (match, expected) => {
    expect(isMatching(match, candidate())).toBe(expected);
  });

  it("a prefix of the other family holds no address", () => {
    expect(isMatching({ destination: prefix("fd00::/8") }, candidate())).toBe(false);
    expect(isMatching({ notDestination: prefix("fd00::/8") }, candidate())).toBe(true);
  });

  it("addresses of the machine are local, 127.0.0.0/8 among them", () => {
    expect(isMatching({ isToLocal: true }, candidate(NODE))).toBe(true);
    expect(isMatching({ isToLocal: true }, candidate("127.0.0.1"))).toBe(true);
  });
});

function rule(name: string, match: Match, target: Target): Rule {
  return { match, target, name, provenance: { object: "default", id: "test", name: "test" } };
}

const ACCEPT: Target = { kind: "accept" };
const RETURN: Target = { kind: "return" };
const web = { protocol: IpProtocol.tcp, destinationPort: 80 };

/** The name of the rule that decides, of rules given as sets of owners. */
function decided(sets: readonly (readonly Rule[])[], each: Candidate = candidate()): string | undefined {
  const list = sets.map((rules) => {
    const set = new RuleSet();
    set.set("owner", { "filter-forward": rules });
    return set;
  });
  return evaluate(list, "filter-forward", each)?.rule.name;
}

describe("rules together", () => {
  const toService = rule("service", { ...web, destination: prefix("10.96.0.10/32") }, ACCEPT);
  const toNode = rule("node port", { ...web, isToLocal: true }, ACCEPT);
  const toAll = rule("all", {}, ACCEPT);
  const jump = (...rules: readonly Rule[]): Rule =>
    rule("jump", {}, { kind: "jump", chain: { name: "X", rules } });

  it.each<[string, readonly (readonly Rule[])[], string | undefined]>([
    ["nothing", [[]], undefined],
    ["the destination before all others", [[toAll, toNode, toService]], "service"],
    ["in whatever set", [[toAll], [toService]], "service"],
    ["the first set first", [[toAll], [rule("later", {}, ACCEPT)]], "all"],
    ["a chain that decides", [[jump(toAll), rule("later", {}, ACCEPT)]], "all"],
    ["a chain that does not", [[jump(rule("udp", { protocol: 17 }, ACCEPT)), toAll]], "all"],
    ["a chain that returns", [[jump(rule("return", {}, RETURN), rule("never", {}, ACCEPT)), toAll]], "all"],
    [
      "a mark for a later rule",
      [[rule("mark", {}, { kind: "mark", bits: 0x4000 }), rule("marked", { mark: 0x4000 }, ACCEPT)]],
      "marked",
    ],
    [
      "another bit",
      [[rule("mark", {}, { kind: "mark", bits: 0x2000 }), rule("marked", { mark: 0x4000 }, ACCEPT)]],
      undefined,
    ],
  ])("%s", (_what, sets, expected) => {
    expect(decided(sets)).toBe(expected);
  });

  it("a port of the machine is found by any of its addresses", () => {
    expect(decided([[toNode]], candidate(NODE))).toBe("node port");
    expect(decided([[toNode]], candidate("10.0.0.22"))).toBeUndefined();
  });

  it("an owner's rules are replaced and taken away, and others' stay", () => {
    const set = new RuleSet();
    const forward = (each: Rule): { readonly "filter-forward": readonly Rule[] } => ({
      "filter-forward": [each],
    });
    const name = (): string | undefined => evaluate([set], "filter-forward", candidate())?.rule.name;
    set.set("a", forward(toService));
    set.set("b", forward(rule("b's", { ...web, destination: prefix("10.96.0.10/32") }, ACCEPT)));
    expect(name()).toBe("service");
    set.set("a", forward(rule("a's new one", toService.match, ACCEPT)));
    expect(name()).toBe("b's");
    set.remove("b");
    expect(name()).toBe("a's new one");
    set.remove("a");
    expect([name(), set.listOwners()]).toEqual([undefined, []]);
  });

  it("other hooks are not asked", () => {
    const set = new RuleSet();
    set.set("a", { "filter-input": [toAll] });
    expect(evaluate([set], "filter-forward", candidate())).toBeUndefined();
  });
});
