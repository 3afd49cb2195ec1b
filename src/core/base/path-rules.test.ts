// The rows follow "Naming Files, Paths, and Namespaces" and "File path formats on Windows systems" (Microsoft).
import { describe, expect, it } from "vitest";
import { POSIX_PATHS, WINDOWS_PATHS, pathRulesOf } from "./path-rules.ts";

const SERVICE_FOLDER = "C:\\Windows\\System32";

describe("Windows", () => {
  it.each([
    ["C:\\run\\flannel", true],
    ["c:/run/flannel", true],
    ["\\\\server\\share\\x", true],
    ["//server/share", true],
    ["\\\\?\\C:\\x", true],
    ["\\\\.\\pipe\\mullion-hns", true],
    ["/run/flannel/subnet.env", false],
    ["\\run\\flannel", false],
    ["C:run", false],
    ["C:", false],
    ["run\\flannel", false],
    ["", false],
    ["\\\\server", false],
    ["ß:\\x", false],
  ])("%j is absolute: %j", (path, isAbsolute) => {
    expect(WINDOWS_PATHS.isAbsolute(path)).toBe(isAbsolute);
  });

  it.each([
    // cni.md §3.1, §4.5: the defaults of the plugins lie on the drive of the runtime's current folder.
    [SERVICE_FOLDER, "/run/flannel/subnet.env", "C:\\run\\flannel\\subnet.env"],
    [SERVICE_FOLDER, "/var/lib/cni/networks", "C:\\var\\lib\\cni\\networks"],
    ["D:\\k", "/run/flannel/subnet.env", "D:\\run\\flannel\\subnet.env"],
    ["\\\\server\\share\\x", "/run", "\\\\server\\share\\run"],
    ["C:\\k", "azure-vnet.json", "C:\\k\\azure-vnet.json"],
    ["C:\\k", "..\\..\\..\\x", "C:\\x"],
    ["C:\\k", "C:x", "C:\\k\\x"],
    ["C:\\k", "c:x", "C:\\k\\x"],
    ["C:\\k", "D:x", "D:\\x"],
    ["C:\\k", "C:", "C:\\k"],
    ["C:\\", "x/./y//z/..", "C:\\x\\y"],
    ["C:\\k", "//server/share/../x", "\\\\server\\share\\x"],
    ["C:\\k", "\\\\?\\C:\\x\\..\\y", "\\\\?\\C:\\x\\..\\y"],
    ["C:\\k", "Größe\\ネット 🪟", "C:\\k\\Größe\\ネット 🪟"],
  ])("in %j, %j is %j", (folder, path, resolved) => {
    expect(WINDOWS_PATHS.resolve(folder, path)).toBe(resolved);
  });

  it.each([
    ["", []],
    ["C:\\a;D:\\b", ["C:\\a", "D:\\b"]],
    ['"C:\\with;semicolon";D:\\b', ["C:\\with;semicolon", "D:\\b"]],
    ['C:\\"Program Files"\\x', ["C:\\Program Files\\x"]],
    [";C:\\a;", ["", "C:\\a", ""]],
    ['"C:\\a;C:\\b', ["C:\\a;C:\\b"]],
  ])("the list %j", (text, folders) => {
    expect(WINDOWS_PATHS.splitList(text)).toEqual(folders);
  });

  it.each([
    ["C:\\k", "x", "C:\\k\\x"],
    ["C:\\k\\", "x", "C:\\k\\x"],
    ["/opt/cni", "x", "/opt/cni\\x"],
    ["", "x", "x"],
  ])("%j and %j are %j", (folder, name, path) => {
    expect(WINDOWS_PATHS.join(folder, name)).toBe(path);
  });

  it.each([
    ["cbr0", undefined],
    ["flannel.4096", undefined],
    ["Größe ネット", undefined],
    ["console", undefined],
    ["com10", undefined],
    ["nul", "device"],
    ["NUL.txt", "device"],
    ["com1", "device"],
    ["lpt¹", "device"],
    ["fd00::5", '":"'],
    ["a\\b", '"\\\\"'],
    ["a\u0007", '"\\u0007"'],
    ["net.", "dot"],
    ["net ", "space"],
    ["", "empty"],
    ["..", "empty"],
    ["x".repeat(256), "255 characters"],
    ["é".repeat(255), undefined],
  ])("name %j: %j", (name, fault) => {
    const found = WINDOWS_PATHS.fileNameFault(name);
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(fault);
  });

  it("writes what it does not allow as _ (cni.md §4.3: IPv6 leases)", () => {
    expect(WINDOWS_PATHS.fileNameOf("fd00:3::2")).toBe("fd00_3__2");
    expect(WINDOWS_PATHS.fileNameOf('a<b>"|?*\\c/d\t')).toBe("a_b______c_d_");
  });

  it.each([
    ["C:\\run\\flannel", "file:///C:/run/flannel"],
    ["c:/Program Files/ß", "file:///c:/Program%20Files/%C3%9F"],
    ["\\\\server\\share\\x", "file://server/share/x"],
  ])("%j has the address %j", (path, url) => {
    expect(WINDOWS_PATHS.fileUrlOf(path)).toBe(url);
  });

  it("finds programs with .exe before without (cni.md §1.8)", () => {
    expect(WINDOWS_PATHS.executablesOf("win-bridge")).toEqual(["win-bridge.exe", "win-bridge"]);
  });
});

describe("other systems", () => {
  it.each([
    ["/opt", "x/../y", "/opt/y"],
    ["/opt", "/x//y/.", "/x/y"],
    ["/", "../..", "/"],
    ["/opt", "C:\\x", "/opt/C:\\x"],
  ])("in %j, %j is %j", (folder, path, resolved) => {
    expect(POSIX_PATHS.resolve(folder, path)).toBe(resolved);
  });

  it("lists, names, addresses", () => {
    expect(POSIX_PATHS.splitList("/a:/b")).toEqual(["/a", "/b"]);
    expect(POSIX_PATHS.splitList("")).toEqual([]);
    expect(POSIX_PATHS.join("/a", "b")).toBe("/a/b");
    expect(POSIX_PATHS.isAbsolute("C:\\x")).toBe(false);
    expect(POSIX_PATHS.executablesOf("x")).toEqual(["x"]);
    expect(POSIX_PATHS.fileNameOf("fd00::5/64")).toBe("fd00::5_64");
    expect(POSIX_PATHS.fileUrlOf("/a b/c:d")).toBe("file:///a%20b/c:d");
  });

  it.each([
    ["nul", undefined],
    ["a\\b", undefined],
    ["a/b", "slash"],
    ["\u{d800}", "UTF-8"],
    ["é".repeat(128), "255 bytes"],
    [".", "folder"],
  ])("name %j: %j", (name, fault) => {
    const found = POSIX_PATHS.fileNameFault(name);
    if (fault === undefined) expect(found).toBeUndefined();
    else expect(found).toContain(fault);
  });
});

it.each([
  ["win32", WINDOWS_PATHS],
  ["linux", POSIX_PATHS],
  ["darwin", POSIX_PATHS],
])("%s has its rules", (platform, rules) => {
  expect(pathRulesOf(platform)).toBe(rules);
});
