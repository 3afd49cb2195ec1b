// OVN-Kubernetes on Windows nodes without OVN on the machine: what packets of pods meet (control-planes.md §4.2, §4.4, §4.5).
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { formatIp } from "#core/net/ip.ts";
import { execute } from "#cluster/exec/exec.ts";
import { formatTrace } from "#cluster/trace/format-trace.ts";
import { policy } from "#test/support/policy/policy-cluster.ts";
import {
  EXAMPLE,
  OBJECTS,
  traced,
  verified,
  saidOf,
  codeOf,
  write,
} from "#test/support/cluster/ovn-world.ts";
import type { LogicalFlowExtension } from "#dataplane/ovs/logical-flow-extension.ts";
import { tracePacket } from "#cluster/trace/trace.ts";
import { type SessionWorld, apply, openSessionWorld, remove } from "#test/support/cluster/session-world.ts";

describe("between nodes", () => {
  // go-controller, pkg/config: mtu 1400; GENEVE takes 58 bytes of the wire's 1500.
  it("pods have an MTU that leaves room for the tunnel, and datagrams that are longer arrive in fragments", async () => {
    const world = await openSessionWorld(EXAMPLE);
    const { cluster } = world.session;
    const run = (line: string): string =>
      execute(cluster, { from: "pod/client", command: line.split(" ") }).stdout;
    expect(run("netsh interface ipv4 show interfaces")).toMatch(/ 1400 .*vEthernet/);
    const api = cluster.pods.find(({ spec }) => spec.name === "api");
    const address = formatIp(defined(api, "the example has the pod").address);
    expect(run(`ping -n 1 -f -l 1372 ${address}`)).toContain("bytes=1372");
    expect(run(`ping -n 1 -f -l 1373 ${address}`)).toContain("Packet needs to be fragmented but DF set.");
    expect(run(`ping -n 1 -l 3000 ${address}`)).toContain("bytes=3000");
  });

  it("CP-O26: with a chassis for the node's router port, the router's key and that of cr-rtos go through the tunnel", async () => {
    const world = await openSessionWorld(EXAMPLE);
    const rows = world.session["ovn"]!.sb;
    const keyOf = (table: string, column: string, name: string): unknown =>
      [...rows.rowsOf(table).values()].find((row) => JSON.stringify(row[column]).includes(`"${name}"`))?.[
        "tunnel_key"
      ];
    const router = Number(keyOf("Datapath_Binding", "external_ids", "ovn_cluster_router"));
    const redirect = Number(keyOf("Port_Binding", "logical_port", "cr-rtos-win-2"));
    const said = saidOf(traced(world, "pod/client", "pod/api"));
    expect(said).toContain(router.toString(16).padStart(6, "0"));
    const option = said.split("geneve.option.unknown.data")[1] ?? "";
    expect(option.slice(0, 40)).toContain(`${redirect.toString(16).padStart(4, "0")}"`);
  });

  it("CP-O9: MACs follow from addresses, and port security is what the port's addresses are", async () => {
    const world = await openSessionWorld(EXAMPLE);
    const ports = [...world.session["ovn"]!.nb.rowsOf("Logical_Switch_Port").values()];
    const api = ports.find((row) => row["name"] === "default_api");
    expect([api?.["addresses"], api?.["port_security"], api?.["up"]]).toEqual([
      "0a:58:0a:80:01:03 10.128.1.3",
      "0a:58:0a:80:01:03 10.128.1.3",
      true,
    ]);
  });

  it("CP-O18: pods of the other node are reached by the connected route, the outside by the node's own gateway router", async () => {
    const world = await openSessionWorld(EXAMPLE);
    expect(saidOf(traced(world, "pod/client", "pod/api"))).toContain("GENEVE to win-2");
    const outside = traced(world, "pod/client", "external", 443);
    expect(outside.verdict).toBe("answered");
    expect(saidOf(outside)).toContain("logical flows: output to br-ex_win-1");
  });

  it("CP-O24: a frame to a MAC that no port has ends in the switch", async () => {
    const world = await openSessionWorld(EXAMPLE);
    await write(world, {
      op: "update",
      table: "Logical_Switch_Port",
      where: [["name", "==", "default_web"]],
      row: { addresses: ["set", []], port_security: ["set", []] },
    });
    expect(codeOf(world, "pod/client", "pod/web")).not.toBe("answered");
  });
});

describe("what a Windows chassis cannot do", () => {
  it("CP-O46: an endpoint whose MAC is not that of its logical port is cut off by port security", async () => {
    const world = await openSessionWorld(EXAMPLE);
    const give = async (mac: string): Promise<void> => {
      const addresses = `${mac} 10.128.0.3`;
      await write(world, {
        op: "update",
        table: "Logical_Switch_Port",
        where: [["name", "==", "default_client"]],
        row: { addresses, port_security: addresses },
      });
    };
    await give("0a:58:0a:80:00:99");
    // Its question for the router's MAC is dropped already. The other pods of the node are as they were.
    const cut = traced(world, "pod/client", "pod/api");
    expect([cut.code, cut.summary]).toEqual([
      "ovn-packet-dropped",
      expect.stringMatching(
        /Port security of the logical port default_client allows 0a:58:0a:80:00:99 10\.128\.0\.3 alone, and the endpoint has 0a:58:0a:80:00:03/,
      ),
    ]);
    expect(codeOf(world, "pod/web", "pod/api")).toBe("answered");
    await give("0a:58:0a:80:00:03");
    expect(codeOf(world, "pod/client", "pod/api")).toBe("answered");
  });

  it("CP-O50: no flow asks for check_pkt_larger or a meter, and no router port has gateway_mtu", async () => {
    const world = await openSessionWorld(EXAMPLE, OBJECTS);
    const { nb, sb } = world.session["ovn"]!;
    const ports = [...nb.rowsOf("Logical_Router_Port").values()].map(({ options }) =>
      JSON.stringify(options),
    );
    expect(ports.filter((options) => options.includes("gateway_mtu"))).toEqual([]);
    const flows = [...sb.rowsOf("Logical_Flow").values()].map(({ actions }) => String(actions));
    expect([
      flows.length > 500,
      flows.filter((each) => /check_pkt_larger|set_meter|log\(/.test(each)),
    ]).toEqual([true, []]);
    expect(codeOf(world, "pod/client", "external", 443)).toBe("answered");
    const nodes = world.session.cluster.objects.Node;
    const said = nodes.map((node) =>
      JSON.stringify(node).includes('"k8s.ovn.org/gateway-mtu-support":"false"'),
    );
    expect(said).toEqual([true, true]);
  });
});

describe("STT between nodes", () => {
  it("CP-O32: carries the same keys in its context, and the cluster is as green as with GENEVE", async () => {
    const world = await openSessionWorld(
      EXAMPLE.replace("encapsulation: geneve", "encapsulation: stt"),
      OBJECTS,
    );
    const rows = world.session["ovn"]!.sb;
    expect([...rows.rowsOf("Encap").values()].map(({ type }) => type)).toEqual(["stt", "stt"]);
    const report = traced(world, "pod/client", "service/web", 80);
    expect(report.verdict).toBe("answered");
    const out = report.forward.steps.find(({ text }) => text === "logical flows: output to STT to win-2");
    expect(out?.changes.find(({ field }) => field === "tcp.dstport")?.after).toBe("7471");
    expect(codeOf(world, "pod/api", "external", 443)).toBe("answered");
    expect(verified(world).findings).toEqual([]);
  });
});

describe("a trace", () => {
  it("names each logical flow that decided, with its object and the one of Kubernetes behind it", async () => {
    const { forward } = traced(await openSessionWorld(EXAMPLE, OBJECTS), "pod/client", "service/web", 80);
    const pipelines = forward.steps.filter(({ kind }) => kind === "pipeline");
    expect(pipelines.map(({ node, text }) => `${node} ${text}`)).toEqual([
      'win-1 ingress(dp="win-1", inport="default_client")',
      'win-1 egress(dp="win-1", inport="default_client", outport="stor-win-1")',
      'win-1 ingress(dp="ovn_cluster_router", inport="rtos-win-1")',
      'win-2 egress(dp="ovn_cluster_router", inport="rtos-win-1", outport="rtos-win-2")',
      'win-2 ingress(dp="win-2", inport="stor-win-2")',
      'win-2 egress(dp="win-2", inport="stor-win-2", outport="default_api")',
    ]);
    const logical = pipelines.flatMap((step) => step.logical ?? []);
    expect(logical.find(({ stage }) => stage === "ls_in_lb")).toMatchObject({
      table: 12,
      priority: 120,
      match: "ct.new && ip4.dst == 10.96.0.20 && tcp.dst == 80",
      object: "Load_Balancer Service_default/web_TCP_cluster, Service default/web",
    });
    expect(logical.flatMap(({ object }) => object ?? [])).toContain(
      "Logical_Switch_Port default_api, Pod default/api",
    );
    expect(pipelines[1]?.changes.map(({ field }) => field)).toEqual(expect.arrayContaining(["ip.dst"]));
    expect(formatTrace(traced(await openSessionWorld(EXAMPLE, OBJECTS), "pod/client", "pod/web"))).toContain(
      "        25. ls_in_l2_lkup: eth.dst == 0a:58:0a:80:00:04, priority 50, uuid ",
    );
  });
});

describe("Services", () => {
  const FRONT = "10.0.0.12";

  it("balance without a kube-proxy, and lead a back end to itself", async () => {
    const world = await openSessionWorld(EXAMPLE, OBJECTS);
    expect(codeOf(world, "pod/client", "service/web", 80)).toBe("answered");
    expect(codeOf(world, "pod/web", "service/web", 80)).toBe("answered");
    expect(codeOf(world, "external", `${FRONT}:30080`, 30_080)).toBe("answered");
    expect(world.session.servicesOn("win-1")).toBeUndefined();
  });

  it("refuse when nothing is behind them", async () => {
    const none = OBJECTS.replaceAll("app: web", "app: nobody");
    const report = traced(await openSessionWorld(EXAMPLE, none), "pod/client", "service/web", 80);
    expect(report.verdict).toBe("refused");
  });
});

describe("NetworkPolicies", () => {
  it("of what pods send see the pod behind a Service", async () => {
    const spec =
      "{ podSelector: { matchLabels: { app: client } }, policyTypes: [Egress], egress: [{ to: [{ podSelector: { matchLabels: { app: web } } }] }] }";
    const labelled = EXAMPLE.replace("name: client\n", "name: client\n    labels: { app: client }\n");
    const world = await openSessionWorld(labelled, OBJECTS, policy(spec));
    expect(codeOf(world, "pod/client", "service/web", 80)).toBe("answered");
    expect(codeOf(world, "pod/client", "external", 443)).toBe("ovn-packet-dropped");
  });
});

describe("a change", () => {
  /** Connections that the chassis of a node has in a zone. */
  function connectionsOf({ session }: SessionWorld, node: string, zone: string): number {
    const { hns } = session.cluster.nodes.find(({ spec }) => spec.name === node)!;
    const extension = hns!.listSwitches()[0]!.extension as LogicalFlowExtension;
    return extension["chassis"].zones.list(zone, session.cluster.clock.nowMs).length;
  }

  it("of policies leaves the connections of all chassis as they are, and a pod takes its own along", async () => {
    const world = await openSessionWorld(EXAMPLE, OBJECTS);
    const request = {
      from: "pod/client",
      to: "pod/api",
      protocol: "tcp",
      port: 8080,
      isInjected: true,
    } as const;
    expect(tracePacket(world.session.cluster, request).report.verdict).toBe("answered");
    const zones = (): readonly number[] => [
      connectionsOf(world, "win-1", "port default_client"),
      connectionsOf(world, "win-2", "port default_api"),
    ];
    const before = zones();
    expect(Math.min(...before)).toBeGreaterThan(0);
    await apply(world, policy("{ podSelector: { matchLabels: { app: none } }, policyTypes: [Ingress] }"));
    expect(zones()).toEqual(before);
    await remove(world, "Pod/api");
    expect(zones()).toEqual([before[0], 0]);
  });

  it("compiles again what has other texts, and nothing else", async () => {
    const world = await openSessionWorld(EXAMPLE, OBJECTS);
    const flowsOf = (): ReadonlySet<unknown> => {
      const { network } = world.session["ovn"]!["network"];
      return new Set([...network["tables"].values()].flat().map(({ match }) => match));
    };
    const before = flowsOf();
    await apply(world, policy("{ podSelector: { matchLabels: { app: web } }, policyTypes: [Ingress] }"));
    const fresh = [...flowsOf()].filter((match) => !before.has(match));
    expect([before.size > 500, fresh.length > 0, fresh.length < 60]).toEqual([true, true, true]);
  });
});

describe("ports that have names", () => {
  const POD = `apiVersion: v1
kind: Pod
metadata: { name: shop, labels: { app: shop } }
spec:
  nodeName: win-2
  containers:
    - { name: shop, image: shop, ports: [{ name: web, containerPort: 8080 }, { name: admin, containerPort: 9090 }] }
`;

  it.each([
    ["web", "answered", "ovn-packet-dropped"],
    ["admin", "ovn-packet-dropped", "answered"],
    ["nothing", "ovn-packet-dropped", "ovn-packet-dropped"],
  ])("are those of the pods that a policy selects: %s", async (name, web, admin) => {
    const spec = `{ podSelector: { matchLabels: { app: shop } }, ingress: [{ ports: [{ port: ${name} }] }] }`;
    const world = await openSessionWorld(EXAMPLE, POD, policy(spec));
    const asked = [
      codeOf(world, "pod/client", "pod/shop", 8080),
      codeOf(world, "pod/client", "pod/shop", 9090),
    ];
    expect(asked).toEqual([web, admin]);
  });
});
