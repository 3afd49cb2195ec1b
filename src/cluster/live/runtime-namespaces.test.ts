// With a container runtime and real namespaces: test/live/runtime.live.test.ts.
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { addNamespaceEndpoint, createEndpoint, listNetworks } from "#contracts/hcn/operations.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import { SystemCallError, SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";
import { guidOfPath } from "#programs/plugins/mullion-netns/plugin.ts";
import { heldSession } from "#test/support/cluster/held-session.ts";
import { openSessionWorld } from "#test/support/cluster/session-world.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import { RuntimeNamespaces } from "./runtime-namespaces.node.ts";

const CLUSTER = `apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: runtime }
nodes:
  - { name: win-1, os: windows, build: ws2022, address: 10.0.0.11, podCIDR: 10.244.1.0/24 }
network: { driver: L2Bridge, name: l2bridge }
`;
const EINVAL = 22;

/** A kernel that lets nobody into the namespaces of a folder. */
class ClosedNamespaces extends SystemCalls {
  override call(name: Parameters<SystemCalls["call"]>[0], subject: string): number {
    if (subject.startsWith(folder)) throw new SystemCallError(name, subject, EINVAL);
    return 0;
  }
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-runtime-"));
});

afterEach(() => rmSync(folder, { recursive: true }));

async function open(): Promise<RuntimeNamespaces> {
  const { session } = await openSessionWorld(CLUSTER);
  const held = heldSession(session);
  const node = defined(session.cluster.nodes[0], "the cluster has a node");
  const reader = { addTap: () => undefined, removeTap: () => undefined };
  const calls = new ClosedNamespaces();
  return new RuntimeNamespaces({ held, calls, node, client: hcnClientOf(node), reader, folders: [folder] });
}

/** A namespace of HNS that stands for one of this machine. */
function namespaceFor(client: RuntimeNamespaces, name: string): Promise<Guid> {
  const path = join(folder, name);
  writeFileSync(path, "");
  const id = guidOfPath(path, (text) => createHash("sha256").update(text).digest("hex"));
  return client.create("Namespace", { ID: id, SchemaVersion: { Major: 2, Minor: 0 } });
}

it.runIf(process.platform === "linux")(
  "a namespace that cannot be entered is told once, and keeps no other call from its work",
  async () => {
    const client = await open();
    const [network] = await listNetworks(client);
    const endpoint = await createEndpoint(client, defined(network, "the node has a network").ID, {
      Name: "one",
    });
    const namespace = await namespaceFor(client, "one");
    const before = readdirSync("/proc/self/fd").length;
    await expect(addNamespaceEndpoint(client, namespace, endpoint.ID)).rejects.toThrow("(EINVAL)");
    await expect(namespaceFor(client, "two")).resolves.toMatch(/-/u);
    await client.delete("Endpoint", endpoint.ID);
    expect(readdirSync("/proc/self/fd")).toHaveLength(before);
  },
);
