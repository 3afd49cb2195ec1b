import { describe, expect, it } from "vitest";
import { VirtualClock } from "#core/base/clock.ts";
import { createNetwork, getNetworkByName } from "#contracts/hcn/operations.ts";
import { getHnsVersion } from "#contracts/hcn/v1-operations.ts";
import { CBR0 } from "#test/support/hns/hns-node.ts";
import { createHns } from "./local-hns.ts";

describe("createHns", () => {
  it("gives the HNS of a node with one adapter", async () => {
    const { client } = createHns();
    const network = await createNetwork(client, CBR0);
    expect(await getNetworkByName(client, "cbr0")).toEqual(network);
    expect(await getHnsVersion(client)).toEqual({ Major: 13, Minor: 3 });
  });

  it("takes profile, adapters and seed", async () => {
    const options = {
      profile: "ws2019.1432",
      adapters: [
        { name: "Ethernet 2", addresses: ["192.168.1.5/24", "fd00::5/64"], mac: "00-22-48-00-00-01" },
      ],
      seed: "a test",
    };
    const ids = await Promise.all(
      [createHns(options), createHns(options)].map(async ({ client }) => {
        expect(await getHnsVersion(client)).toEqual({ Major: 9, Minor: 5 });
        return createNetwork(client, { ...CBR0, Policies: [] });
      }),
    );
    expect(ids[0]).toEqual(ids[1]);
    expect(ids[0]?.Policies).toContainEqual({
      Type: "NetAdapterName",
      Settings: { NetworkAdapterName: "Ethernet 2" },
    });
  });

  it("moves its own clock, and no other", async () => {
    const hns = createHns();
    await hns.advance(1_500);
    expect(hns.clock.nowMs).toBe(1_500);
    await expect(createHns({ clock: new VirtualClock() }).advance(1)).rejects.toThrow("caller's own");
  });

  it.each([
    [{ profile: "ws2016" }, 'no Windows profile "ws2016"; write one of ws2019'],
    [{ adapters: [{ name: "e", addresses: ["10.0.0.1"] }] }, 'adapters[0].addresses holds "10.0.0.1"'],
    [{ adapters: [{ name: "e", addresses: [], mac: "00:11" }] }, 'adapters[0].mac is "00:11"'],
  ])("refuses %j and says what to write", (options, expected) => {
    expect(() => createHns(options)).toThrow(expected);
  });
});
