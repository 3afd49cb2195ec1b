/** The forms are those of kubectl, pkg/cmd/clusterinfo/clusterinfo_dump.go. */
import { describe, expect, it } from "vitest";
import { containerLogsIn, withoutContainerLogs } from "./container-logs.ts";

const NAMED = "container web of pod shop/web-0 ====";

describe("a text without the logs of containers", () => {
  it.each([
    ["no log", "a\nb", "a\nb"],
    [
      "a log between two objects",
      `a\n==== START logs for ${NAMED}\nx: y\n==== END logs for ${NAMED}\nb`,
      "a\n\n\n\nb",
    ],
    ["one at the beginning", `==== START logs for ${NAMED}\n==== END logs for ${NAMED}\nb`, "\n\nb"],
    [
      "one with the words of another in it",
      `==== START logs for ${NAMED}\n==== END logs for container db of pod shop/db-0 ====\nx\n==== END logs for ${NAMED}\nb`,
      "\n\n\n\nb",
    ],
    ["one that is cut", `a\n==== START logs for ${NAMED}\nx\ny`, "a\n\n\n"],
    ["the words inside a line", `a ==== START logs for ${NAMED}`, `a ==== START logs for ${NAMED}`],
    [
      "two",
      `==== START logs for ${NAMED}\nx\n==== END logs for ${NAMED}\n{}\n==== START logs for ${NAMED}\ny\n==== END logs for ${NAMED}\n{}`,
      "\n\n\n{}\n\n\n\n{}",
    ],
  ])("%s", (_, text, left) => {
    expect(withoutContainerLogs(text)).toBe(left);
  });

  it("1 MB of first lines without their last ones takes no time", () => {
    const text = `==== START logs for ${NAMED}\n`.repeat(20_000);
    expect(withoutContainerLogs(text)).toBe("\n".repeat(20_000));
  });
});

describe("the logs in a text", () => {
  it("are told by container and pod, with the lines that they have", () => {
    const text = `{}\n==== START logs for ${NAMED}\nx\ny\n==== END logs for ${NAMED}\n{}\n==== START logs for container db of pod shop/db-0 ====\nz`;
    expect(containerLogsIn(text)).toEqual([
      { container: "web", namespace: "shop", pod: "web-0", text: "x\ny\n", line: 3 },
      { container: "db", namespace: "shop", pod: "db-0", text: "z", line: 8 },
    ]);
  });

  it("are none where no line begins one, or names no container", () => {
    expect(containerLogsIn("a ==== START logs for container web of pod shop/web-0 ====\n")).toEqual([]);
    expect(containerLogsIn("==== START logs for it ====\nx\n")).toEqual([]);
  });

  it("are empty where the container wrote nothing", () => {
    const text = `==== START logs for ${NAMED}\n==== END logs for ${NAMED}\n`;
    expect(containerLogsIn(text)).toMatchObject([{ text: "", line: 2 }]);
  });
});
