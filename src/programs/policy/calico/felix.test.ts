// Felix on a Windows node against HNS in memory: what it writes, row by row (control-planes.md §7.2).
import { describe, expect, it } from "vitest";
import { PolicyNode, input, namespace, pod, policy } from "#test/support/policy/policy-node.ts";
import { withPriorities } from "./policy-set.ts";

const WEB = "10.244.2.10";
const CLIENT = "10.244.2.11";
const NODE_RULE = "In 900 Allow 256 remote 10.0.2.15/32";
const OPEN_IN = ["In 1000 Allow 256", "In 1001 Block 256"];
const OPEN_OUT = ["Out 1000 Allow 256", "Out 1001 Block 256"];

const PODS = [pod("web", WEB, { app: "web" }), pod("client", CLIENT, { app: "client" })];

async function node(network = "Calico"): Promise<PolicyNode> {
  const made = await PolicyNode.create(network);
  await made.addPod(WEB);
  await made.addPod(CLIENT);
  return made;
}

/** The rules of the web pod under these policies. */
async function rulesUnder(policies: Parameters<typeof input>[0]): Promise<readonly string[]> {
  const made = await node();
  await made.felix(input(policies, PODS)).engine.sync();
  return made.rules(WEB);
}

const INGRESS = { policyTypes: ["Ingress"] };

describe("ACLs of Calico (control-planes.md §7.2)", () => {
  it("CP-P1: of an inbound rule the source is remote, the port local", async () => {
    const from = [{ ipBlock: { cidr: "10.9.0.0/16" } }];
    const rules = await rulesUnder([policy("p", { ...INGRESS, ingress: [{ from, ports: [{ port: 80 }] }] })]);
    expect(rules).toEqual([
      NODE_RULE,
      "In 1000 Allow 6 local ports 80 remote 10.9.0.0/16",
      "In 1001 Block 256",
      ...OPEN_OUT,
    ]);
  });

  it("CP-P1: of an outbound rule destination and port are remote", async () => {
    const to = [{ podSelector: { matchLabels: { app: "client" } } }];
    const egress = [{ to, ports: [{ port: 53, protocol: "UDP" }] }];
    const rules = await rulesUnder([policy("p", { policyTypes: ["Egress"], egress })]);
    expect(rules).toEqual([
      NODE_RULE,
      ...OPEN_IN,
      `Out 1000 Allow 17 remote ports 53 remote ${CLIENT}/32`,
      "Out 1001 Block 256",
    ]);
  });

  it("CP-P3: a range of ports stays one; ports that touch become one", async () => {
    const range = [{ port: 80, endPort: 83 }];
    const touching = [{ port: 80 }, { port: 81 }, { port: 443 }];
    const [, first] = await rulesUnder([policy("p", { ...INGRESS, ingress: [{ ports: range }] })]);
    const [, second] = await rulesUnder([policy("p", { ...INGRESS, ingress: [{ ports: touching }] })]);
    expect(first).toBe("In 1000 Allow 6 local ports 80-83");
    expect(second).toBe("In 1000 Allow 6 local ports 80-81,443");
  });

  it.each([
    [
      "CP-P4: an except",
      { from: [{ ipBlock: { cidr: "10.9.0.0/16", except: ["10.9.1.0/24"] } }] },
      "network-policy-except",
    ],
    ["CP-P5: a named port", { ports: [{ port: "http" }] }, "network-policy-named-port"],
    ["a range of IPv6", { from: [{ ipBlock: { cidr: "fd00::/8" } }] }, "network-policy-ipv6"],
  ])("%s leaves out its rule, and the others stay", async (_what, rule, code) => {
    const made = await node();
    const given = policy("p", { ...INGRESS, ingress: [rule, { ports: [{ port: 8080 }] }] });
    const { findings } = await made.felix(input([given], PODS)).engine.sync();
    expect(findings.map((each) => [each.code, each.policy])).toEqual([[code, "default/p"]]);
    expect(await made.rules(WEB)).toEqual([
      NODE_RULE,
      "In 1000 Allow 6 local ports 8080",
      "In 1001 Block 256",
      ...OPEN_OUT,
    ]);
  });

  it("CP-P6: nine thousand addresses are three ACLs", async () => {
    const many = Array.from({ length: 9_000 }, (_, index) =>
      pod(`c${index}`, `10.${100 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`, { app: "many" }),
    );
    const from = [{ podSelector: { matchLabels: { app: "many" } } }];
    const made = await node();
    const given = policy("p", {
      ...INGRESS,
      podSelector: { matchLabels: { app: "web" } },
      ingress: [{ from }],
    });
    await made.felix(input([given], [...PODS, ...many])).engine.sync();
    const allowing = (await made.acls(WEB)).filter(({ Id = "" }) => Id.startsWith("policy-"));
    expect(allowing.map(({ RemoteAddresses = "" }) => RemoteAddresses.split(",").length)).toEqual([
      4_000, 4_000, 1_000,
    ]);
    expect(allowing.map(({ Id = "" }) => Id.slice(-2))).toEqual(["-0", "-1", "-2"]);
  });

  it("CP-P7: an allow and the block behind it have 1000 and 1001", async () => {
    const rules = await rulesUnder([policy("p", { ...INGRESS, ingress: [{ ports: [{ port: 80 }] }] })]);
    expect(rules.filter((rule) => rule.startsWith("In 1"))).toEqual([
      "In 1000 Allow 6 local ports 80",
      "In 1001 Block 256",
    ]);
  });

  it("CP-P7: priorities count up; with too many rules those of one action share one", () => {
    const acl = (Action: "Allow" | "Block") => ({
      acl: { Action, Direction: "In" as const },
      origin: { why: "rule" as const, direction: "ingress" as const, policies: [] },
    });
    const list = [acl("Allow"), acl("Allow"), acl("Block")];
    expect(withPriorities(list, 65_000).map((each) => each.acl.Priority)).toEqual([1_000, 1_001, 1_002]);
    expect(withPriorities(list, 1_003).map((each) => each.acl.Priority)).toEqual([1_000, 1_000, 1_001]);
  });

  it("CP-P8: a rule about nobody is not written; without any rule the block is left", async () => {
    const nobody = [{ podSelector: { matchLabels: { app: "none" } } }];
    const both = await rulesUnder([
      policy("p", { ...INGRESS, ingress: [{ from: nobody }, { ports: [{ port: 80 }] }] }),
    ]);
    const alone = await rulesUnder([policy("p", { ...INGRESS, ingress: [{ from: nobody }] })]);
    expect(both.slice(0, 3)).toEqual([NODE_RULE, "In 1000 Allow 6 local ports 80", "In 1001 Block 256"]);
    expect(alone.slice(0, 2)).toEqual([NODE_RULE, "In 1001 Block 256"]);
  });

  it("CP-P11: each endpoint lets its node in, and has Host rules for the firewall", async () => {
    const made = await node();
    await made.felix(input([], PODS)).engine.sync();
    for (const address of [WEB, CLIENT]) {
      expect(await made.rules(address)).toEqual([NODE_RULE, ...OPEN_IN, ...OPEN_OUT]);
      const hosts = (await made.acls(address)).filter(({ RuleType }) => RuleType === "Host");
      expect(hosts.map(({ Direction, Action, Priority }) => [Direction, Action, Priority])).toEqual([
        ["In", "Allow", 0],
        ["Out", "Allow", 0],
      ]);
    }
  });

  it("CP-P12: an endpoint that no container has is passed by", async () => {
    const made = await PolicyNode.create("Calico");
    await made.addPod(WEB, false);
    const report = await made.felix(input([policy("deny", INGRESS)], PODS)).engine.sync();
    expect([report.networks, report.written]).toEqual([[], []]);
    expect(await made.rules(WEB)).toEqual([]);
  });

  it("CP-P13: any protocol is 256, through HNS v1", async () => {
    const made = await node();
    await made.felix(input([], PODS)).engine.sync();
    expect((await made.acls(WEB)).map(({ Protocols }) => Protocols)).toEqual(Array(7).fill("256"));
  });
});

describe("what Calico finds", () => {
  it.each([
    ["Calico", "(?i)calico.*", true],
    ["calico-vxlan", "(?i)calico.*", true],
    ["cbr0", "(?i)calico.*", false],
    ["cbr0", "cbr0", true],
    ["azure", "azure.*", true],
    ["azure", "^azur$", false],
    ["flannel.4096", "vxlan0|flannel.4096", true],
  ])("network %s under KUBE_NETWORK %s: %s", async (name, pattern, isFound) => {
    const made = await node(name);
    const { networks } = await made.felix(input([policy("deny", INGRESS)], PODS), pattern).engine.sync();
    expect(networks).toEqual(isFound ? [name] : []);
    expect((await made.rules(WEB)).length > 0).toBe(isFound);
  });

  it("policies of other types stay on the endpoint", async () => {
    const made = await node();
    const before = await made.otherPolicies(WEB);
    await made.felix(input([policy("deny", INGRESS)], PODS)).engine.sync();
    expect(before).toContain("OutBoundNAT");
    expect(await made.otherPolicies(WEB)).toEqual(before);
  });
});

describe("changes", () => {
  it("a changed policy is written where it selects, and nowhere else", async () => {
    const made = await node();
    const web = { podSelector: { matchLabels: { app: "web" } } };
    const other = policy("other", { podSelector: { matchLabels: { app: "client" } } });
    const { engine, update } = made.felix(input([policy("p", { ...web, ...INGRESS }), other], PODS));
    expect((await engine.sync()).written).toHaveLength(2);
    expect((await engine.sync()).written).toEqual([]);
    update(input([policy("p", { ...web, ...INGRESS, ingress: [{}] }), other], PODS));
    expect((await engine.sync()).written).toEqual([made.endpoints.get(WEB)]);
    expect(await made.rules(WEB)).toEqual([NODE_RULE, ...OPEN_IN, ...OPEN_OUT]);
  });

  it("a pod that comes is in the rules that select it", async () => {
    const made = await node();
    const from = [{ namespaceSelector: { matchLabels: { team: "a" } }, podSelector: {} }];
    const given = policy("p", { ...INGRESS, ingress: [{ from }] });
    const namespaces = [namespace("default"), namespace("a", { team: "a" })];
    const { engine, update } = made.felix(input([given], PODS, namespaces));
    await engine.sync();
    expect((await made.rules(WEB))[1]).toBe("In 1001 Block 256");
    update(input([given], [...PODS, pod("x", "10.244.3.7", {}, "a")], namespaces));
    await engine.sync();
    expect((await made.rules(WEB))[1]).toBe("In 1000 Allow 256 remote 10.244.3.7/32");
  });
});
