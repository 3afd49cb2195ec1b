// How sure it is that a clock is wrong: by what is there, and whether it agrees.
import { describe, expect, it } from "vitest";
import { filesOf, healthyNode } from "#test/support/doctor/healthy-node.ts";
import { SourceText } from "#core/base/source-text.ts";
import { examineNodes } from "../doctor.ts";
import { FileReading } from "../read-evidence.ts";

/** harvester/harvester#2860: the certificate of the other node was younger than the clock. */
const EARLY =
  "E0905 07:59:00.1 2044 reflector.go:147] failed: x509: certificate has expired or is not yet valid: current time 2022-09-05T07:59:00Z is before 2022-09-05T08:16:15Z\n";
/** kubernetes/minikube#18032: the certificate was five days over, and the clock right. */
const LATE = EARLY.replace(
  /current time.*/u,
  "current time 2024-01-24T01:22:32Z is after 2024-01-19T20:19:24Z",
);
/** kubernetes-sigs/kind#2166: 53 seconds, and another zone. */
const FEW = EARLY.replace(
  /current time.*/u,
  "current time 2021-03-29T19:39:03+08:00 is before 2021-03-29T11:39:56Z",
);
const OFFSET = "01:00:00, -1031.5501253s\n";
const UNSET = "Sprungindikator: 3(nicht synchronisiert)\nStratum: 0 (nicht angegeben)\n";

type Json = Record<string, Record<string, unknown>>;

/** Nodes, each with the minute of its last report; the first is the one that is examined. */
function reported(...minutes: readonly number[]): string {
  const { kubernetes } = healthyNode();
  const [win, linux] = kubernetes as unknown as readonly Json[];
  const nodes = minutes.map((minute, index) => {
    const node = structuredClone(index === 0 ? win! : linux!);
    const time = new Date(Date.UTC(2026, 10, 28, 0, minute)).toISOString();
    const conditions = [{ type: "Ready", status: "True", lastHeartbeatTime: time }];
    if (index > 1)
      return { apiVersion: "v1", kind: "Node", metadata: { name: `linux-${index}` }, status: { conditions } };
    node["status"]!["conditions"] = conditions;
    return node;
  });
  const others = kubernetes.filter((each) => each["kind"] !== "Node");
  return JSON.stringify({ apiVersion: "v1", kind: "List", items: [...nodes, ...others] });
}

async function verdict(files: Readonly<Record<string, string>>): Promise<string> {
  const whole = { ...filesOf(healthyNode()), ...files };
  const { findings } = await examineNodes(
    Object.entries(whole).map(([name, text]) => new FileReading(new SourceText(name, text))),
  );
  return findings.map(({ certainty, message }) => `${certainty}: ${message}`).join("; ");
}

const BEHIND = "the clock of the node is behind";
const objects = "node/objects.json";

describe("a clock", () => {
  it.each<readonly [string, Readonly<Record<string, string>>, string]>([
    ["a certificate that begins later", { "node/kubelet.log": EARLY }, `likely: ${BEHIND}`],
    ["one that begins seconds later", { "node/kubelet.log": FEW }, `possible: ${BEHIND}`],
    ["one that is over says nothing of the clock", { "node/kubelet.log": LATE }, ""],
    [
      "a server that is minutes away",
      { "node/time.txt": OFFSET },
      "likely: the clock of the node is not right",
    ],
    ["two that agree", { "node/time.txt": OFFSET, "node/kubelet.log": EARLY }, `certain: ${BEHIND}`],
    ["that Windows asks nobody is no fault", { "node/time.txt": UNSET }, ""],
    ["reports side by side", { [objects]: reported(0, 4, 5) }, ""],
    ["a report long before two others", { [objects]: reported(0, 45, 46) }, `possible: ${BEHIND}`],
    [
      "a report long after two others",
      { [objects]: reported(60, 5, 6) },
      "possible: the clock of the node is ahead",
    ],
    ["a report beside one other", { [objects]: reported(0, 45) }, ""],
    ["others that do not agree", { [objects]: reported(0, 45, 300) }, ""],
    [
      "two that contradict each other",
      { [objects]: reported(60, 5, 6), "node/kubelet.log": EARLY },
      `possible: ${BEHIND}`,
    ],
  ])("%s", async (_, files, says) => {
    expect(await verdict(files)).toBe(says);
  });
});
