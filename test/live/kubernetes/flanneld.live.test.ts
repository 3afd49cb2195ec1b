// The real flanneld on the emulator's API: it takes leases, and follows those of others, Windows nodes among them.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CONTROL_PLANE_TIMEOUT_MS } from "./control-plane.ts";
import { Emulator } from "./emulator.ts";
import { FlannelLink, type FlannelNode, HOST_ADDRESS } from "./flannel-nodes.ts";
import { findProgram } from "../../../tools/live-programs.ts";

const PREFIX = "flannel.alpha.coreos.com";
const NET_CONF = {
  Network: "10.244.0.0/16",
  EnableIPv4: true,
  Backend: { Type: "vxlan", VNI: 4096, Port: 4789 },
};
const DEVICE = "flannel.4096";
/** control-planes.md §1.6: what flanneld on Windows writes. */
const WINDOWS = { mac: "00:15:5d:0a:0b:0c", address: "192.168.77.21" };

let emulator: Emulator;
let link: FlannelLink;
let first: FlannelNode;
let second: FlannelNode;

async function annotationsOf(name: string): Promise<Readonly<Record<string, string>>> {
  const node = await emulator.source.get("Node", { namespace: "", name });
  return node.metadata.annotations ?? {};
}

async function podCidrOf(name: string): Promise<string> {
  return (await emulator.source.get("Node", { namespace: "", name })).spec?.podCIDR ?? "";
}

beforeAll(async () => {
  findProgram("flanneld");
  link = new FlannelLink();
  emulator = await Emulator.start(HOST_ADDRESS);
  const { kubeconfig } = emulator;
  // flanneld v0.28 ends with "assignment to entry in nil map" on a Node without annotations; a kubelet always writes one.
  const annotations = { "volumes.kubernetes.io/controller-managed-attach-detach": "true" };
  for (const name of ["linux-1", "linux-2", "win-1"])
    await emulator.source.create("Node", { metadata: { name, annotations } });
  first = link.addNode({ name: "linux-1", address: "192.168.77.11", kubeconfig, netConf: NET_CONF });
  second = link.addNode({ name: "linux-2", address: "192.168.77.12", kubeconfig, netConf: NET_CONF });
}, CONTROL_PLANE_TIMEOUT_MS);

afterAll(async () => {
  await link.remove();
  await emulator.stop();
});

/** What a node's kernel knows of a peer: the route to its range, its VTEP's MAC, and where that is. */
async function peerOf(node: FlannelNode, peer: string): Promise<readonly unknown[]> {
  const cidr = await podCidrOf(peer);
  const gateway = cidr.replace(/\/\d+$/, "");
  const route = node.routes().find(({ dst }) => dst === cidr);
  const neighbour = node.neighbours(DEVICE).find(({ dst }) => dst === gateway);
  const entry = node.forwarding(DEVICE).find(({ mac }) => mac === neighbour?.["lladdr"]);
  return [route?.["gateway"], route?.["dev"], neighbour?.["lladdr"], entry?.["dst"]];
}

describe("flanneld v0.28 on the emulator's API", () => {
  it("takes its lease: annotations, the condition of its Node, subnet.env", async () => {
    await first.start();
    const annotations = await annotationsOf("linux-1");
    expect(annotations).toMatchObject({
      [`${PREFIX}/kube-subnet-manager`]: "true",
      [`${PREFIX}/backend-type`]: "vxlan",
      [`${PREFIX}/public-ip`]: "192.168.77.11",
    });
    expect(JSON.parse(annotations[`${PREFIX}/backend-data`] ?? "")).toEqual({
      VNI: 4096,
      VtepMAC: first.macOf(DEVICE),
    });
    const cidr = await podCidrOf("linux-1");
    expect(first.subnetEnv).toMatchObject({
      FLANNEL_NETWORK: "10.244.0.0/16",
      FLANNEL_SUBNET: cidr.replace(/0\/24$/, "1/24"),
      FLANNEL_MTU: "1450",
    });
    const node = await emulator.source.get("Node", { namespace: "", name: "linux-1" });
    const condition = node.status?.conditions?.find(({ type }) => type === "NetworkUnavailable");
    expect(condition).toMatchObject({ status: "False", reason: "FlannelIsUp" });
  });

  it("two of them learn of each other", async () => {
    await second.start();
    const gateway = async (name: string): Promise<string> => (await podCidrOf(name)).replace(/\/24$/, "");
    await expect
      .poll(async () => peerOf(first, "linux-2"))
      .toEqual([await gateway("linux-2"), DEVICE, second.macOf(DEVICE), "192.168.77.12"]);
    await expect
      .poll(async () => peerOf(second, "linux-1"))
      .toEqual([await gateway("linux-1"), DEVICE, first.macOf(DEVICE), "192.168.77.11"]);
  });

  it("follows the lease of a Windows node, its changes, and its end", async () => {
    const lease = (mac: string, address: string): Promise<unknown> =>
      emulator.source.patch(
        "Node",
        { namespace: "", name: "win-1" },
        {
          type: "strategic",
          body: {
            metadata: {
              annotations: {
                [`${PREFIX}/kube-subnet-manager`]: "true",
                [`${PREFIX}/backend-type`]: "vxlan",
                [`${PREFIX}/backend-data`]: JSON.stringify({ VNI: 4096, VtepMAC: mac }),
                [`${PREFIX}/public-ip`]: address,
              },
            },
          },
        },
        { subresource: "status" },
      );
    const cidr = await podCidrOf("win-1");
    const gateway = cidr.replace(/\/24$/, "");
    await lease(WINDOWS.mac, WINDOWS.address);
    for (const node of [first, second]) {
      await expect
        .poll(async () => peerOf(node, "win-1"))
        .toEqual([gateway, DEVICE, WINDOWS.mac, WINDOWS.address]);
    }
    await emulator.source.delete("Node", { namespace: "", name: "win-1" });
    for (const node of [first, second]) {
      await expect.poll(() => node.routes().some(({ dst }) => dst === cidr)).toBe(false);
      await expect.poll(() => node.forwarding(DEVICE).some(({ mac }) => mac === WINDOWS.mac)).toBe(false);
    }
  });

  it("keeps its lease over a restart, and others over its absence", async () => {
    const before = await annotationsOf("linux-2");
    await second.stop("SIGKILL");
    await second.start();
    const after = await annotationsOf("linux-2");
    expect(after[`${PREFIX}/public-ip`]).toBe(before[`${PREFIX}/public-ip`]);
    expect(JSON.parse(after[`${PREFIX}/backend-data`] ?? "")).toMatchObject({
      VtepMAC: second.macOf(DEVICE),
    });
    await expect.poll(async () => (await peerOf(first, "linux-2"))[3]).toBe("192.168.77.12");
  });

  it("hears after an outage of the API what has changed in it", async () => {
    const cidr = await podCidrOf("linux-2");
    await emulator.outage(async () => {
      await second.stop();
      await emulator.source.delete("Node", { namespace: "", name: "linux-2" });
    });
    await expect
      .poll(() => first.routes().some(({ dst }) => dst === cidr), { timeout: 90_000, interval: 500 })
      .toBe(false);
  });
});
