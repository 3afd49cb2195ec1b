// `mullion up --ovn-remote ssl:…` as a user types it, against Debian's ovsdb-server with certificates made here (ovsdb(7), "ssl").
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EXAMPLE } from "#test/support/cluster/ovn-world.ts";
import { certify, freePort } from "./clustered-database.ts";

const folder = mkdtempSync(join(tmpdir(), "mullion-tls-"));
const at = (name: string): string => join(folder, name);
let remote: string;
let server: number;

function mullion(...words: readonly string[]): { readonly code: number | null; readonly text: string } {
  const env = { ...process.env, XDG_RUNTIME_DIR: folder, MULLION_NAME: "tls" };
  const { status, stdout, stderr } = spawnSync(process.execPath, ["bin/mullion.js", ...words], {
    encoding: "utf8",
    env,
  });
  return { code: status, text: stdout + stderr };
}

function up(files: Readonly<Record<string, string>>): ReturnType<typeof mullion> {
  const words = Object.entries(files).flatMap(([option, name]) => [option, at(name)]);
  return mullion("up", "-f", at("cluster.yaml"), "--ovn-remote", remote, ...words);
}

function chassis(): readonly string[] {
  const words = [`--db=unix:${at("sb.sock")}`, "--bare", "--columns=name", "list", "chassis"];
  return execFileSync("ovn-sbctl", words, { encoding: "utf8" }).split("\n").filter(Boolean).toSorted();
}

beforeAll(async () => {
  for (const name of ["ca", "other"]) certify(folder, name);
  certify(folder, "server", "ca");
  certify(folder, "client", "ca");
  certify(folder, "stranger", "other");
  writeFileSync(at("broken.pem"), "no certificate\n");
  writeFileSync(at("cluster.yaml"), EXAMPLE);
  execFileSync("ovsdb-tool", ["create", at("sb.db"), "/usr/share/ovn/ovn-sb.ovsschema"]);
  const port = await freePort();
  remote = `ssl:127.0.0.1:${port}`;
  const own = ["-p", at("server.key"), "-c", at("server.pem"), "-C", at("ca.pem")];
  const remotes = [`--remote=punix:${at("sb.sock")}`, `--remote=pssl:${port}:127.0.0.1`];
  const places = ["--detach", `--pidfile=${at("pid")}`, `--unixctl=${at("ctl")}`, `--log-file=${at("log")}`];
  execFileSync("ovsdb-server", [...own, ...remotes, ...places, at("sb.db")]);
  server = Number(execFileSync("cat", [at("pid")], { encoding: "utf8" }));
}, 60_000);

afterAll(() => {
  mullion("down");
  process.kill(server);
  rmSync(folder, { recursive: true });
});

describe("mullion up --ovn-remote ssl:HOST:PORT", () => {
  it("joins a database that the CA has signed, and leaves it", () => {
    const files = { "--private-key": "client.key", "--certificate": "client.pem", "--ca-cert": "ca.pem" };
    expect(up(files)).toMatchObject({ code: 0 });
    expect(chassis()).toEqual(["win-1", "win-2"]);
    expect(mullion("down").code).toBe(0);
    expect(chassis()).toEqual([]);
  }, 60_000);

  it.each([
    [
      "a database whom the CA has not signed",
      { "--private-key": "client.key", "--certificate": "client.pem", "--ca-cert": "other.pem" },
      /self.signed|unable to/,
    ],
    [
      "whom the database does not believe",
      { "--private-key": "stranger.key", "--certificate": "stranger.pem", "--ca-cert": "ca.pem" },
      /ssl:127\.0\.0\.1:\d+ has gone before it answered: tlsv1 alert unknown ca \[bad-usage\]/,
    ],
    [
      "a file that is not there",
      { "--private-key": "none.key", "--certificate": "client.pem", "--ca-cert": "ca.pem" },
      /--private-key: ENOENT: .*none\.key/,
    ],
    [
      "a file that is no certificate",
      { "--private-key": "client.key", "--certificate": "broken.pem", "--ca-cert": "ca.pem" },
      /--certificate: .*broken\.pem is not a certificate in PEM/,
    ],
    [
      "a key of another certificate",
      { "--private-key": "stranger.key", "--certificate": "client.pem", "--ca-cert": "ca.pem" },
      /--private-key: .*stranger\.key does not belong to .*client\.pem/,
    ],
    ["no CA", { "--private-key": "client.key", "--certificate": "client.pem" }, /--ca-cert is missing/],
  ])(
    "refuses %s in plain words",
    (_title, files, message) => {
      const { code, text } = up(files);
      expect(text).toMatch(message);
      expect(code).toBe(2);
      expect(chassis()).toEqual([]);
    },
    60_000,
  );
});
