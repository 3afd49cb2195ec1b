/** The wait for this node's Node object (kube-proxy.md §2.1). */
import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import type { Node } from "#contracts/kubernetes/objects.ts";
import { OwnNode, Waiter } from "./own-node.ts";

function node(...addresses: readonly string[]): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "win-1", namespace: "", uid: "1", resourceVersion: "1" },
    status: { addresses: addresses.map((address) => ({ type: "InternalIP", address })) },
  };
}

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

describe("the wait for the own Node", () => {
  it("ends when all Nodes have been reported, and its addresses are there already", async () => {
    const clock = new VirtualClock();
    const own = new OwnNode(clock, new Waiter(clock));
    let isOver = false;
    const wait = (async (): Promise<void> => {
      await own.wait({ isNotNeeded: false });
      isOver = true;
    })();
    own.changed(node("10.0.0.4"));
    await settle();
    expect(isOver).toBe(false);
    own.listed();
    await settle();
    expect(isOver).toBe(true);
    await wait;
  });

  it("ends as soon as its addresses are there, and no sooner", async () => {
    const clock = new VirtualClock();
    const own = new OwnNode(clock, new Waiter(clock));
    let isOver = false;
    const wait = (async (): Promise<void> => {
      await own.wait({ isNotNeeded: false });
      isOver = true;
    })();
    own.listed();
    own.changed(node());
    await settle();
    expect(isOver).toBe(false);
    own.changed(node("10.0.0.4", "10.0.0.5", "fd00::4"));
    await settle();
    expect(isOver).toBe(true);
    await wait;
    expect(clock.nowMs).toBe(0);
    expect(own.addresses).toEqual(["10.0.0.4", "fd00::4"]);
    expect(own.difference()).toBeUndefined();
    own.changed(node("10.0.0.4"));
    expect(own.difference()).toBe("has other addresses: 10.0.0.4 instead of 10.0.0.4, fd00::4");
    own.changed(undefined);
    expect(own.difference()).toBe("was deleted");
  });
});
