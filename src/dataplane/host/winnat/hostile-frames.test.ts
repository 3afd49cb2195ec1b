/** WinNAT bears any frame: cut short, changed, in fragments that lie. */
import { expect, it } from "vitest";
import { writeU16 } from "#core/base/bytes.ts";
import { LIMITS } from "#core/base/limits.ts";
import { Prng } from "#core/base/prng.ts";
import { DriverWorld, ip } from "#test/support/dataplane/driver-world.ts";
import { checksumOf } from "#core/wire/checksum.ts";
import { buildIcmpFrame, buildTcpFrame, buildUdpFrame } from "#core/wire/build-frame.ts";
import { Packet } from "#core/wire/packet.ts";
import type { Mac } from "#core/net/mac.ts";

const FRAMES = 20_000;

it(`survives ${FRAMES} mutated frames from both sides with bounded tables`, async () => {
  const world = new DriverWorld();
  const network = await world.network("NAT", { prefix: "172.20.1.0/24", gateway: "172.20.1.1" });
  await world.pod("A", network, {
    IpConfigurations: [{ IpAddress: "172.20.1.5", PrefixLength: 24 }],
    Policies: [{ Type: "PortMapping", Settings: { Protocol: 6, InternalPort: 80, ExternalPort: 8080 } }],
  });
  const inside = world.node.root.getInterface("vEthernet (n)")!;
  const outside = world.node.root.getInterface("Ethernet")!;
  const prng = new Prng(11);
  const linkTo = (mac: Mac) => ({ sourceMac: 0x0200_0000_0001 as Mac, destinationMac: mac });
  const header = (source: string, destination: string) => ({
    source: ip(source),
    destination: ip(destination),
    ttl: 64,
    identification: prng.below(4),
    isDontFragment: false,
  });
  const payload = new Uint8Array(60);
  const make = [
    () =>
      buildUdpFrame({
        link: linkTo(inside.mac),
        ip: header("172.20.1.5", "203.0.113.10"),
        udp: { sourcePort: 5, destinationPort: 53 },
        payload,
      }),
    () =>
      buildTcpFrame({
        link: linkTo(inside.mac),
        ip: header("172.20.1.5", "203.0.113.10"),
        tcp: { sourcePort: 5, destinationPort: 53, sequence: 1, acknowledgment: 0, flags: 2, window: 1 },
        payload,
      }),
    () =>
      buildTcpFrame({
        link: linkTo(outside.mac),
        ip: header("198.51.100.7", "10.0.0.11"),
        tcp: { sourcePort: 5, destinationPort: 8080, sequence: 1, acknowledgment: 0, flags: 2, window: 1 },
        payload,
      }),
    () =>
      buildIcmpFrame({
        link: linkTo(inside.mac),
        ip: header("172.20.1.5", "203.0.113.10"),
        icmp: { type: "echo-request", identifier: 1, sequence: 1, payload },
      }),
    () =>
      buildIcmpFrame({
        link: linkTo(outside.mac),
        ip: header("198.51.100.7", "10.0.0.11"),
        icmp: { type: "echo-reply", identifier: 1, sequence: 1, payload },
      }),
  ];
  for (let index = 0; index < FRAMES; index++) {
    const which = prng.below(make.length);
    const whole = make[which]!();
    const bytes = whole.frame.slice();
    for (let change = prng.below(4); change > 0; change--)
      bytes[14 + prng.below(bytes.length - 14)] = prng.below(256);
    if (prng.below(3) === 0) writeU16(bytes, 20, prng.below(0x4000));
    const isMended = prng.below(4) > 0;
    if (isMended) {
      writeU16(bytes, 24, 0);
      writeU16(bytes, 24, checksumOf(bytes, 14, 34));
    }
    const length = prng.below(5) === 0 ? prng.below(bytes.length) : bytes.length;
    const target = which === 2 || which === 4 ? outside : inside;
    target.receive(Packet.fromFrame(bytes.slice(0, length)));
    if (index % 500 === 0) world.run(100);
  }
  world.run(60_000);
  const sessions = world.node.root.winNat!.listSessions().length;
  expect(sessions).toBeGreaterThan(0);
  expect(sessions).toBeLessThan(LIMITS.natSessionsMax);
  world.x.serve("udp", 53);
  world.run(200_000);
  expect(world.node.root.winNat!.listSessions().filter(({ state }) => state === "transient")).toEqual([]);
});
