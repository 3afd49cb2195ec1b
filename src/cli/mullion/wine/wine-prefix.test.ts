import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { WineMissingError, localeFor, prepareWinePrefix } from "./wine-prefix.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-prefix-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A program in place of Wine's. */
function program(name: string, script: string): string {
  const path = join(folder, name);
  writeFileSync(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

describe("prepareWinePrefix", () => {
  it("says the one command that installs Wine", async () => {
    const none = { launchers: [join(folder, "wine64")], servers: [join(folder, "wineserver64")] };
    const prepared = prepareWinePrefix(join(folder, "prefix"), folder, none);
    await expect(prepared).rejects.toThrow(WineMissingError);
    await expect(prepared).rejects.toThrow(
      "Wine is not installed. Install it: apt-get install --no-install-recommends wine64",
    );
  });

  it("says which step of a Wine that does not work failed, and leaves no half prefix", async () => {
    const programs = {
      launchers: [program("wine64", 'mkdir -p "$WINEPREFIX"; exit 3')],
      servers: [program("wineserver64", "exit 0")],
    };
    const prefix = join(folder, "cache", "prefix");
    await expect(prepareWinePrefix(prefix, folder, programs)).rejects.toThrow(
      /^Wine does not work here: .*wine64 wineboot -i ended with 3$/,
    );
    expect(readdirSync(join(folder, "cache"))).toEqual([]);
  });

  it("says how the DLLs are built when they are missing", async () => {
    const programs = {
      launchers: [program("wine64", 'mkdir -p "$WINEPREFIX/drive_c/windows/system32"')],
      servers: [program("wineserver64", "exit 0")],
    };
    const libraries = join(folder, "none");
    await expect(prepareWinePrefix(join(folder, "prefix"), libraries, programs)).rejects.toThrow(
      /computenetwork\.dll is missing\. In a clone it is built by: npm run build:shim$/,
    );
  });
});

describe("localeFor", () => {
  it.each([
    [{}, "C.UTF-8"],
    [{ LANG: "C" }, "C.UTF-8"],
    [{ LANG: "de_DE.UTF-8" }, undefined],
    [{ LANG: "C.utf8", LC_CTYPE: "" }, undefined],
    [{ LANG: "de_DE.UTF-8", LC_ALL: "C" }, "C.UTF-8"],
    [{ LC_CTYPE: "POSIX", LANG: "C.UTF-8" }, "C.UTF-8"],
  ])("%j: %s", (environment, locale) => {
    expect(localeFor(environment)["LC_ALL"]).toBe(locale);
  });
});
