// The byte vectors of dataplane.md §6.10 that concern VFP's rewrites, through the engine itself.
import { describe, expect, it } from "vitest";
import { formatHex } from "#core/base/encodings.ts";
import { annotatedHex } from "#test/support/wire/hexadecimal.ts";
import type { Provenance } from "#core/base/recorder.ts";
import { type Ipv4, type Prefix, hostPrefix, parseIpv4, parsePrefix } from "#core/net/ip.ts";
import { type Mac, parseMac } from "#core/net/mac.ts";
import { Headers } from "#core/wire/headers.ts";
import { Packet } from "#core/wire/packet.ts";
import { createGroup } from "./group.ts";
import { NatPool } from "./actions/nat-pool.ts";
import type { NextHop } from "./actions/next-hop.ts";
import type { Action, Rule } from "./rule.ts";
import { VfpPort } from "./vfp-port.ts";

const V1 = annotatedHex(`
  00155daa0001 0e2a0af4010a 0800 45000034 12344000 8006d200 0af4010a 0a600032
  c0300050 01020304 00000000 80c2fd5c 960f0000 02040582 01030308 01010402`);
const V2 = annotatedHex(`
  00155daa0001 0e2a0af4010a 0800 45000034 12344000 8006cf94 0af4010a 0af4020a
  c0301f90 01020304 00000000 80c2fd5c 74630000 02040582 01030308 01010402`);
const V6 = annotatedHex(`
  00155daa0001 0e2a0af4010a 0800 45000034 12344000 8006a087 0af4010a cb00710a
  c03101bb 00000001 00000000 80c2fd5c 672f0000 02040582 01030308 01010402`);
const V7 = annotatedHex(`
  525400000001 00155d000011 0800 45000034 12344000 8006a27a 0a00000b cb00710a
  c38001bb 00000001 00000000 80c2fd5c 65d30000 02040582 01030308 01010402`);

const DEFAULT: Provenance = { object: "default", id: "default", name: "default" };

function ip(text: string): Ipv4 {
  return parseIpv4(text)!;
}
function mac(text: string): Mac {
  return parseMac(text)!;
}
function prefix(text: string): Prefix {
  return parsePrefix(text)!;
}

function rule(id: string, action: Action, condition: Rule["condition"], isStateful: boolean): Rule {
  return {
    id,
    name: id,
    priority: 100,
    condition,
    action,
    isTerminating: true,
    isStateful,
    provenance: DEFAULT,
  };
}

function send(port: VfpPort, direction: "out" | "in", frame: Uint8Array): string {
  const packet = Packet.fromFrame(frame);
  const headers = new Headers();
  expect(headers.parse(packet)).toBeUndefined();
  expect(port.process(direction, packet, headers, 0)).toBe("pass");
  return formatHex(packet.frame);
}

describe("VFP rewrites the vectors of dataplane.md §6.10", () => {
  const options = { id: "p", name: "pod A", node: "win-1" };

  it("DATAPLANE-V1 to DATAPLANE-V2: destination NAT of address and port, checksums by two updates", () => {
    const port = new VfpPort({
      ...options,
      layers: [{ name: "LB_DSR", priority: 7, isStateful: true, isDefaultAllow: true }],
    });
    const action: Action = { type: "nat", side: "destination", ip: ip("10.244.2.10"), port: 8080 };
    const condition = {
      protocols: [6],
      destination: [hostPrefix(ip("10.96.0.50"))],
      destinationPorts: [{ first: 80, last: 80 }],
    };
    const rules = [rule("lb", action, condition, true)];
    port.setGroups("LB_DSR", [
      createGroup({
        name: "LB_DSR_IPv4_OUT",
        direction: "out",
        family: 4,
        priority: 1,
        match: "priority",
        rules,
      }),
    ]);
    expect(send(port, "out", V1)).toBe(formatHex(V2));
  });

  it("DATAPLANE-V6 to DATAPLANE-V7: OutBoundNAT with q = 50048, then paroute", () => {
    const port = new VfpPort({
      ...options,
      layers: [
        { name: "SLB_NAT_LAYER", priority: 50, isStateful: true, isDefaultAllow: true },
        { name: "VNET_PA_ROUTE_LAYER", priority: 2000, isStateful: false, isDefaultAllow: true },
      ],
      nextHopResolver: {
        resolve: (): NextHop => ({
          sourceMac: mac("00-15-5D-00-00-11"),
          destinationMac: mac("52-54-00-00-00-01"),
        }),
      },
    });
    port.addNatPool(
      new NatPool({
        name: "tcp",
        ip: ip("10.0.0.11"),
        protocol: 6,
        blocks: { acquire: () => ({ first: 50_048, last: 50_111 }), release: () => undefined },
      }),
    );
    const nat = { protocols: [6], source: [hostPrefix(ip("10.244.1.10"))] };
    port.setGroups("SLB_NAT_LAYER", [
      createGroup({
        name: "SLB_GROUP_NAT_IPv4_OUT",
        direction: "out",
        family: 4,
        priority: 1,
        match: "priority",
        rules: [rule("nat", { type: "dynnat", pool: "tcp" }, nat, true)],
      }),
    ]);
    port.setGroups("VNET_PA_ROUTE_LAYER", [
      createGroup({
        name: "VNET_GROUP_PA_ROUTE_IPV4_OUT",
        direction: "out",
        family: 4,
        priority: 1,
        match: "lpm-destination",
        rules: [rule("route", { type: "paroute" }, { destination: [prefix("0.0.0.0/0")] }, false)],
      }),
    ]);
    expect(send(port, "out", V6)).toBe(formatHex(V7));
    expect(send(port, "out", V6)).toBe(formatHex(V7));
  });
});
