// What `mullion doctor --kubeconfig` may do on a real API server: the role of its page, and nothing besides.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { findProgram } from "../../../tools/live-programs.ts";
import { CONTROL_PLANE_TIMEOUT_MS, ControlPlane } from "./control-plane.ts";

const PAGE = "docs/how-to/find-out-why-a-node-is-broken.md";
const OBJECTS = `
apiVersion: v1
kind: Node
metadata: {name: win-1, labels: {kubernetes.io/os: windows}}
spec: {podCIDR: 10.244.1.0/24, podCIDRs: [10.244.1.0/24]}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {selector: {app: web}, ports: [{port: 80}]}
`;

let plane: ControlPlane;

function kubectl(words: readonly string[], input = ""): string {
  const { status, stdout, stderr } = spawnSync(
    findProgram("kubectl"),
    [`--kubeconfig=${plane.kubeconfig}`, ...words],
    { input, encoding: "utf8" },
  );
  expect([status, stderr]).toEqual([0, ""]);
  return stdout;
}

function mullion(...words: readonly string[]): { readonly status: number | null; readonly said: string } {
  const argv = ["bin/mullion.js", ...words, "--kubeconfig", plane.withoutRights];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, { encoding: "utf8" });
  return { status, said: stdout + stderr };
}

beforeAll(async () => {
  plane = await ControlPlane.start();
  kubectl(["apply", "-f", "-"], OBJECTS);
}, CONTROL_PLANE_TIMEOUT_MS);
afterAll(async () => plane.stop());

describe("a user of whom the server knows nothing more", () => {
  it("is told what may not be listed", () => {
    const { status, said } = mullion("doctor");
    expect(status).toBe(2);
    expect(said).toContain("nodes is forbidden");
    expect(said).toContain("kubernetes-access-denied");
  });

  it("with the role of the page has all that doctor, verify and get want; the role may read and nothing else", () => {
    const [, role = ""] = /```yaml\n(apiVersion: rbac[^`]+)```/.exec(readFileSync(PAGE, "utf8")) ?? [];
    expect(new Set(role.match(/(?<=verbs: \[)[^\]]+/g))).toEqual(new Set(["list, watch"]));
    kubectl(["apply", "-f", "-"], role);
    kubectl(["create", "clusterrolebinding", "doctor", "--clusterrole=mullion-doctor", "--user=nobody"]);
    const looked = mullion("doctor");
    expect(looked.said).toMatch(/\d+ checks made/);
    expect(looked.said).not.toMatch(/forbidden|left out|denied/);
    expect([0, 1]).toContain(looked.status);
    const listed = mullion("get", "nodes");
    expect(listed).toMatchObject({ status: 0, said: expect.stringContaining("win-1") as string });
    expect(listed.said).not.toMatch(/forbidden|is left out/);
  });
});
