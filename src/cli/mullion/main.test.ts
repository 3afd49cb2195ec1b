import { spawn, spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";

const BIN = "bin/mullion.js";

describe("the executable", () => {
  it("runs from the clone, without colours when its output is no terminal", () => {
    const env = { ...process.env };
    delete env["FORCE_COLOR"];
    const result = spawnSync(process.execPath, [BIN, "explain", "no-route"], { encoding: "utf8", env });
    expect({ status: result.status, stderr: result.stderr }).toEqual({ status: 0, stderr: "" });
    expect(result.stdout).toMatch(/^no-route\n/);
  });

  it("ends with 2 and two lines on bad usage", () => {
    const result = spawnSync(process.execPath, [BIN, "expalin"], { encoding: "utf8" });
    expect({ status: result.status, stdout: result.stdout }).toEqual({ status: 2, stdout: "" });
    expect(result.stderr).toBe(
      "mullion: unknown verb 'expalin' [bad-usage]\n    Did you mean explain? See: mullion --help\n",
    );
  });

  it("ends quietly when its reader goes away", async () => {
    const child = spawn(process.execPath, [BIN, "explain", "--list", "-o", "json"], { stdio: "pipe" });
    let stderr = "";
    child.stderr.on("data", (chunk: Buffer) => {
      stderr += chunk.toString();
    });
    child.stdout.destroy();
    const code = await new Promise((resolve) => {
      child.on("exit", resolve);
    });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });
});
