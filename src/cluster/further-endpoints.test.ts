// Pods with endpoints in several networks and static routes of their own, as the article of 2017 has them
// (windows-networking-documentation.md §10), in other set-ups than that of acs-2017.
import { describe, expect, it } from "vitest";
import { formatIp, formatPrefix } from "#core/net/ip.ts";
import { type SessionWorld, ask, openSessionWorld, remove } from "#test/support/cluster/session-world.ts";
import { readInput } from "./input/read-input.ts";
import { readModel } from "./verify/model-of-cluster.ts";
import { verifyCluster } from "./verify/verify.ts";
import { viewDockerNetworks } from "./views/docker-views.ts";

interface Given {
  readonly network?: string;
  readonly networks?: string;
  readonly pod?: string;
  readonly more?: string;
}

const NAT = "{name: nat, driver: NAT, clusterCIDR: 172.20.0.0/16}";
const OUT = "networks: [nat], routes: [{to: 0.0.0.0/0, via: 172.20.0.1}, {to: 10.0.0.0/8, via: 10.244.1.2}]";

function text({
  network = "plugin: hns, driver: L2Bridge",
  networks = NAT,
  pod = OUT,
  more = "",
}: Given = {}): string {
  return `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: {name: ways}
dns: {enabled: false}
kubeProxy: {enabled: false}
nodes:
  - {name: win-1, os: windows, address: 10.0.0.11, podCIDR: 10.244.1.0/24}
  - {name: win-2, os: windows, address: 10.0.0.12, podCIDR: 10.244.2.0/24}
network: {${network}, outboundNAT: {enabled: false}}
networks: [${networks}]
pods:
  - {name: two, node: win-1${pod === "" ? "" : `, ${pod}`}}
  - {name: near, node: win-1}
  - {name: far, node: win-2}
${more}
`;
}

function gateways({ session }: SessionWorld): readonly string[] {
  const { compartment } = session.cluster.pods.find(({ spec }) => spec.name === "two")!;
  return compartment
    .listRoutes()
    .flatMap(({ prefix, nextHop }) =>
      nextHop === undefined ? [] : `${formatPrefix(prefix)} ${formatIp(nextHop)}`,
    );
}

describe("a pod with an endpoint in a bridged network and one behind a NAT", () => {
  it("has the routes that the file gives it, and no default route of its networks", async () => {
    expect(gateways(await openSessionWorld(text()))).toEqual([
      "10.0.0.0/8 10.244.1.2",
      "0.0.0.0/0 172.20.0.1",
    ]);
  });

  it("reaches pods with its own address, and the outside by the NAT, where pods with one endpoint have no way back", async () => {
    const world = await openSessionWorld(text());
    expect(ask(world, "pod/two", "pod/near", { port: 8080 })).toMatch(/^near saw 10\.244\.1\./);
    expect(ask(world, "pod/two", "pod/far", { port: 8080 })).toMatch(/^far saw 10\.244\.1\./);
    expect(ask(world, "pod/far", "pod/two", { port: 8080 })).toMatch(/^two saw 10\.244\.2\./);
    expect(ask(world, "pod/two", "external")).toBe("external saw 10.0.0.11");
    expect(ask(world, "pod/near", "external")).not.toMatch(/saw/);
  });

  it("is judged by no table", async () => {
    const { session } = await openSessionWorld(text());
    const { cells, findings } = verifyCluster(session.cluster, readModel(session.cluster), {
      troubles: session.troubles(),
    });
    expect(findings).toEqual([]);
    const own = cells.filter(({ from }) => from === "pod/default/two");
    expect(own.map(({ expected }) => expected)).not.toContain("works");
  });

  it("leaves nothing behind, and its addresses to others", async () => {
    const world = await openSessionWorld(text());
    await remove(world, "pod/two");
    const hns = world.session.cluster.nodes[0]!.hns!;
    // The node's own leg and the other pod.
    expect(hns.enumerate("Endpoint")).toHaveLength(2);
  });

  it("without a place in the further network does not start, and takes nothing", async () => {
    const narrow = "{name: nat, driver: NAT, clusterCIDR: 172.20.0.0/28, nodeCIDRMaskSize: 29}";
    const pods = [3, 4, 5, 6]
      .map((last) => `  - {name: p${last}, node: win-1, network: nat, address: 172.20.0.${last}}`)
      .join("\n");
    const world = await openSessionWorld(text({ networks: narrow, more: pods }));
    const waiting = world.session.notes().filter(({ code }) => code === "ipam-range-exhausted");
    expect(waiting).toHaveLength(1);
    expect(world.session.cluster.nodes[0]!.hns!.enumerate("Endpoint")).toHaveLength(2 + 4);
  });
});

it("Docker connects a container to a second network", async () => {
  const world = await openSessionWorld(
    text({
      network: "plugin: docker, clusterCIDR: 10.244.0.0/16",
      networks: "{name: second, clusterCIDR: 172.24.0.0/16}",
      pod: "networks: [second], routes: [{to: 0.0.0.0/0, via: 172.24.0.1}]",
    }),
  );
  expect(gateways(world)).toEqual(["0.0.0.0/0 172.24.0.1"]);
  const names = viewDockerNetworks(world.session.cluster, "win-1").map(({ Name, Containers }) => [
    Name,
    Object.values(Containers).map((each) => (each as { Name: string }).Name),
  ]);
  expect(names).toEqual([
    ["nat", ["two", "near"]],
    ["second", ["two"]],
  ]);
});

describe("a cluster file", () => {
  it.each([
    [
      "two default routes",
      `networks: [nat], routes: [{to: 0.0.0.0/0, via: 172.20.0.1}, {to: 0.0.0.0/0, via: 10.244.1.2}]`,
      /a pod has one default route/,
    ],
    ["the default routes of two networks", "networks: [nat]", /each network gives the pod a default route/],
    [
      "a gateway that is on no link",
      "routes: [{to: 10.9.0.0/16, via: 192.0.2.1}]",
      /in the subnet of one of its networks/,
    ],
    [
      "a network twice",
      "networks: [nat, nat], routes: [{to: 0.0.0.0/0, via: 172.20.0.1}]",
      /an endpoint in "nat" already/,
    ],
    [
      "a network that is not there",
      "networks: [other], routes: [{to: 0.0.0.0/0, via: 10.244.1.2}]",
      /win-1 has no network "other"/,
    ],
  ])("refuses %s", (_, pod, message) => {
    const read = readInput([{ name: "cluster.yaml", text: text({ pod }) }]);
    const problems = "problems" in read ? read.problems : [];
    expect(problems.map((problem) => problem.message).join("\n")).toMatch(message);
  });

  it("refuses them with a CNI plugin, which attaches pods by its configuration", () => {
    const read = readInput([{ name: "cluster.yaml", text: text({ network: "plugin: win-bridge" }) }]);
    const problems = "problems" in read ? read.problems : [];
    expect(problems.map(({ message }) => message).join("\n")).toMatch(/with plugin hns or docker/);
  });
});
