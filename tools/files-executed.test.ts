import { describe, expect, it } from "vitest";
import { filesExecutedBy } from "./files-executed.ts";
import { parseIp } from "#core/net/ip.ts";

describe("the files of one call", () => {
  it("are those of which a function ran", async () => {
    expect(await filesExecutedBy(async () => parseIp("10.0.0.1"))).toEqual(["core/net/ip.ts"]);
    expect(await filesExecutedBy(async () => undefined)).toEqual([]);
  });
});
