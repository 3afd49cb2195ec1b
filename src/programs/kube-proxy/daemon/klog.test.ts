import { expect, it } from "vitest";
import { Klog } from "./klog.ts";

it("log lines as klog writes them", () => {
  let text = "";
  const log = new Klog({
    write: (line) => {
      text += line;
    },
    wallMs: () => new Date(2026, 10, 22, 3, 47, 8, 123).getTime() + 0.456,
    pid: 1234,
    verbosity: 2,
  });
  log.info(2, "Opening healthcheck", { service: "ns/web", port: 32_000, none: undefined });
  log.info(3, "not shown");
  log.error("Failed", { err: new Error('a "b"') });
  expect(text).toMatch(
    /^I1122 03:47:08\.1234\d\d {4}1234 kube-proxy:1\] "Opening healthcheck" service="ns\/web" port=32000\n/,
  );
  expect(text).toMatch(/\nE1122 .*\] "Failed" err="a \\"b\\""\n$/);
  expect(text).not.toContain("not shown");
});

it("lines of JSON as component-base writes them: ts in milliseconds, v for what is no error, err for what went wrong", () => {
  const lines: unknown[] = [];
  const severities: string[] = [];
  const log = new Klog({
    write: (line, severity) => {
      lines.push(JSON.parse(line));
      severities.push(severity);
    },
    wallMs: () => 1_700_000_000_000.25,
    pid: 1,
    verbosity: 2,
    format: "json",
  });
  log.info(2, "Opening healthcheck", { service: "ns/web", port: 32_000, none: undefined });
  log.info(3, "not shown");
  log.warning("Repaired HNS", { list: ["a"] });
  log.error("Failed", { err: new Error("broken") });
  const head = { ts: 1_700_000_000_000.25, caller: "kube-proxy:1" };
  expect(lines).toEqual([
    { ...head, msg: "Opening healthcheck", v: 2, service: "ns/web", port: 32_000 },
    { ...head, msg: "Repaired HNS", v: 0, list: ["a"] },
    { ...head, msg: "Failed", err: "broken" },
  ]);
  expect(severities).toEqual(["I", "W", "E"]);
});
