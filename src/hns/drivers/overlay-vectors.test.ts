// The byte vectors of dataplane.md §6.10 through a whole node: HNS's own rules, switch, tunnel and wire.
import { beforeEach, describe, expect, it } from "vitest";
import { formatHex } from "#core/base/encodings.ts";
import { createEndpoint, createLoadBalancer } from "#contracts/hcn/operations.ts";
import { type Ipv4, parseIp } from "#core/net/ip.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import { OVERLAY_MACS } from "#test/support/dataplane/overlay-stages.ts";
import { type OverlayPod, OverlayWorld, remoteSubnet } from "#test/support/dataplane/overlay-world.ts";
import { encapsulateVxlan } from "#core/wire/tunnels/encapsulation.ts";
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import { Ipv4View } from "#core/wire/ipv4.ts";
import { Packet } from "#core/wire/packet.ts";

const { V1, V2, V3, V4, V5, V6, V7 } = DATAPLANE_VECTORS;
const { W1dr, W2dr, W1m, W2m } = OVERLAY_MACS;
const ip = (text: string): Ipv4 => parseIp(text) as Ipv4;

/** Of V3: identification and checksum outside, and the UDP source port, which each sender chooses. */
const CHOSEN = [18, 19, 24, 25, 34, 35];

/** The frame without what its sender may choose. */
function fixedPart(frame: Uint8Array): string {
  const copy = frame.slice();
  for (const at of CHOSEN) copy[at] = 0;
  return formatHex(copy);
}

let world: OverlayWorld;
let a: OverlayPod;

beforeEach(async () => {
  world = new OverlayWorld();
  await world.w1.overlay("10.244.1.0/24", {
    router: W1dr,
    policies: [remoteSubnet("10.244.2.0/24", "10.0.0.12", W2dr)],
  });
  const exceptions = { Exceptions: ["10.244.0.0/16", "10.96.0.0/12"] };
  a = await world.w1.pod("10.244.1.10", { Policies: [{ Type: "OutBoundNAT", Settings: exceptions }] });
  const remote = await createEndpoint(world.w1.client, world.w1.network, {
    IpConfigurations: [{ IpAddress: "10.244.2.10" }],
    MacAddress: "02-11-0A-F4-02-0A",
    Flags: 1,
  });
  await createLoadBalancer(world.w1.client, {
    HostComputeEndpoints: [remote.ID],
    FrontendVIPs: ["10.96.0.50"],
    PortMappings: [{ Protocol: 6, ExternalPort: 80, InternalPort: 8080 }],
    Flags: 1,
    SchemaVersion: { Major: 2, Minor: 0 },
  });
  // W1 finds its neighbours before the frames of the vectors come.
  for (const address of ["10.244.2.10", "203.0.113.10"]) world.ask(a.compartment, address, 9);
  world.listener.heard.length = 0;
  world.wire.frames.length = 0;
});

/** Sends a frame as the pod's stack would. */
function sendFromPod(frame: Uint8Array): void {
  const packet = Packet.fromFrame(frame);
  packet.tag = 1;
  a.compartment.listInterfaces()[0]!.device.transmit(packet);
  world.run();
}

/** The frame behind a layer of the pod's port. */
function behind(tag: 1 | 2, layer: string): string | undefined {
  const heard = world.listener.heard.findLast(
    (each) => each.tag === tag && each.event.kind === "layer" && each.event.layer === layer,
  );
  return heard && formatHex(heard.frame);
}

describe("walk O-4 in bytes", () => {
  it("DATAPLANE-V1 to V2: behind LB_DSR of the pod's port", () => {
    sendFromPod(V1);
    expect(behind(1, "LB_DSR")).toBe(formatHex(V2));
  });

  it("DATAPLANE-V3: on the wire, but for what the sender chooses; the outer header's checksum is right", () => {
    sendFromPod(V1);
    const [wire] = world.wire.frames;
    expect(fixedPart(wire!.frame)).toBe(fixedPart(V3));
    const outer = Ipv4View.parse(wire!.frame, 14, wire!.frame.length);
    if (typeof outer === "string") throw new Error(outer);
    expect(outer.isChecksumValid).toBe(true);
  });

  it("DATAPLANE-V4 to V5: the answer comes out of its tunnel as the pod is to have it", () => {
    sendFromPod(V1);
    const answer = Packet.fromFrame(V4);
    encapsulateVxlan(answer, {
      link: { sourceMac: W2m, destinationMac: W1m },
      ip: {
        source: ip("10.0.0.12"),
        destination: ip("10.0.0.11"),
        ttl: 128,
        identification: 9,
        isDontFragment: true,
      },
      sourcePort: 40_000,
      vni: 4096,
    });
    answer.tag = 2;
    world.l1.sendFrame(answer);
    world.run();
    expect(behind(2, "LB_DSR")).toBe(formatHex(V5));
  });
});

describe("walk O-7 in bytes", () => {
  it("DATAPLANE-V6 to V7: translated to port 50048 of the node, to the router's MAC", () => {
    const [virtualSwitch] = world.w1.datapath.listSwitches();
    const address = ip("10.0.0.11");
    // Fourteen blocks of 64 ports are somebody else's: the next begins at 50048.
    for (let block = 0; block < 14; block++)
      virtualSwitch!.portBlocks.acquire("somebody else", address, IpProtocol.tcp);
    sendFromPod(V6);
    expect(world.wire.frames.map(({ frame }) => formatHex(frame))[0]).toBe(formatHex(V7));
  });
});
