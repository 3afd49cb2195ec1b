import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FileResultCache } from "./file-result-cache.node.ts";
import type { CachedAttachment } from "./runtime.ts";

let folder = "";
let warnings: string[] = [];

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-cache-"));
  warnings = [];
});
afterEach(() => rmSync(folder, { recursive: true }));

function openCache(): FileResultCache {
  return new FileResultCache({ folder, warn: (text) => warnings.push(text) });
}

function attachment(fields: Partial<CachedAttachment> = {}): CachedAttachment {
  return {
    networkName: "cbr0",
    containerId: "SBX",
    ifName: "eth0",
    netns: "7cb720c0-ac4c-4266-92e1-dc277b2a9b94",
    args: [["IgnoreUnknown", "1"]],
    capabilityArgs: { portMappings: [{ hostPort: 8080, containerPort: 80, protocol: "tcp" }] },
    listText: '{"name":"cbr0"}',
    result: { cniVersion: "1.0.0", ips: [{ address: "10.244.3.2/24" }] },
    ...fields,
  };
}

describe("the cache file of the client library (cni.md §1.7)", () => {
  it("has its name and its members", async () => {
    await openCache().put(attachment());
    const path = join(folder, "results", "cbr0-SBX-eth0");
    expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
      kind: "cniCacheV1",
      containerId: "SBX",
      config: "eyJuYW1lIjoiY2JyMCJ9",
      ifName: "eth0",
      networkName: "cbr0",
      netns: "7cb720c0-ac4c-4266-92e1-dc277b2a9b94",
      cniArgs: [["IgnoreUnknown", "1"]],
      capabilityArgs: { portMappings: [{ hostPort: 8080, containerPort: 80, protocol: "tcp" }] },
      result: { cniVersion: "1.0.0", ips: [{ address: "10.244.3.2/24" }] },
      mullionChecksum: expect.stringMatching(/^[0-9a-f]{8}$/) as unknown,
    });
    expect(readdirSync(join(folder, "results"))).toEqual(["cbr0-SBX-eth0"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  it("gives back what was put, after a restart too, in order; and forgets", async () => {
    const [first, second] = [attachment(), attachment({ containerId: "ABC", netns: "", args: [] })];
    await openCache().put(first);
    await openCache().put(second);
    expect(await openCache().get(second)).toEqual(second);
    expect(await openCache().list()).toEqual([second, first]);
    await openCache().delete(first);
    await openCache().delete(first);
    expect(await openCache().get(first)).toBeUndefined();
    expect(await openCache().list()).toEqual([second]);
  });

  it("knows nothing where there is no folder", async () => {
    const cache = new FileResultCache({ folder: join(folder, "none"), warn: () => undefined });
    expect(await cache.list()).toEqual([]);
    expect(await cache.get(attachment())).toBeUndefined();
    await cache.delete(attachment());
  });
});

describe("files that cannot be used", () => {
  it.each([
    ["no JSON", "{", /unexpected end/],
    ["another kind", '{"kind":"cniCacheV2"}', /its kind is "cniCacheV2", not "cniCacheV1"/],
    ["no result", '{"kind":"cniCacheV1"}', /it has no result/],
    [
      "arguments that are not pairs",
      '{"kind":"cniCacheV1","result":{},"cniArgs":[["A"]]}',
      /"cniArgs" must be a list of pairs of texts/,
    ],
  ])("%s: an error names the file; a list passes it over and says so", async (_what, text, reason) => {
    await openCache().put(attachment({ containerId: "WELL" }));
    writeFileSync(join(folder, "results", "cbr0-SBX-eth0"), text);
    await expect(openCache().get(attachment())).rejects.toMatchObject({
      code: 5,
      message: expect.stringMatching(reason) as string,
    });
    expect((await openCache().list()).map(({ containerId }) => containerId)).toEqual(["WELL"]);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toMatch(/results\/cbr0-SBX-eth0 is passed over: /);
  });

  it("a flipped bit anywhere is never taken for a result; a file of the client library has no checksum and is taken", async () => {
    await openCache().put(attachment());
    const path = join(folder, "results", "cbr0-SBX-eth0");
    const whole = readFileSync(path);
    for (let bit = 0; bit < whole.length * 8; bit += 3) {
      const damaged = Buffer.from(whole);
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(path, damaged);
      // In the name of the checksum itself: what is said is right then.
      const got = await openCache()
        .get(attachment())
        .catch((error: unknown) => String(error));
      if (typeof got === "string") expect(got).toContain(path);
      else expect({ bit, got }).toEqual({ bit, got: attachment() });
    }
    writeFileSync(path, whole.toString().replace("10.244.3.2", "10.244.3.3"));
    await expect(openCache().get(attachment())).rejects.toMatchObject({
      code: 5,
      message: expect.stringContaining("its checksum is wrong") as unknown,
    });
    writeFileSync(path, whole.toString().replace(/,"mullionChecksum":"\w+"/, ""));
    expect(await openCache().get(attachment())).toEqual(attachment());
  });

  it("a draft that a killed process left is no attachment", async () => {
    mkdirSync(join(folder, "results"));
    writeFileSync(join(folder, "results", ".4711"), '{"kind":"cniC');
    expect(await openCache().list()).toEqual([]);
    expect(warnings).toEqual([]);
  });

  it.each([["../../etc"], ["a/b"], [`e${"x".repeat(300)}`]])(
    "the interface %j leads to no file outside",
    async (ifName) => {
      await expect(openCache().put(attachment({ ifName }))).rejects.toMatchObject({ code: 5 });
      await expect(openCache().delete(attachment({ ifName }))).rejects.toThrowError(
        /can have no file of that name/,
      );
    },
  );

  it("a folder that cannot be made is named", async () => {
    writeFileSync(join(folder, "results"), "");
    await expect(openCache().put(attachment())).rejects.toMatchObject({
      code: 5,
      message: expect.stringContaining(`cannot write the result cache ${join(folder, "results")}`) as string,
    });
  });
});
