/** The rows of control-planes.md §10.1 that are the CNI plugin's and not flanneld's. */
import { expect, it } from "vitest";
import { SUBNET_FILE, flannelNode, subnetEnv } from "#test/support/cni/flannel-node.ts";

const CONF = { cniVersion: "0.2.0", name: "vxlan0", type: "flannel", delegate: { type: "win-overlay" } };

it("CP-F36: a subnet.env without FLANNEL_MTU is refused by the name of what is missing", async () => {
  const node = flannelNode();
  node.files.set(SUBNET_FILE, subnetEnv({ FLANNEL_MTU: undefined }));
  const { status, stdout } = await node.run("ADD", CONF);
  expect(status).toBe(1);
  expect(stdout).toContain(`${SUBNET_FILE} is missing FLANNEL_MTU`);
  expect(node.delegate.requests).toEqual([]);
});

it.each(["ipam", "name"])("CP-F37: a delegate with %s is refused", async (field) => {
  const node = flannelNode();
  const delegate = { type: "win-overlay", [field]: field === "ipam" ? { type: "host-local" } : "x" };
  const { status, stdout } = await node.run("ADD", { ...CONF, delegate });
  expect(status).toBe(1);
  expect(stdout).toContain(field);
  expect(node.delegate.requests).toEqual([]);
});

it("CP-F38: DEL without what ADD has left behind is a success", async () => {
  const node = flannelNode();
  expect((await node.run("DEL", CONF)).status).toBe(0);
  expect(node.delegate.requests).toEqual([]);
});
