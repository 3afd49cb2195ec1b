import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";

const [EXECUTED = "", IP = ""] = ["tools/files-executed.ts", "src/core/net/ip.ts"].map((path) =>
  JSON.stringify(new URL(`../${path}`, import.meta.url).href),
);

/** Runs in a thread of its own: counting drops all optimised code of a thread, and asks each function that it has loaded. */
const SCRIPT = `
  import { parentPort } from "node:worker_threads";
  import { filesExecutedBy } from ${EXECUTED};
  import { parseIp } from ${IP};
  parentPort.postMessage([
    await filesExecutedBy(async () => parseIp("10.0.0.1")),
    await filesExecutedBy(async () => undefined),
  ]);
`;

describe("the files of one call", () => {
  it("are those of which a function ran", async () => {
    const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(SCRIPT)}`));
    const [[parsing, nothing]] = (await once(worker, "message")) as [unknown[]];
    await worker.terminate();
    expect(parsing).toEqual(["core/net/ip.ts"]);
    expect(nothing).toEqual([]);
  });
});
