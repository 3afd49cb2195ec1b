// Pods that a dump shows Pending and without an address: nothing here gives them a network, and every answer says so.
import { describe, expect, it } from "vitest";
import {
  openSessionWorld,
  podsOf,
  remove,
  ask,
  type SessionWorld,
} from "#test/support/cluster/session-world.ts";
import { tracePacket } from "../trace/trace.ts";

const NODE = (name: string, address: string, os: string): string => `
apiVersion: v1
kind: Node
metadata: { name: ${name}, uid: n-${name}, labels: { kubernetes.io/os: ${os} } }
spec: { podCIDR: 10.244.${address.split(".")[3]}.0/24 }
status:
  addresses: [{ type: InternalIP, address: ${address} }]
  nodeInfo: { operatingSystem: ${os}, kernelVersion: ${os === "windows" ? "10.0.20348.2700" : "6.1.0"} }
---`;

const POD = (name: string, node: string, status: string, uid = `u-${name}`): string => `
apiVersion: v1
kind: Pod
metadata: { name: ${name}, labels: { app: web }${uid === "" ? "" : `, uid: ${uid}`} }
spec: { ${node === "" ? "" : `nodeName: ${node}, `}containers: [{ name: c, image: i, ports: [{ containerPort: 80 }] }] }
${status}
---`;

const CREATING = `status:
  phase: Pending
  containerStatuses: [{ name: c, ready: false, state: { waiting: { reason: ContainerCreating } } }]
  conditions: [{ type: Ready, status: "False", reason: ContainersNotReady }]`;
const UNSCHEDULED = `status:
  phase: Pending
  conditions: [{ type: PodScheduled, status: "False", reason: Unschedulable, message: "0/2 nodes are available: 2 Insufficient memory." }]`;
const RUNNING = (ip: string): string =>
  `status: { phase: Running, podIP: ${ip}, podIPs: [{ ip: ${ip} }], conditions: [{ type: Ready, status: "True" }] }`;

const NODES = NODE("win", "10.0.0.4", "windows") + NODE("lin", "10.0.0.5", "linux");

function stateOf(world: SessionWorld): readonly string[] {
  return podsOf(world, "").map(
    ({ metadata, spec, status }) =>
      `${metadata.name} ${status?.phase ?? ""} ${spec?.nodeName ?? "nowhere"} ${status?.podIP ?? "no address"}`,
  );
}

function refusalOf(world: SessionWorld, from: string, to: string): string {
  try {
    tracePacket(world.session.cluster, { from, to, protocol: "tcp", port: 80 });
    return "asked";
  } catch (error) {
    return error instanceof Error ? error.message : "";
  }
}

describe("a pod that a dump shows Pending", () => {
  const text =
    NODES +
    POD("creating", "win", CREATING) +
    POD("unscheduled", "", UNSCHEDULED) +
    POD("running", "lin", RUNNING("10.244.5.7"));

  it("has no network and no node that the dump does not give it", async () => {
    const world = await openSessionWorld(text);
    expect(stateOf(world).filter((line) => !line.startsWith("coredns"))).toEqual([
      "creating Pending win no address",
      "running Running lin 10.244.5.7",
      "unscheduled Pending nowhere no address",
    ]);
    const notes = world.begun.notes.map(({ code, message }) => `${code}: ${message}`);
    expect(notes).toEqual(
      expect.arrayContaining([
        "pod-waits-in-input: pod default/creating on win: the input shows it Pending (ContainerCreating) and without an address: it is not started",
        "pod-unschedulable: pod default/unscheduled stays Pending: 0/2 nodes are available: 2 Insufficient memory",
      ]),
    );
  });

  it("is named by trace as one without a network, as sender and as receiver", async () => {
    const world = await openSessionWorld(text);
    expect(refusalOf(world, "pod/creating", "pod/running")).toBe(
      "pod/default/creating has no network: it is Pending on node win (ContainerCreating)",
    );
    expect(refusalOf(world, "pod/running", "default/unscheduled")).toBe(
      "pod/default/unscheduled has no network: it is Pending without a node (0/2 nodes are available: 2 Insufficient memory)",
    );
    expect(refusalOf(world, "pod/running", "pod/nobody")).toMatch(/^nothing in cluster/);
  });

  it("is a finding only where no pod of its node has a network", async () => {
    const troubles = async (input: string) =>
      (await openSessionWorld(input)).session
        .troubles()
        .map(({ reference, code, text: said }) => `${reference} ${code}: ${said}`);
    expect(await troubles(text)).toEqual([
      "node/win pod-waits-in-input: no pod of the node has a network in the input, so that no flow of its pods was tried: default/creating",
    ]);
    expect(await troubles(text + POD("other", "win", RUNNING("10.244.4.9")))).toEqual([]);
  });

  it("is left alone when others come, and a pod of a manifest runs in its place", async () => {
    const world = await openSessionWorld(text);
    await remove(world, "pod/running");
    expect(stateOf(world)).toEqual(expect.arrayContaining(["creating Pending win no address"]));
    const fresh = await openSessionWorld(
      NODES + POD("creating", "win", "", "") + POD("running", "lin", RUNNING("10.244.5.7")),
    );
    expect(ask(fresh, "pod/running", "pod/creating")).toBe("creating saw 10.244.5.7");
  });

  it("with an address has a sandbox, and waits for its containers", async () => {
    const pulling = CREATING.replace("phase: Pending", "phase: Pending\n  podIP: 10.244.4.8").replace(
      "ContainerCreating",
      "ImagePullBackOff",
    );
    const world = await openSessionWorld(NODES + POD("pulling", "win", pulling));
    expect(stateOf(world)).toEqual(expect.arrayContaining(["pulling Pending win 10.244.4.8"]));
  });
});
