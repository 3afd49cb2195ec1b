// Our client of a cluster of three ovsdb-servers of Debian, over TLS: it works with the one that leads, and goes where the lead goes.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OvsdbUpdates, errorOf } from "#contracts/ovsdb/client.ts";
import { OvsdbConnectionError } from "#contracts/ovsdb/remotes.node.ts";
import { OvsdbSocketClient } from "#contracts/ovsdb/socket-client.node.ts";
import { ClusteredDatabase } from "./clustered-database.ts";

const DATABASE = "OVN_Northbound";

let cluster: ClusteredDatabase;

beforeAll(async () => {
  cluster = new ClusteredDatabase();
  await cluster.start();
}, 120_000);

afterAll(() => {
  cluster.stop();
});

async function until(isSo: () => boolean, what: string): Promise<void> {
  for (let left = 300; !isSo(); left--) {
    if (left === 0) throw new Error(`it did not come to pass: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function lostOrThrow(error: unknown): string {
  if (error instanceof OvsdbConnectionError) return "lost";
  throw error;
}

describe("over TLS", () => {
  const leading = (): string => cluster.remotes[cluster.leader()] ?? "";

  it("a server that the CA has signed is believed, and believes us", async () => {
    const client = await OvsdbSocketClient.connect(leading(), DATABASE, cluster.tls());
    expect(errorOf(await client.transact([{ op: "comment", comment: "hello" }]))).toBeUndefined();
    client.close();
  });

  it.each([
    [
      "a server whom our CA has not signed",
      () => ({ ...cluster.tls(), caCertificate: cluster.otherCa() }),
      /self.signed|unable to/,
    ],
    ["a key that is none", () => ({ ...cluster.tls(), privateKey: "no key" }), /ssl:127/],
    ["no key at all", () => undefined, /TLS needs a private key/],
  ])("refuses %s", async (_title, tls, message) => {
    const connected = OvsdbSocketClient.connect(leading(), DATABASE, tls());
    await expect(connected).rejects.toThrow(message);
    await expect(connected).rejects.toThrow(OvsdbConnectionError);
  });

  it("is refused by the server when another CA has signed us", async () => {
    const connected = OvsdbSocketClient.connect(leading(), DATABASE, cluster.tls("stranger"));
    await expect(connected).rejects.toThrow(OvsdbConnectionError);
  });
});

describe("a cluster", () => {
  it("a server that does not lead is not taken, and says so", async () => {
    const follower = cluster.remotes[(cluster.leader() + 1) % 3] ?? "";
    await expect(OvsdbSocketClient.connect(follower, DATABASE, cluster.tls())).rejects.toThrow(
      /does not lead its cluster/,
    );
  });

  it("the client goes with the lead: each change is heard once, and transactions are carried out again", {
    timeout: 120_000,
    retry: 0,
  }, async () => {
    const client = await OvsdbSocketClient.connect(cluster.remotes.join(","), DATABASE, cluster.tls());
    const heard: string[] = [];
    await client.monitor({ Address_Set: ["name"] }, (updates: OvsdbUpdates) => {
      for (const { new: row } of Object.values(updates["Address_Set"] ?? {}))
        heard.push(String(row?.["name"]));
    });
    // Whose answer did not come may have been carried out (client.ts, `transact`), and so may what a server answers with "cluster error",
    // whose lead has ended meanwhile: then the name is there when it is asked for again.
    const add = async (name: string): Promise<void> => {
      for (let isOpen = false; ; isOpen = true) {
        const failed = await client
          .transact([{ op: "insert", table: "Address_Set", row: { name } }])
          .then((results) => errorOf(results)?.error ?? "", lostOrThrow);
        if (failed === "" || (isOpen && failed === "constraint violation")) return;
        expect(["lost", "cluster error"]).toContain(failed);
        await new Promise((resolve) => setTimeout(resolve, 200));
      }
    };
    await add("first");
    const before = cluster.leader();
    await cluster.handOn(before);
    await add("second");
    const second = cluster.leader();
    cluster.end(second);
    await until(() => cluster.leader() >= 0, "a leader of the two that are left");
    await add("third");
    await until(() => heard.includes("third"), "the last change");
    expect(heard).toEqual(["first", "second", "third"]);
    client.close();
  });
});
