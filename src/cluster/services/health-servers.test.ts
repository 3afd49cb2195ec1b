// Health checks of load balancers, asked with real packets as a cloud asks them: at nodes, and at a Service's address.
import { beforeAll, describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { TcpProbe } from "#dataplane/host/probes/probe.ts";
import { parseIp } from "#core/net/ip.ts";
import {
  type SessionWorld,
  apply,
  ask,
  clusterText,
  openSessionWorld,
  remove,
  service,
} from "#test/support/cluster/session-world.ts";
import { type Cluster, forkCluster } from "../cluster.ts";
import { findTraceEnd } from "../trace/find-trace-end.ts";

const LOCAL_VIP = "198.51.100.0";
const CLUSTER_VIP = "198.51.100.1";
const CHECK_PORT = 32_000;
const PROXY_PORT = 10_256;

function pod(name: string, node: string): string {
  return `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: web } }
spec:
  nodeName: ${node}
  containers: [{ name: c, image: server, ports: [{ containerPort: 8080 }] }]
---`;
}

const PORT = "selector: { app: web }, ports: [{ port: 80, targetPort: 8080 }]";
const SERVICES =
  service(
    "local",
    `type: LoadBalancer, loadBalancerIP: ${LOCAL_VIP}, externalTrafficPolicy: Local, healthCheckNodePort: ${CHECK_PORT}, ${PORT}`,
  ) + service("everywhere", `type: LoadBalancer, loadBalancerIP: ${CLUSTER_VIP}, ${PORT}`);

/** What a load balancer outside hears when it says `question`. */
function say(cluster: Cluster, address: string, port: number, question: string): string {
  const copy = forkCluster(cluster);
  const probe = new TcpProbe({
    compartment: defined(findTraceEnd(copy, "external").compartment, "a host outside"),
    destination: defined(parseIp(address), "an address"),
    port,
    question,
  });
  probe.start();
  while (probe.result === undefined && copy.clock.step());
  const result = defined(probe.result, "a probe ends");
  return result.outcome === "answered" ? result.answer : result.outcome;
}

function get(cluster: Cluster, address: string, port: number, path = "/healthz"): string {
  return say(cluster, address, port, `GET ${path} HTTP/1.1\r\nHost: ${address}\r\n\r\n`);
}

function statusOf(answer: string): string {
  return /^HTTP\/1\.1 (\d+)/.exec(answer)?.[1] ?? answer;
}

async function worldWith(fields: string): Promise<SessionWorld> {
  return openSessionWorld(clusterText(fields), pod("web-1", "win-1") + SERVICES);
}

let world: SessionWorld;
beforeAll(async () => {
  world = await worldWith("kubeProxy: { forwardHealthCheckVip: true }");
});

describe("health checks of a cluster", () => {
  it("KP-F6: the node with a pod says 200 and how many, the others 503 (kube-proxy.md §5.1)", () => {
    const { cluster } = world.session;
    const answer = get(cluster, "10.0.0.11", CHECK_PORT, "/");
    expect(statusOf(answer)).toBe("200");
    expect(answer).toContain("X-Load-Balancing-Endpoint-Weight: 1\r\n");
    expect(answer).toContain('"localEndpoints": 1');
    expect(["10.0.0.12", "10.0.0.21"].map((node) => statusOf(get(cluster, node, CHECK_PORT)))).toEqual([
      "503",
      "503",
    ]);
  });

  it("every kube-proxy answers for itself (§5.2)", () => {
    const { cluster } = world.session;
    const answer = get(cluster, "10.0.0.12", PROXY_PORT);
    expect(statusOf(answer)).toBe("200");
    expect(answer).toContain('"nodeEligible": true');
    expect(statusOf(get(cluster, "10.0.0.12", PROXY_PORT, "/livez"))).toBe("200");
    expect(statusOf(get(cluster, "10.0.0.12", PROXY_PORT, "/metrics"))).toBe("404");
  });

  it("KP-F6 KP-F7: a check to the Service's address is answered by the node that it leads to", () => {
    const { cluster } = world.session;
    expect(get(cluster, LOCAL_VIP, CHECK_PORT)).toContain('"localEndpoints": 1');
    expect(statusOf(get(cluster, CLUSTER_VIP, PROXY_PORT))).toBe("200");
    // The Service itself is reached as before.
    expect(ask(world, "external", LOCAL_VIP)).toMatch(/^web-1 saw /);
  });

  it("what is no request of HTTP gets 400, as from a server in Go", () => {
    expect(statusOf(say(world.session.cluster, LOCAL_VIP, CHECK_PORT, "hello\n"))).toBe("400");
  });

  it("KP-F8: without the flag nobody answers at the Service's address", async () => {
    const { session } = await worldWith("");
    expect(statusOf(get(session.cluster, "10.0.0.11", CHECK_PORT))).toBe("200");
    expect(get(session.cluster, LOCAL_VIP, CHECK_PORT)).not.toContain("HTTP/1.1");
  });

  it("answers follow the pods, and servers the Services", async () => {
    const changing = await worldWith("kubeProxy: { forwardHealthCheckVip: true }");
    const { cluster } = changing.session;
    await apply(changing, pod("web-2", "win-2"));
    expect(statusOf(get(cluster, "10.0.0.12", CHECK_PORT))).toBe("200");
    await remove(changing, "pod/web-1");
    expect(statusOf(get(cluster, "10.0.0.11", CHECK_PORT))).toBe("503");
    // The router has gone with the pods, and so has the check.
    expect(get(cluster, LOCAL_VIP, CHECK_PORT)).toContain('"localEndpoints": 1');
    await remove(changing, "service/local");
    expect(get(cluster, "10.0.0.12", CHECK_PORT)).toBe("refused");
  });
});
