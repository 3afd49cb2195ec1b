// Azure NPM on a Windows node against HNS in memory: what it writes, row by row (control-planes.md §7.2).
import { describe, expect, it } from "vitest";
import { HcnError } from "#contracts/hcn/error.ts";
import { PolicyNode, input, namespace, pod, policy } from "#test/support/policy/policy-node.ts";
import { hashedName } from "./ip-sets.ts";
import { NPM } from "./npm-policy.ts";

const WEB = "10.244.2.10";
const CLIENT = "10.244.2.11";
const NODE_RULE = "In 201 Allow any remote 10.0.2.15";
/** The first server that NPM runs on (Azure/azure-container-networking, docs/npm.md). */
const WS2022 = { profile: "ws2022" };
const PODS = [pod("web", WEB, { app: "web" }), pod("client", CLIENT, { app: "client" })];
const INGRESS = { policyTypes: ["Ingress"] };
const OF_CLIENT = { podSelector: { matchLabels: { app: "client" } } };
const OF_WEB = { podSelector: { matchLabels: { app: "web" } } };

async function node(network = "azure"): Promise<PolicyNode> {
  const made = await PolicyNode.create(network, WS2022);
  await made.addPod(WEB);
  await made.addPod(CLIENT);
  return made;
}

async function rulesUnder(policies: Parameters<typeof input>[0]): Promise<readonly string[]> {
  const made = await node();
  await made.npm(input(policies, PODS)).engine.sync();
  return made.rules(WEB);
}

describe("ACLs of Azure NPM (control-planes.md §7.2)", () => {
  it("CP-P2: the source's sets of an inbound rule are local, the port too", async () => {
    const made = await node();
    const ingress = [{ from: [OF_CLIENT], ports: [{ port: 80 }] }];
    await made.npm(input([policy("p", { ...INGRESS, ...OF_WEB, ingress })], PODS)).engine.sync();
    const sets = await made.sets();
    const client = sets.get("podlabel-app:client");
    const own = sets.get("ns-default");
    expect(await made.rules(WEB)).toEqual([
      `In 222 Allow 6 local ports 80 local ${client?.id ?? ""},${own?.id ?? ""}`,
      "In 3000 Block any",
      NODE_RULE,
    ]);
    expect([client?.values, own?.values]).toEqual([CLIENT, `${WEB},${CLIENT}`]);
    expect(await made.rules(CLIENT)).toEqual([]);
  });

  it("CP-P2: the destination's sets of an outbound rule are remote, the port too", async () => {
    const to = [{ namespaceSelector: { matchLabels: { team: "a" } } }];
    const egress = [{ to, ports: [{ port: 53, protocol: "UDP" }] }];
    const rules = await rulesUnder([policy("p", { ...OF_WEB, policyTypes: ["Egress"], egress })]);
    const set = hashedName("nslabel-team:a");
    expect(rules).toEqual([
      `Out 222 Allow 17 remote ports 53 remote ${set}`,
      "Out 3000 Block any",
      NODE_RULE,
    ]);
  });

  it("CP-P3: a range of ports is written out", async () => {
    const [first] = await rulesUnder([
      policy("p", { ...INGRESS, ingress: [{ ports: [{ port: 80, endPort: 83 }] }] }),
    ]);
    expect(first).toBe("In 222 Allow 6 local ports 80,81,82,83");
  });

  const NOT_IN_ANY = { matchExpressions: [{ key: "team", operator: "NotIn", values: ["a"] }] };
  it.each([
    [
      "CP-P4: an except",
      { from: [{ ipBlock: { cidr: "10.9.0.0/16", except: ["10.9.1.0/24"] } }] },
      "network-policy-except",
    ],
    ["CP-P5: a named port", { ports: [{ port: "http" }] }, "network-policy-named-port"],
    ["SCTP", { ports: [{ port: 80, protocol: "SCTP" }] }, "network-policy-sctp"],
    ["a range of IPv6", { from: [{ ipBlock: { cidr: "fd00::/8" } }] }, "network-policy-ipv6"],
    ["pods by NotIn", { from: [{ podSelector: NOT_IN_ANY }] }, "network-policy-negated-selector"],
    ["namespaces by NotIn", { from: [{ namespaceSelector: NOT_IN_ANY }] }, "network-policy-negated-selector"],
  ])("%s ends the whole policy", async (_what, rule, code) => {
    const made = await node();
    const given = policy("p", { ...INGRESS, ingress: [rule, { ports: [{ port: 8080 }] }] });
    const { findings } = await made.npm(input([given], PODS)).engine.sync();
    expect(findings.map((each) => [each.code, each.policy])).toEqual([[code, "default/p"]]);
    expect(await made.rules(WEB)).toEqual([]);
  });

  it("namespaces by NotIn for egress are written as if they were meant", async () => {
    const egress = [{ to: [{ namespaceSelector: NOT_IN_ANY }] }];
    const [first] = await rulesUnder([policy("p", { policyTypes: ["Egress"], egress })]);
    expect(first).toBe(`Out 222 Allow any remote ${hashedName("nslabel-team:a")}`);
  });

  it("CP-P9: when a policy goes, the rules of the others and other policies stay", async () => {
    const made = await node();
    const stays = policy("stays", { ...INGRESS, ingress: [{ ports: [{ port: 80 }] }] });
    const goes = policy("goes", { ...INGRESS, ingress: [{ ports: [{ port: 81 }] }] });
    const { engine, update } = made.npm(input([stays, goes], PODS));
    const before = await made.otherPolicies(WEB);
    await engine.sync();
    update(input([stays], PODS));
    await engine.sync();
    expect(await made.rules(WEB)).toEqual(["In 222 Allow 6 local ports 80", "In 3000 Block any", NODE_RULE]);
    expect(await made.otherPolicies(WEB)).toEqual(before);
  });

  it("CP-P10: it looks for its network 240 times, every 5 seconds, and begins when it is there", async () => {
    const made = PolicyNode.bare("azure", WS2022);
    const { engine } = made.npm(input([policy("deny", INGRESS)], PODS));
    expect([NPM.networkTries, NPM.networkWaitS]).toEqual([240, 5]);
    expect((await engine.sync()).networks).toEqual([]);
    await made.addNetwork();
    await made.addPod(WEB);
    expect((await engine.sync()).networks).toEqual(["azure"]);
    expect(await made.rules(WEB)).toEqual(["In 3000 Block any", NODE_RULE]);
  });

  it("CP-P10: after 240 times it gives up", async () => {
    const made = PolicyNode.bare("azure", WS2022);
    const { engine } = made.npm(input([], PODS));
    for (let count = 0; count < 240; count++) await engine.sync();
    expect(engine.hasGivenUp).toBe(true);
    await made.addNetwork();
    expect((await engine.sync()).networks).toEqual([]);
  });

  it("CP-P11: each policy lets the pod's node in", async () => {
    const rules = await rulesUnder([policy("a", INGRESS), policy("b", INGRESS)]);
    expect(rules.filter((rule) => rule === NODE_RULE)).toHaveLength(2);
  });

  it("CP-P12: an endpoint that no container has is passed by", async () => {
    const made = await PolicyNode.create("azure", WS2022);
    await made.addPod(WEB, false);
    const { written } = await made.npm(input([policy("deny", INGRESS)], PODS)).engine.sync();
    expect(written).toEqual([]);
    expect(await made.rules(WEB)).toEqual([]);
  });

  it("CP-P13: any protocol is no field, through HCN v2", async () => {
    const made = await node();
    await made.npm(input([policy("deny", INGRESS)], PODS)).engine.sync();
    expect((await made.acls(WEB)).map(({ Protocols }) => Protocols)).toEqual([undefined, undefined]);
  });

  it("on Calico's network each endpoint has base rules", async () => {
    const made = await node("Calico");
    await made.npm(input([], PODS), "Calico").engine.sync();
    expect(await made.rules(WEB)).toEqual([
      "Out 200 Block 6 remote ports 80 remote 168.63.129.16/32",
      "In 65499 Allow any",
      "Out 65499 Allow any",
    ]);
  });
});

describe("sets of Azure NPM", () => {
  // FNV-1a with 32 bits: http://www.isthe.com/chongo/tech/comp/fnv/
  it.each([
    ["", "azure-npm-2166136261"],
    ["a", "azure-npm-3826002220"],
    ["foobar", "azure-npm-3214735720"],
  ])("the id of %j is %s", (name, id) => {
    expect(hashedName(name)).toBe(id);
  });

  it("sets of namespaces have sets as members; empty ones the empty set", async () => {
    const made = await node();
    const from = [{ namespaceSelector: { matchLabels: { team: "none" } } }];
    const namespaces = [namespace("default", { team: "a" })];
    await made.npm(input([policy("p", { ingress: [{ from }] })], PODS, namespaces)).engine.sync();
    const sets = await made.sets();
    const own = hashedName("ns-default");
    expect(sets.get("all-namespaces")).toBeUndefined();
    expect(sets.get("nslabel-all-namespaces")?.values).toBe(own);
    expect(sets.get("nslabel-team:a")?.values).toBe(own);
    expect(sets.get("nslabel-team:none")?.values).toBe(hashedName("empty-emptyhashset"));
  });

  it("a pod that comes changes sets and no rule; what nothing needs goes", async () => {
    const made = await node();
    const given = policy("p", { ...INGRESS, ...OF_WEB, ingress: [{ from: [OF_CLIENT] }] });
    const { engine, update } = made.npm(input([given], PODS));
    await engine.sync();
    update(input([given], [...PODS, pod("more", "10.244.3.7", { app: "client" })]));
    expect((await engine.sync()).written).toEqual([]);
    expect((await made.sets()).get("podlabel-app:client")?.values).toBe(`${CLIENT},10.244.3.7`);
    update(input([given], [pod("web", WEB, { app: "web" })]));
    await engine.sync();
    expect((await made.sets()).get("podlabel-app:client")?.values).toBe("");
  });

  it("HNS without sets of sets refuses them, and that is said", async () => {
    const made = await PolicyNode.create("azure", { profile: "ws2019" });
    await made.addPod(WEB);
    const { findings } = await made.npm(input([policy("deny", INGRESS)], PODS)).engine.sync();
    expect(findings.map(({ code }) => code)).toEqual(["policy-engine-refused"]);
    expect(await made.rules(WEB)).toEqual([]);
  });

  it("sets that HNS does not remove are said, and asked to go again", async () => {
    const made = await node();
    const { engine, update } = made.npm(
      input([policy("p", { ...OF_WEB, ingress: [{ from: [OF_CLIENT] }] })], PODS),
    );
    await engine.sync();
    const { client } = made.hns;
    const modify = client.modify.bind(client);
    client.modify = async (kind, id, settings) => {
      if (settings["RequestType"] === "Remove" && kind === "Network")
        throw new HcnError("HCN_E_INVALID_POLICY");
      await modify(kind, id, settings);
    };
    update(input([], [pod("web", WEB, { app: "web" })]));
    expect((await engine.sync()).findings.map(({ code }) => code)).toEqual(["policy-engine-refused"]);
    client.modify = modify;
    expect((await engine.sync()).findings).toEqual([]);
    expect([...(await made.sets()).keys()]).not.toContain("podlabel-app:client");
  });

  it("a policy that goes with its pods goes from their endpoints", async () => {
    const made = await node();
    const { engine, update } = made.npm(
      input([policy("p", { ...OF_WEB, ingress: [{ from: [OF_CLIENT] }] })], PODS),
    );
    await engine.sync();
    update(input([], []));
    expect((await engine.sync()).findings).toEqual([]);
    expect(await made.rules(WEB)).toEqual([]);
  });

  it("fifty policies of three rules come in calls of at most thirty", async () => {
    const made = await node();
    const many = Array.from({ length: 50 }, (_, index) =>
      policy(`p${index}`, { ...INGRESS, ...OF_WEB, ingress: [{ ports: [{ port: index + 1 }] }] }),
    );
    const sizes: number[] = [];
    const { client } = made.hns;
    const modify = client.modify.bind(client);
    client.modify = async (kind, id, settings) => {
      const { Policies = [] } = (settings["Settings"] ?? {}) as { readonly Policies?: readonly unknown[] };
      if (kind === "Endpoint") sizes.push(Policies.length);
      await modify(kind, id, settings);
    };
    await made.npm(input(many, PODS)).engine.sync();
    expect(sizes).toEqual([30, 30, 30, 30, 30]);
  });
});
