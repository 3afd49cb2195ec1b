/** Services that lie to the shim: whatever they say, calls end in time with a documented error, and so do programs. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LIES, LYING_STREAMS, answerOf, startLiar } from "./lying-service.ts";
import { GOOD, type Start, closePrograms, openPrograms, startOnWine, startSanitized } from "./programs.ts";
import { resultOf } from "./test-daemon.ts";

beforeAll(openPrograms);
afterAll(closePrograms);

describe.each<readonly [string, Start]>([
  ["under Wine", startOnWine],
  ["on Linux, watched by sanitizers", startSanitized],
])("a program that loads computenetwork and vmcompute, %s", (_, start) => {
  it.each(LIES)("a service that lies ($title): $hresult, in time", async ({ answer, end, hresult }) => {
    const liar = await startLiar(answer, end);
    try {
      const refused = await resultOf(start(["refused", hresult], liar.variables));
      expect(refused).toEqual({
        code: 0,
        stdout: expect.stringContaining("ErrorCode") as string,
        stderr: "",
      });
    } finally {
      await liar.stop();
    }
  });

  it.each(LYING_STREAMS)("a stream that lies ($title): ServiceDisconnect, once", async ({ answer, end }) => {
    const liar = await startLiar(answer, end);
    try {
      expect(await resultOf(start(["misled"], liar.variables))).toEqual(GOOD);
    } finally {
      await liar.stop();
    }
  });

  it("a service of another version: RPC_S_UNKNOWN_IF, for calls and for registrations", async () => {
    const liar = await startLiar(answerOf({ version: "2" }), "closes");
    try {
      const refused = await resultOf(start(["refused", "800706b5"], liar.variables));
      expect(refused.stdout).toContain("The interface is unknown. ");
      expect(refused.stdout).toContain("take both from one");
      expect(refused.code).toBe(0);
      expect(await resultOf(start(["unheard", "800706b5"], liar.variables))).toEqual(GOOD);
    } finally {
      await liar.stop();
    }
  });
});
