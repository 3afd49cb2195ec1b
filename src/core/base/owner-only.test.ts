import { execFileSync } from "node:child_process";
import {
  closeSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  checkOwnFolder,
  createFile,
  openInPlace,
  openOwnerFile,
  readPlainFile,
  removeDrafts,
  replaceFile,
  replaceOwnerFile,
  restrictToOwner,
  writeInPlace,
  writeNamedFile,
  writeOwnerFile,
} from "./owner-only.node.ts";
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

describe("where others have put something", () => {
  let folder = "";
  let victim = "";
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "mullion-shared-"));
    victim = join(folder, "victim");
    writeFileSync(victim, "precious", { mode: 0o644 });
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it("a file is replaced, never its content: a link goes, and what it led to stays", () => {
    const path = join(folder, "x.pid");
    symlinkSync(victim, path);
    replaceFile(path, "17\n", 0o600);
    expect([readFileSync(path, "utf8"), lstatSync(path).isFile(), lstatSync(path).mode & 0o777]).toEqual([
      "17\n",
      true,
      0o600,
    ]);
    expect(readFileSync(victim, "utf8")).toBe("precious");
    expect(readdirSync(folder).toSorted()).toEqual(["victim", "x.pid"]);
  });

  it("a file that is named is refused when it is a link, a folder, or of another user", () => {
    const path = join(folder, "kubeconfig");
    symlinkSync(victim, path);
    expect(() => replaceOwnerFile(path, "secret")).toThrowError(/is a symbolic link/);
    expect(() => openOwnerFile(path)).toThrowError(/is a symbolic link/);
    expect(() => replaceOwnerFile(folder, "secret")).toThrowError(/is not a file/);
    const another = statSync(victim).uid + 1;
    expect(() => replaceOwnerFile(victim, "secret", another)).toThrowError(/belongs to another user/);
    expect(readFileSync(victim, "utf8")).toBe("precious");
    replaceOwnerFile(victim, "secret");
    expect([readFileSync(victim, "utf8"), statSync(victim).mode & 0o777]).toEqual(["secret", 0o600]);
  });

  it("a log is a new file, and who has the old one open does not see it", () => {
    const path = join(folder, "x.log");
    writeFileSync(path, "old", { mode: 0o666 });
    const watched = openSync(path, "r");
    const log = openOwnerFile(path);
    writeSync(log, "secret");
    expect([readFileSync(watched, "utf8"), readFileSync(path, "utf8")]).toEqual(["old", "secret"]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    closeSync(watched);
    closeSync(log);
  });

  it("a file that is made is there whole or not at all, and no name that is taken is touched", () => {
    const [path, link] = [join(folder, "10.0.0.2"), join(folder, "10.0.0.3")];
    symlinkSync(join(folder, "elsewhere"), link);
    expect([
      createFile(path, "one", 0o600),
      createFile(path, "two", 0o600),
      createFile(link, "x", 0o600),
    ]).toEqual([true, false, false]);
    expect([readFileSync(path, "utf8"), statSync(path).mode & 0o777]).toEqual(["one", 0o600]);
    expect(readdirSync(folder).toSorted()).toEqual(["10.0.0.2", "10.0.0.3", "victim"]);
  });

  it("what is written where it stands is the file of that very name, no link, no folder, no device", () => {
    const [path, link] = [join(folder, "subnet.env"), join(folder, "lock")];
    writeInPlace(path, "longer than that\n", 0o644);
    const watched = openSync(path, "r");
    writeInPlace(path, "short\n", 0o644);
    expect(readFileSync(watched, "utf8")).toBe("short\n");
    closeSync(watched);
    symlinkSync(victim, link);
    expect(() => writeInPlace(link, "x", 0o644)).toThrowError(/lock is a symbolic link/);
    expect(() => openInPlace(link, "made", 0o600)).toThrowError(/lock is a symbolic link/);
    expect(() => openInPlace(folder, "refused", 0o600)).toThrowError(/EISDIR/);
    expect(() => openInPlace(join(folder, "none"), "refused", 0o600)).toThrowError(/ENOENT/);
    expect(() => writeInPlace("/dev/null", "x", 0o644)).toThrowError("/dev/null is not a file");
    expect(readFileSync(victim, "utf8")).toBe("precious");
    // The user's own result may be led anywhere.
    writeNamedFile(link, "result");
    expect(readFileSync(victim, "utf8")).toBe("result");
  });

  it("what is read is a file: nothing that waits, never ends, or is a folder", () => {
    const [pipe, link] = [join(folder, "pipe"), join(folder, "zeros")];
    execFileSync("mkfifo", [pipe]);
    symlinkSync("/dev/zero", link);
    expect(() => readPlainFile(pipe)).toThrowError(/pipe is not a file/);
    expect(() => readPlainFile(link)).toThrowError(/zeros is not a file/);
    expect(() => readPlainFile(folder)).toThrowError("is not a file");
    expect(() => readPlainFile(join(folder, "none"))).toThrowError(/ENOENT/);
    expect(readPlainFile(victim).toString("utf8")).toBe("precious");
  });

  it("drafts of processes that died are removed, of one file or of all, and nothing else", () => {
    const names = [".a.0123456789abcdef", ".b.fedcba9876543210", ".a.short", ".a", "a.0123456789abcdef"];
    for (const name of names) writeFileSync(join(folder, name), "");
    removeDrafts(folder, "a");
    expect(readdirSync(folder)).not.toContain(names[0]);
    expect(readdirSync(folder)).toContain(names[1]);
    removeDrafts(folder);
    expect(readdirSync(folder).toSorted()).toEqual([".a", ".a.short", "a.0123456789abcdef", "victim"]);
  });

  it("a folder is one's own, also behind a link of one's own", () => {
    const [data, link] = [join(folder, "data"), join(folder, "link")];
    expect(() => checkOwnFolder(data)).not.toThrowError();
    mkdirSync(data);
    symlinkSync(data, link);
    expect(() => checkOwnFolder(link)).not.toThrowError();
    const another = statSync(data).uid + 1;
    expect(() => checkOwnFolder(data, another)).toThrowError(/belongs to another user/);
    expect(() => checkOwnFolder(link, another)).toThrowError(/another user/);
    expect(() => checkOwnFolder(victim)).toThrowError(/does not lead to a folder/);
    rmSync(data, { recursive: true });
    expect(() => checkOwnFolder(link)).toThrowError(/does not lead to a folder/);
  });
});
