import { mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { restrictToOwner, writeOwnerFile } from "./owner-only.node.ts";
import { ownerOnly } from "./owner-only.ts";
import { POSIX_PATHS, WINDOWS_PATHS } from "./path-rules.ts";

it("Windows: rights for owner, system and administrators by their identifiers, and none that are inherited", () => {
  expect(ownerOnly(WINDOWS_PATHS, "C:\\ProgramData\\mullion", "folder").icacls).toEqual([
    ["C:\\ProgramData\\mullion", "/reset"],
    [
      "C:\\ProgramData\\mullion",
      "/inheritance:r",
      "/grant:r",
      "*S-1-3-4:(OI)(CI)F",
      "*S-1-5-18:(OI)(CI)F",
      "*S-1-5-32-544:(OI)(CI)F",
    ],
  ]);
  expect(ownerOnly(WINDOWS_PATHS, "C:\\t", "file").icacls.at(-1)).toContain("*S-1-3-4:F");
});

it("elsewhere: mode bits", () => {
  expect(ownerOnly(POSIX_PATHS, "/t", "file")).toEqual({ mode: 0o600, icacls: [] });
  expect(ownerOnly(POSIX_PATHS, "/t", "folder")).toEqual({ mode: 0o700, icacls: [] });
});

describe("on this machine", () => {
  let folder = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "mullion-owner-"));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("a file is there with its mode, and a second one of that name is refused", () => {
    const path = join(folder, "token");
    writeOwnerFile(path, "secret\n", POSIX_PATHS);
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["secret\n", 0o600]);
    expect(() => writeOwnerFile(path, "other", POSIX_PATHS)).toThrowError("EEXIST");
    restrictToOwner(folder, "folder", POSIX_PATHS);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it("on Windows it is empty until its rights are right, and stays empty when they cannot be set", () => {
    const path = join(folder, "token");
    const seen: string[] = [];
    writeOwnerFile(path, "secret\n", WINDOWS_PATHS, (program, args) => {
      expect(program).toMatch(/\\System32\\icacls\.exe$/);
      seen.push(`${args[1]} ${readFileSync(path, "utf8")}`);
    });
    expect(seen).toEqual(["/reset ", "/inheritance:r "]);
    expect(readFileSync(path, "utf8")).toBe("secret\n");

    const other = join(folder, "other");
    const fail = (): never => {
      throw new Error("icacls ended with 5");
    };
    expect(() => writeOwnerFile(other, "secret\n", WINDOWS_PATHS, fail)).toThrowError("ended with 5");
    expect(readFileSync(other, "utf8")).toBe("");
  });
});
