import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import {
  clusterPlace,
  ensureFolder,
  hasOwnSocket,
  listNames,
  removePlace,
  stateFolder,
} from "./state-folder.node.ts";

let runtime = "";
let variables: Readonly<Record<string, string>> = {};
beforeEach(() => {
  runtime = mkdtempSync(join(tmpdir(), "mullion-state-"));
  variables = { XDG_RUNTIME_DIR: runtime };
});
afterEach(() => rmSync(runtime, { recursive: true, force: true }));

const DEFAULT = { name: undefined, socket: undefined };

describe("the place of a cluster", () => {
  it.each([
    [DEFAULT, {}, "default"],
    [{ ...DEFAULT, name: "second" }, {}, "second"],
    [DEFAULT, { MULLION_NAME: "third" }, "third"],
    [DEFAULT, { MULLION_NAME: "" }, "default"],
    [{ ...DEFAULT, name: "second" }, { MULLION_NAME: "third" }, "second"],
  ])("%j with %j is called %s", (wanted, more, name) => {
    const place = clusterPlace(wanted, { ...variables, ...more });
    expect(place).toEqual({
      name,
      socket: join(runtime, "mullion", `${name}.sock`),
      pidFile: join(runtime, "mullion", `${name}.pid`),
      log: join(runtime, "mullion", `${name}.log`),
    });
  });

  it("is not in a runtime folder that others may write to", () => {
    chmodSync(runtime, 0o770);
    expect(stateFolder(variables)).toBe(join(tmpdir(), `mullion-${userInfo().uid}`));
  });

  it("is in no folder that all users may change, but in one like /tmp", () => {
    const open = join(runtime, "open");
    mkdirSync(open);
    const place = clusterPlace({ name: undefined, socket: join(open, "lab.sock") }, {});
    chmodSync(open, 0o777);
    expect(() => ensureFolder(place, {})).toThrow(/all users may change/);
    chmodSync(open, 0o1777);
    ensureFolder(place, {});
  });

  it("is where --socket says, with its files beside it", () => {
    const place = clusterPlace({ name: undefined, socket: "/tmp/x/lab.sock" }, variables);
    expect(place).toEqual({
      name: "lab",
      socket: "/tmp/x/lab.sock",
      pidFile: "/tmp/x/lab.pid",
      log: "/tmp/x/lab.log",
    });
  });

  it.each(["", "A", "a/b", "../x", "-a", "a b", "a".repeat(64)])("cannot be called %j", (name) => {
    expect(() => clusterPlace({ name, socket: undefined }, variables)).toThrow(/cannot be the name/);
  });

  it("has a path that the system can bind", () => {
    const socket = `/tmp/${"x".repeat(120)}.sock`;
    expect(() => clusterPlace({ name: undefined, socket }, variables)).toThrow(/longer than 103 bytes/);
  });
});

describe("the folder", () => {
  it("lies in the runtime folder when that is the user's, else in the temporary folder", () => {
    const fallback = join(tmpdir(), `mullion-${userInfo().uid}`);
    expect(stateFolder(variables)).toBe(join(runtime, "mullion"));
    expect(stateFolder({})).toBe(fallback);
    expect(stateFolder({ XDG_RUNTIME_DIR: join(runtime, "missing") })).toBe(fallback);
  });

  it("is closed to others, and not used when it is not", () => {
    const place = clusterPlace(DEFAULT, variables);
    ensureFolder(place, variables);
    expect(statSync(join(runtime, "mullion")).mode & 0o777).toBe(0o700);
    chmodSync(join(runtime, "mullion"), 0o755);
    expect(() => ensureFolder(place, variables)).toThrow(/other users may enter/);
  });

  it("of --socket is made when the one above it is there", () => {
    const socket = join(runtime, "lab", "x.sock");
    ensureFolder(clusterPlace({ name: undefined, socket }, {}), {});
    expect(statSync(join(runtime, "lab")).mode & 0o777).toBe(0o700);
    const deep = clusterPlace({ name: undefined, socket: join(runtime, "no", "such", "x.sock") }, {});
    expect(() => ensureFolder(deep, {})).toThrow(/^cannot keep a cluster in .*ENOENT/);
    // Nothing can be made here, and asking for it with all folders above it would never end.
    const proc = clusterPlace({ name: undefined, socket: "/proc/mullion/x.sock" }, {});
    expect(() => ensureFolder(proc, {})).toThrow(/^cannot keep a cluster in \/proc\/mullion: /);
  });

  it("goes with the last cluster, and stays while there is another", () => {
    const [one, two] = ["one", "two"].map((name) => clusterPlace({ name, socket: undefined }, variables));
    ensureFolder(one!, variables);
    for (const place of [one!, two!])
      for (const path of [place.socket, place.pidFile, place.log]) writeFileSync(path, "");
    expect(listNames(variables)).toEqual(["one", "two"]);
    removePlace(one!, variables);
    expect(listNames(variables)).toEqual(["two"]);
    removePlace(two!, variables);
    expect(existsSync(join(runtime, "mullion"))).toBe(false);
    expect(listNames(variables)).toEqual([]);
  });
});

describe("a socket", () => {
  const place = (): ReturnType<typeof clusterPlace> => clusterPlace(DEFAULT, variables);

  it("is not there before somebody binds it", () => {
    expect(hasOwnSocket(place(), variables)).toBe(false);
  });

  it("is spoken to when it is the user's alone, and else not", async () => {
    ensureFolder(place(), variables);
    const server = createServer();
    await new Promise<void>((resolve) => {
      server.listen(place().socket, resolve);
    });
    chmodSync(place().socket, 0o600);
    expect(hasOwnSocket(place(), variables)).toBe(true);
    chmodSync(place().socket, 0o660);
    expect(() => hasOwnSocket(place(), variables)).toThrow(/is not yours alone/);
    await new Promise((resolve) => {
      server.close(resolve);
    });
  });

  it("is no other kind of file", () => {
    mkdirSync(place().socket, { recursive: true });
    chmodSync(join(runtime, "mullion"), 0o700);
    expect(() => hasOwnSocket(place(), variables)).toThrow(/is not a socket/);
  });
});
