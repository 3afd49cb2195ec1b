import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { runExample } from "./main.ts";

it("the example cni-plugin gives an address behind a runtime, and refuses a configuration without one", async () => {
  const [result, failure] = await runExample();
  expect(JSON.parse(result ?? "")).toEqual({ cniVersion: "1.0.0", ips: [{ address: "10.0.0.7/24" }] });
  expect(failure).toMatch(/^code 7: .*write "address": "10.0.0.7\/24"$/);
});

it("is an executable, too", () => {
  const call = { CNI_CONTAINERID: "web", CNI_NETNS: "none", CNI_IFNAME: "eth0", CNI_PATH: "bin" };
  const run = (CNI_COMMAND: string, configuration: object): { status: number | null; stdout: string } =>
    spawnSync(process.execPath, ["--conditions=mullion-source", "examples/cni-plugin/main.ts"], {
      env: { ...process.env, ...call, CNI_COMMAND },
      input: JSON.stringify({ cniVersion: "1.0.0", name: "lab", ...configuration }),
      encoding: "utf8",
    });
  const added = run("ADD", { address: "10.0.0.7/24" });
  expect(added.status).toBe(0);
  expect(JSON.parse(added.stdout)).toMatchObject({ ips: [{ address: "10.0.0.7/24" }] });
  const refused = run("ADD", {});
  expect(refused.status).toBe(1);
  expect(JSON.parse(refused.stdout)).toMatchObject({ code: 7 });
});
