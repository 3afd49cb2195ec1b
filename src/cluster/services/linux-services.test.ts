// Services on Linux nodes, as kube-proxy's iptables mode serves them: who answers, and which client address it sees.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { validateTrace } from "#test/support/cluster/report-schemas.ts";
import {
  CLUSTER_IP,
  type LinuxWorld,
  call,
  connectionLines,
  listen,
  makeService,
  makeSlice,
  netfilterOf,
  openLinuxWorld,
  say,
} from "#test/support/dataplane/linux-world.ts";
import { RuleSet } from "#dataplane/host/netfilter/rule-set.ts";
import { formatTrace } from "../trace/format-trace.ts";
import { tracePacket } from "../trace/trace.ts";

const LIN_1 = "10.0.0.21";
const LIN_2 = "10.0.0.22";
const NODES = ["lin-1", "lin-2"];

let world: LinuxWorld;
beforeEach(async () => {
  world = await openLinuxWorld();
});
afterEach(() => {
  vi.restoreAllMocks();
});

describe("ClusterIP", () => {
  it.each([
    ["pod, back end on the same node", "a", "b", "b saw 10.244.1.10"],
    ["pod, back end on another node", "a", "c", "c saw 10.244.1.10"],
    ["pod calls itself: hairpin, masqueraded with the bridge's address", "a", "a", "a saw 10.244.1.1"],
    ["node, back end on it", "lin-1", "a", "a saw 10.244.1.1"],
    ["node, back end on another node", "lin-1", "c", "c saw 10.0.0.21"],
    ["outside, routed to a node, back end on it", "external", "a", "a saw 10.244.1.1"],
    ["outside, routed to a node, back end on another", "external", "c", "c saw 10.0.0.21"],
  ])("%s", (_what, from, backEnd, answer) => {
    world.services.set(makeService(), [makeSlice(backEnd)]);
    expect(say(call(world, from, CLUSTER_IP, 80))).toBe(answer);
    expect(say(call(world, from, CLUSTER_IP, 53, { protocol: "udp" }))).toBe(answer);
  });

  it("a back end in the node's own network", () => {
    const { server } = world.cluster.pods[0]!;
    expect(server).toBeDefined();
    world.services.set(makeService(), [makeSlice("lin-1")]);
    // Nobody listens there: the refusal comes back through the translation.
    const result = call(world, "a", CLUSTER_IP, 80);
    expect(result.outcome).toBe("refused");
    expect(call(world, "lin-1", CLUSTER_IP, 80).outcome).toBe("refused");
  });

  it("spreads connections over all back ends", () => {
    world.services.set(makeService(), [makeSlice("a", "b", "c")]);
    const names = new Set(
      Array.from({ length: 24 }, () => say(call(world, "lin-2", CLUSTER_IP, 80)).split(" ")[0]),
    );
    expect(names).toEqual(new Set(["a", "b", "c"]));
  });

  it("another port of the address is nobody's", () => {
    world.services.set(makeService(), [makeSlice("b")]);
    expect(call(world, "a", CLUSTER_IP, 81).outcome).not.toBe("answered");
  });
});

describe("no endpoints", () => {
  it.each([
    ["pod", "a", CLUSTER_IP, 80],
    ["node", "lin-1", CLUSTER_IP, 80],
    ["outside, NodePort", "external", LIN_1, 30_080],
    ["node itself, NodePort", "lin-1", LIN_1, 30_080],
  ])("%s: refused at once (REJECT with port unreachable)", (_what, from, to, port) => {
    world.services.set(makeService(), [makeSlice()]);
    const events = listen(world);
    const result = call(world, from, to, port, { isFollowed: true });
    expect(result.outcome).toBe("refused");
    expect(events.lines()).toContain("1 drop lin-1/host service-without-endpoints");
  });

  it("endpoints that are going serve when there are no others", () => {
    const going = { ready: false, serving: true, terminating: true };
    world.services.set(makeService(), [makeSlice({ pod: "b", ...going }, { pod: "c", ready: false })]);
    expect(say(call(world, "a", CLUSTER_IP, 80))).toBe("b saw 10.244.1.10");
    world.services.set(makeService(), [makeSlice({ pod: "b", ...going }, "c")]);
    expect(say(call(world, "a", CLUSTER_IP, 80))).toBe("c saw 10.244.1.10");
  });
});

describe("NodePort, policy Cluster: masqueraded, whoever answers", () => {
  it.each([
    ["external", LIN_1, "a", "a saw 10.244.1.1"],
    ["external", LIN_1, "c", "c saw 10.0.0.21"],
    ["external", LIN_2, "a", "a saw 10.0.0.22"],
    ["lin-1", LIN_1, "a", "a saw 10.244.1.1"],
    ["lin-1", "127.0.0.1", "a", "a saw 10.244.1.1"],
    ["lin-1", LIN_2, "a", "a saw 10.0.0.22"],
    ["a", LIN_1, "c", "c saw 10.0.0.21"],
    ["a", "10.244.1.1", "b", "b saw 10.244.1.1"],
  ])("%s → %s, back end %s: %s", (from, to, backEnd, answer) => {
    world.services.set(makeService(), [makeSlice(backEnd)]);
    expect(say(call(world, from, to, 30_080))).toBe(answer);
    expect(say(call(world, from, to, 30_053, { protocol: "udp" }))).toBe(answer);
  });
});

describe("WALK-B-7 NodePort, policy Local on Linux nodes", () => {
  beforeEach(() => {
    world.services.set(makeService({ externalTrafficPolicy: "Local" }), [makeSlice("a")]);
  });

  it("outside → node with a back end: the client is kept", () => {
    expect(say(call(world, "external", LIN_1, 30_080))).toBe("a saw 203.0.113.10");
  });

  it("outside → node without a back end: dropped", () => {
    const events = listen(world);
    expect(call(world, "external", LIN_2, 30_080, { isFollowed: true }).outcome).toBe("timed-out");
    expect(events.lines()).toContain(
      "1 drop lin-2/host external-traffic-policy-local-without-local-endpoint",
    );
  });

  it.each([
    ["the node itself", "lin-2", LIN_2, "a saw 10.0.0.22"],
    ["a pod of the node", "c", LIN_2, "a saw 10.244.2.10"],
  ])("%s is not bound by the policy", (_what, from, to, answer) => {
    expect(say(call(world, from, to, 30_080))).toBe(answer);
  });

  it("the cluster address is not bound by it", () => {
    expect(say(call(world, "c", CLUSTER_IP, 80))).toBe("a saw 10.244.2.10");
  });
});

describe("a Service whose policy changes", () => {
  const local = makeService({ externalTrafficPolicy: "Local" });
  const outcome = (): string => {
    const result = call(world, "external", LIN_2, 30_080);
    return result.outcome === "answered" ? say(result) : result.outcome;
  };

  it("has the rules of the new one alone, there and back", () => {
    const slices = [makeSlice("a")];
    world.services.set(makeService(), slices);
    expect(outcome()).toBe("a saw 10.0.0.22");
    world.services.set(local, slices);
    expect(outcome()).toBe("timed-out");
    world.services.set(makeService(), slices);
    expect(outcome()).toBe("a saw 10.0.0.22");
  });

  it("and that goes afterwards has none on any node", () => {
    const reference = { namespace: "default", name: "web" };
    world.services.set(makeService(), [makeSlice("a")]);
    world.services.set(local, [makeSlice("a")]);
    const ownersOf = (node: string): readonly string[] => netfilterOf(world, node).listRuleOwners();
    for (const node of NODES) expect(ownersOf(node)).toContain("default/web");
    world.services.remove(reference);
    for (const node of NODES) expect(ownersOf(node)).not.toContain("default/web");
    for (const node of [LIN_1, LIN_2]) expect(call(world, "external", node, 30_080).outcome).toBe("refused");
  });
});

describe("internalTrafficPolicy Local", () => {
  beforeEach(() => {
    world.services.set(makeService({ type: "ClusterIP", internalTrafficPolicy: "Local" }), [
      makeSlice("b", "c"),
    ]);
  });

  it("back ends of the own node only", () => {
    for (let i = 0; i < 8; i++) expect(say(call(world, "a", CLUSTER_IP, 80))).toBe("b saw 10.244.1.10");
  });

  it("none on the node: dropped", () => {
    world.services.set(makeService({ internalTrafficPolicy: "Local" }), [makeSlice("c")]);
    const events = listen(world);
    expect(call(world, "a", CLUSTER_IP, 80, { isFollowed: true }).outcome).toBe("timed-out");
    expect(events.lines()).toContain("1 drop lin-1/host internal-policy-local-without-endpoint");
  });
});

describe("addresses from outside", () => {
  const INGRESS = "198.51.100.7";
  const status = { loadBalancer: { ingress: [{ ip: INGRESS }] } };

  it.each([
    ["externalIPs", makeService({ externalIPs: [INGRESS] }), "c saw 10.0.0.21"],
    ["load balancer ingress", makeService({ type: "LoadBalancer" }, status), "c saw 10.0.0.21"],
  ])("%s", (_what, service, answer) => {
    world.services.set(service, [makeSlice("c")]);
    expect(say(call(world, "external", INGRESS, 80))).toBe(answer);
  });

  it("ingress with ipMode Proxy is not the nodes'", () => {
    const proxied = { loadBalancer: { ingress: [{ ip: INGRESS, ipMode: "Proxy" }] } };
    world.services.set(makeService({ type: "LoadBalancer" }, proxied), [makeSlice("c")]);
    expect(call(world, "external", INGRESS, 80).outcome).not.toBe("answered");
  });

  it("loadBalancerSourceRanges hold for the ingress, not for NodePorts", () => {
    const spec = { type: "LoadBalancer", loadBalancerSourceRanges: ["192.0.2.0/24"] };
    world.services.set(makeService(spec, status), [makeSlice("c")]);
    const events = listen(world);
    expect(call(world, "external", INGRESS, 80, { isFollowed: true }).outcome).toBe("timed-out");
    expect(events.lines()).toContain("1 drop lin-1/host load-balancer-source-refused");
    expect(say(call(world, "external", LIN_1, 30_080))).toBe("c saw 10.0.0.21");
    const wide = { ...spec, loadBalancerSourceRanges: ["203.0.113.0/24"] };
    world.services.set(makeService(wide, status), [makeSlice("c")]);
    expect(say(call(world, "external", INGRESS, 80))).toBe("c saw 10.0.0.21");
  });
});

describe("session affinity", () => {
  const affine = makeService({
    sessionAffinity: "ClientIP",
    sessionAffinityConfig: { clientIP: { timeoutSeconds: 60 } },
  });

  it("a client keeps its back end until it was away for longer than the timeout", () => {
    world.services.set(affine, [makeSlice("a", "b", "c")]);
    const ask = (): string => say(call(world, "lin-2", CLUSTER_IP, 80)).split(" ")[0]!;
    const first = ask();
    for (let i = 0; i < 10; i++) expect(ask()).toBe(first);
    const seen = new Set<string>();
    for (let i = 0; i < 24; i++) {
      world.cluster.clock.runUntil(world.cluster.clock.nowMs + 61_000);
      seen.add(ask());
    }
    expect(seen.size).toBe(3);
  });

  it("a back end that is gone is not kept", () => {
    world.services.set(affine, [makeSlice("a", "b")]);
    const first = say(call(world, "lin-2", CLUSTER_IP, 80)).split(" ")[0]!;
    const other = first === "a" ? "b" : "a";
    world.services.set(affine, [makeSlice(other)]);
    expect(say(call(world, "lin-2", CLUSTER_IP, 80)).split(" ")[0]).toBe(other);
  });
});

describe("changes", () => {
  // pkg/proxy/conntrack/cleanup.go: only entries whose endpoint no longer serves are deleted.
  it("a datagram flow stays with an endpoint that serves on, whichever others come and go", () => {
    const flows = Array.from({ length: 12 }, (_, index) => ({
      protocol: "udp" as const,
      sourcePort: 5_400 + index,
    }));
    const ask = (): readonly string[] => flows.map((flow) => say(call(world, "lin-2", CLUSTER_IP, 53, flow)));
    world.services.set(makeService(), [makeSlice("a", "b")]);
    const before = ask();
    world.services.set(makeService(), [makeSlice("a", "b", "c")]);
    expect(ask()).toEqual(before);
    world.services.set(makeService(), [makeSlice("a", "c")]);
    const after = ask();
    const stayed = before.flatMap((answer, index) => (answer.startsWith("a ") ? [index] : []));
    expect(stayed.length).toBeGreaterThan(0);
    expect(stayed.map((index) => after[index])).toEqual(stayed.map((index) => before[index]));
    expect(after.filter((answer) => answer.startsWith("b "))).toEqual([]);
  });

  it("a datagram flow leaves an endpoint that is gone; a new Service takes over flows that had none", () => {
    world.services.set(makeService(), [makeSlice("b")]);
    const options = { protocol: "udp", sourcePort: 5_353 } as const;
    expect(say(call(world, "a", CLUSTER_IP, 53, options))).toBe("b saw 10.244.1.10");
    world.services.set(makeService(), [makeSlice("c")]);
    expect(say(call(world, "a", CLUSTER_IP, 53, options))).toBe("c saw 10.244.1.10");
    world.services.remove({ namespace: "default", name: "web" });
    expect(call(world, "a", CLUSTER_IP, 53, options).outcome).not.toBe("answered");
    world.services.set(makeService(), [makeSlice("b")]);
    expect(say(call(world, "a", CLUSTER_IP, 53, options))).toBe("b saw 10.244.1.10");
  });

  it("nodes that see a Service alike share its rules, frozen", () => {
    const put = vi.spyOn(RuleSet.prototype, "set");
    world.services.set(makeService(), [makeSlice("a", "c")]);
    expect(put).toHaveBeenCalledOnce();
    expect(Object.isFrozen(put.mock.lastCall?.[1])).toBe(true);
    put.mockClear();
    world.services.set(makeService({ externalTrafficPolicy: "Local" }), [makeSlice("a", "c")]);
    expect(put).toHaveBeenCalledTimes(NODES.length);
    const [first, second] = put.mock.calls.map(([, rules]) => rules);
    expect(second).not.toEqual(first);
  });

  it.each([
    ["headless", makeService({ clusterIP: "None" })],
    ["ExternalName", makeService({ type: "ExternalName", externalName: "example.com" })],
  ])("%s: no rules", (_what, service) => {
    const put = vi.spyOn(RuleSet.prototype, "set");
    world.services.set(service, [makeSlice("a")]);
    expect(put.mock.calls).toEqual([["default/web", {}]]);
  });
});

describe("pods and what is outside", () => {
  it.each([
    ["outside", "a", "203.0.113.10", 443, "external saw 10.0.0.21"],
    ["a pod of another node", "a", "10.244.2.10", 8080, "c saw 10.244.1.10"],
    ["a pod of the same node", "a", "10.244.1.11", 8080, "b saw 10.244.1.10"],
    ["the node's pod, from the node", "lin-1", "10.244.1.10", 8080, "a saw 10.244.1.1"],
    ["a pod of another node, from the node", "lin-1", "10.244.2.10", 8080, "c saw 10.0.0.21"],
  ])("%s", (_what, from, to, port, answer) => {
    expect(say(call(world, from, to, port))).toBe(answer);
  });

  it.each([
    ["outside", "external", LIN_1, "mapped saw 203.0.113.10"],
    ["a pod of the node: masqueraded", "a", LIN_1, "mapped saw 10.244.1.1"],
    ["the pod itself: masqueraded", "mapped", LIN_1, "mapped saw 10.244.1.1"],
    ["the node by its address", "lin-1", LIN_1, "mapped saw 10.0.0.21"],
    ["the node by 127.0.0.1: masqueraded", "lin-1", "127.0.0.1", "mapped saw 10.244.1.1"],
    ["a pod of another node: masqueraded there", "c", LIN_1, "mapped saw 10.0.0.22"],
  ])("hostPort from %s", (_what, from, to, answer) => {
    expect(say(call(world, from, to, 9_000))).toBe(answer);
  });

  it("ping from a pod to outside is masqueraded, too", () => {
    const events = listen(world);
    expect(call(world, "a", "203.0.113.10", 0, { protocol: "icmp", isFollowed: true }).outcome).toBe(
      "answered",
    );
    expect(connectionLines(world, "lin-1")).toEqual([
      "10.244.1.10→203.0.113.10:8 as 10.0.0.21→203.0.113.10:8",
    ]);
    expect(events.lines()).toContain("1 translate lin-1/host");
  });
});

describe("a trace of a call to a Service", () => {
  it("names the Service at each translation, fits the schema, and its text fits 100 columns", () => {
    world.services.set(makeService(), [makeSlice("c")]);
    const request = { from: "pod/a", to: CLUSTER_IP, protocol: "tcp", port: 80 } as const;
    const { report } = tracePacket(world.cluster, request);
    expect(report).toMatchObject({
      verdict: "answered",
      answer: expect.stringMatching(/^c saw 10\.244\.1\.10:/) as string,
    });
    const steps = report.forward.steps.filter((step) => step.kind === "translate");
    expect(steps).toMatchObject([
      { node: "lin-1", hook: "PREROUTING", provenance: { object: "Service", name: "default/web" } },
    ]);
    expect(steps[0]?.changes.map(({ field }) => field)).toEqual(
      expect.arrayContaining(["ip.dst", "tcp.dstport"]),
    );
    expect(validateTrace(JSON.parse(JSON.stringify(report))), JSON.stringify(validateTrace.errors)).toBe(
      true,
    );
    const text = formatTrace(report);
    expect(text.split("\n").filter((line) => line.length > 100)).toEqual([]);
    expect(text).toContain('from Service "default/web"');
  });

  it("from the node: what it sent itself is translated before it is sent, and told once", () => {
    world.services.set(makeService(), [makeSlice("a")]);
    const request = { from: "node/lin-1", to: CLUSTER_IP, protocol: "tcp", port: 80 } as const;
    const { report } = tracePacket(world.cluster, request);
    const kinds = report.forward.steps.map(({ kind, hook }) => hook ?? kind);
    expect(kinds.slice(0, 3)).toEqual(["OUTPUT", "POSTROUTING", "send"]);
    expect(kinds.filter((kind) => kind === "OUTPUT")).toHaveLength(1);
    expect(report.forward.steps[0]?.frame).toContain("10.244.1.10");
  });
});
