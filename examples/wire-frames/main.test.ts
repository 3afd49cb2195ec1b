import { expect, it } from "vitest";
import { runExample } from "./main.ts";

it("the example wire-frames shows the frame, the frame in VXLAN, and what is in there", () => {
  const lines = runExample();
  const [pod, node, vni] = ["The pod sends", "The node sends", "VNI 4096"].map((line) => lines.indexOf(line));
  const ofPod = lines.slice(1, node);
  expect([pod, lines.indexOf("for the pod: true"), lines.at(-1)]).toEqual([
    0,
    lines.length - 2,
    "checksums right: true",
  ]);
  // What the node sends holds the pod's frame as it was, behind outer headers and VXLAN.
  const ofNode = lines.slice((node ?? 0) + 1, vni).map((line) => line.trim());
  expect(ofNode.slice(-ofPod.length)).toEqual(ofPod.map((line) => line.trim()));
  expect(ofNode.find((line) => /vxlan/i.test(line))).toContain("4096");
});
