// Logs in JSON are read as their text form is: the fields of each line are those of the programs' own documentation.
import { describe, expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { plainLine } from "./json-log.ts";
import { FileReading } from "./read-evidence.ts";

const TS = Date.UTC(2026, 0, 2, 15, 4, 5);

/** A line of kubelet or kube-proxy with `--logging-format=json`. */
function klog(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ ts: TS + 0.25, caller: "app/server.go:1", ...fields });
}

/** A line of containerd with `format = "json"`. */
function logrus(fields: Readonly<Record<string, unknown>>): string {
  return JSON.stringify({ level: "info", time: "2026-01-02T15:04:05.000000000Z", ...fields });
}

/** What Docker keeps of a container's line. */
function docker(line: string): string {
  return JSON.stringify({ log: `${line}\r\n`, stream: "stdout", time: "2026-01-02T15:04:05.0000000Z" });
}

function read(...lines: readonly string[]): FileReading {
  return new FileReading(new SourceText("a.log", `${lines.join("\n")}\n`));
}

const QUIET = Array.from({ length: 80 }, (_, v) => klog({ msg: "Syncing pod", v }));

describe("a log of which each line is JSON", () => {
  it.each([
    ["alone", []],
    ["behind many that say nothing", QUIET],
  ])("holds the flags of kube-proxy as its text form does, %s", (_, before) => {
    const call = String.raw`Running C:\k\kube-proxy.exe --proxy-mode="kernelspace" --source-vip="10.244.1.2" --v=4`;
    const head = "I0102 15:04:05.000250 1 app/server.go:1]";
    const ofText = read(...before.map(() => `${head} Syncing pod`), `${head} ${call}`);
    const ofJson = read(...before, klog({ msg: call, v: 1 }));
    expect(ofJson.configurations("kube-proxy-flags")).toHaveLength(1);
    expect(ofJson.configurations("kube-proxy-flags")).toEqual(ofText.configurations("kube-proxy-flags"));
  });

  it("holds a version of Windows, and shows errors", () => {
    const reading = read(
      ...QUIET,
      logrus({ msg: "os: Microsoft Windows [Version 10.0.17763.2114]" }),
      logrus({ level: "error", msg: "RunPodSandbox failed", error: "hcnCreateEndpoint failed in Win32" }),
    );
    const { versions } = reading.host;
    expect(versions.map(({ build, place: { line } }) => [build, line])).toEqual([
      ["17763.2114", QUIET.length + 1],
    ]);
    expect(reading.showsErrors).toBe(true);
  });

  it("holds a clock that is behind", () => {
    const err =
      "x509: certificate has expired or is not yet valid: current time 2026-01-02T15:04:05Z is before 2026-01-02T16:04:05Z";
    expect(read(...QUIET, klog({ msg: "Unable to register", err })).host.clocks).toHaveLength(1);
  });

  it("holds the table that a container printed", () => {
    const rows = [
      "Protocol tcp Port Exclusion Ranges",
      "",
      "Start Port    End Port",
      "----------    --------",
      "      5985        5985",
      "     47001       47001",
    ];
    const { host } = read(...rows.map(docker));
    expect(host["excluded ports"].map(({ first, place: { line } }) => [first, line])).toEqual([
      [5985, 5],
      [47_001, 6],
    ]);
  });

  // https://kubernetes.io/docs/concepts/cluster-administration/system-logs/: `ts` counts seconds, and milliseconds in
  // releases before; an error has no `v`. klog's head is LMMDD HH:MM:SS.uuuuuu THREAD FILE:LINE].
  it.each([
    [
      "milliseconds",
      { ts: TS + 250, msg: "Synced", v: 2 },
      "I0102 15:04:05.250000 1 app/server.go:1] Synced",
    ],
    [
      "seconds",
      { ts: TS / 1000 + 0.007, msg: "Synced", v: 0 },
      "I0102 15:04:05.007000 1 app/server.go:1] Synced",
    ],
    [
      "an error",
      { msg: "Failed to\r\nsync", err: "no such host", pod: { name: "a" } },
      'E0102 15:04:05.000000 1 app/server.go:1] Failed to sync err="no such host" pod={"name":"a"}',
    ],
    ["no caller", { caller: 7, msg: "Synced", v: 1 }, "I0102 15:04:05.000000 1 ?] Synced"],
  ])("a line of klog in its text form: %s", (_, fields, text) => {
    expect(plainLine(klog(fields))).toBe(text);
  });

  it.each([
    [
      "containerd",
      logrus({ level: "warning", msg: "retry", id: 4 }),
      'time="2026-01-02T15:04:05.000000000Z" level=warning msg="retry" id=4',
    ],
    ["no level", JSON.stringify({ time: "x", msg: "retry" }), 'time="x" level=info msg="retry"'],
    ["no time", JSON.stringify({ level: "error", msg: "retry" }), 'msg="retry"'],
    ["Docker", docker("one\ntwo"), "one two"],
  ])("a line of logrus in its text form: %s", (_, line, text) => {
    expect(plainLine(line)).toBe(text);
  });

  it.each(['{"ts":1,"msg":', '{"level":"error"}', '{"msg":[1]}', "{}"])("%s is no such line", (line) => {
    expect(read(line, line).holds).toEqual([]);
  });
});
