// The hybrid overlay where ports, annotations and nodes change; what is quick stands in hybrid-overlay.test.ts.
import { expect, it } from "vitest";
import {
  MAC,
  PREFIX,
  ask,
  file,
  node,
  troublesOf,
  tunnelsOf,
  waysOf,
} from "#test/support/cluster/hybrid-overlay-world.ts";
import { openSessionWorld, remove } from "#test/support/cluster/session-world.ts";

it("uses another UDP port from Server 2022 on", async () => {
  const world = await openSessionWorld(file(", vxlanPort: 9898"));
  expect(troublesOf(world)).toEqual([]);
  expect(ask(world, "pod/c", "pod/a")).toBe("a saw 10.128.0.4");
  expect(tunnelsOf(world, "pod/a", "pod/c")[0]).toMatch(/^9898 4097 /);
});

it.each([
  ["linux-1", MAC, "0a:58:0a:80:00", "the MAC address of a Linux node"],
  ["linux-1", `${PREFIX}-distributed-router-gateway-ip`, "10.128.0", "its address in the overlay"],
])("is told of an annotation that cannot be read: %s %s", async (name, annotation, value) => {
  const world = await openSessionWorld(file(), node(name, { [annotation]: value }));
  expect(troublesOf(world)).toContain(`${name} hybrid-overlay-annotation-invalid`);
  expect(ask(world, "pod/c", "pod/a")).not.toContain("saw");
  // The others go on.
  expect(ask(world, "pod/a", "pod/d")).toBe("d saw 10.132.0.3");
});

it("lets a node leave and join again, with its ways", async () => {
  const world = await openSessionWorld(file());
  await remove(world, "node/win-2");
  expect((await waysOf(world, "win-1")).some((way) => way.startsWith("10.132.1.0/24"))).toBe(false);
  const back = await openSessionWorld(file());
  await back.session.changeNode("win-1", { do: "reboot" });
  expect(troublesOf(back)).toEqual([]);
  // host-local gives the next address.
  expect(ask(back, "pod/a", "pod/c")).toBe("c saw 10.132.0.4");
  expect(ask(back, "pod/c", "pod/a")).toBe("a saw 10.128.0.4");
});
