import { expect, it } from "vitest";
import { SourceText } from "#core/base/source-text.ts";
import { examineNodes } from "./doctor.ts";
import { formatSarif } from "./format-machine.ts";
import { FileReading } from "./read-evidence.ts";

// SARIF 2.1.0, section 3.28: a location has a physical or a logical one; an object of an API server is in no file.
it("SARIF names an object of an API server as a resource, and a line of a file as one", async () => {
  const node = JSON.stringify({
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "win-1", labels: { "kubernetes.io/os": "windows" } },
    status: {
      conditions: [{ type: "Ready", status: "False", reason: "KubeletNotReady", message: "no network" }],
      nodeInfo: { operatingSystem: "windows" },
    },
  });
  const locationsIn = async (reading: FileReading): Promise<unknown> => {
    const log = JSON.parse(formatSarif(await examineNodes([reading]), "1")) as {
      runs: { results: { ruleId: string; locations: unknown[] }[] }[];
    };
    return log.runs[0]?.results.find(({ ruleId }) => ruleId === "node-not-ready")?.locations;
  };
  const message = { text: "Ready False: no network" };
  const server = new FileReading(new SourceText("https://10.0.0.1/nodes", node), () => "/api/v1/nodes/win-1");
  expect(await locationsIn(server)).toEqual([
    { logicalLocations: [{ fullyQualifiedName: "/api/v1/nodes/win-1", kind: "resource" }], message },
  ]);
  expect(await locationsIn(new FileReading(new SourceText("a b/objects.json", node)))).toEqual([
    {
      physicalLocation: { artifactLocation: { uri: "a%20b/objects.json" }, region: { startLine: 1 } },
      message,
    },
  ]);
});
