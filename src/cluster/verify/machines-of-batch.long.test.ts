// Every driver: batches of verify in copies that hold their own machines say the same as in whole copies.
import { expect, it } from "vitest";
import { type World, inputOf } from "#test/support/cluster/late-machines.suite.ts";
import { checkBatches } from "#test/support/cluster/touched-machines.suite.ts";

it.each<readonly [string, World]>([
  ["Overlay", { network: "{ driver: Overlay }" }],
  ["L2Tunnel", { network: "{ driver: L2Tunnel }" }],
  ["NAT", { network: "{ driver: NAT }" }],
  ["flannel host-gw", { network: "{ plugin: flannel, backend: host-gw }" }],
  ["flannel vxlan", { network: "{ plugin: flannel, backend: vxlan }" }],
  ["different builds", { third: "build: ws2019" }],
  ["a defect at a rate", { second: 'build: ws2025, quirks: { load-balancer-port-missing: "0.5" }' }],
  ["a defect of one node", { third: "build: ws2025, quirks: { services-unreachable-from-node: on }" }],
  ["refused pods", { second: "build: ws2025, podCIDR: 10.244.9.0/29" }],
])("%s", async (_name, world) => {
  await checkBatches(inputOf(world));
  expect.hasAssertions();
});
