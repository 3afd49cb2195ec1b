// A node's disk: names of files as its system takes them.
import { describe, expect, it } from "vitest";
import { NodeFiles } from "./node-files.ts";

describe("a Windows disk", () => {
  const files = new NodeFiles("windows", { [String.raw`C:\k\SourceVip.json`]: "left over" });

  it.each([String.raw`C:\k\sourceVip.json`, "c:/K/SOURCEVIP.JSON", "/k/sourceVip.json"])(
    "%s is one and the same file",
    async (path) => {
      expect(await files.read(path)).toBe("left over");
    },
  );

  it("is written in place, whatever the name's letters", async () => {
    const own = new NodeFiles("windows", { "/run/flannel/subnet.env": "old" });
    await own.write(String.raw`C:\run\flannel\Subnet.env`, "new");
    expect(await own.readText("/run/flannel/subnet.env")).toBe("new");
  });

  it("says in Windows' words that a file is not there", async () => {
    await expect(files.readText("/run/flannel/subnet.env")).rejects.toThrow(
      "open /run/flannel/subnet.env: The system cannot find the path specified.",
    );
  });
});

describe("a Linux disk", () => {
  it("tells names by their letters", async () => {
    const files = new NodeFiles("linux", { "/run/A": "a" });
    expect([await files.read("/run/A"), await files.read("/run/a")]).toEqual(["a", undefined]);
  });
});
