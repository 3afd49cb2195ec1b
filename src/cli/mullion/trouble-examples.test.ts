// Two of the troubles; all of them run with `npm run test:long`.
import { describe, expect, it } from "vitest";
import {
  FILES,
  NODE_TROUBLES,
  TROUBLES,
  type Run,
  describeNodeTroubles,
  describeTroubles,
  run,
  runWith,
} from "#test/support/cli/trouble-examples.suite.ts";
import { TROUBLESHOOTING_ITEMS } from "../../../tools/troubleshooting-page.ts";

describeTroubles(TROUBLES.filter(({ name }) => name === "exception-list"));
describeNodeTroubles(NODE_TROUBLES.filter(({ name }) => name === "port-forward"));

describe("the gallery", () => {
  it("has every item of the list, and both known issues", () => {
    const items = TROUBLESHOOTING_ITEMS.flatMap(({ number }) => number ?? []);
    expect([...new Set(items)]).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    const shown = [...TROUBLES, ...NODE_TROUBLES];
    expect(shown.map(({ name }) => name).toSorted()).toEqual(
      TROUBLESHOOTING_ITEMS.map(({ example }) => example).toSorted(),
    );
    for (const { number, example } of TROUBLESHOOTING_ITEMS)
      expect(shown.find(({ name }) => name === example)?.row).toBe(number);
  });

  it.each([
    ["own-node-port", "node-port-from-node-unsupported", "node/win-1 node/win-1 --port 30080"],
    ["service-from-node", "service-vip-from-node-unsupported", "node/win-1 service/till"],
  ])(
    "trouble-%s has the page's limit on a later build, too, where that is asked for",
    async (name, code, question) => {
      const fixed = `examples/trouble-${name}/fixed.yaml`;
      const asDocumented = FILES[fixed]?.replace("nodes:", 'asDocumented: "2024"\n\nnodes:') ?? "";
      const ask = async (text: string): Promise<Run> =>
        runWith({ ...FILES, [fixed]: text }, ["trace", "-f", fixed, ...question.split(" ")]);
      expect((await ask(FILES[fixed] ?? "")).code).toBe(0);
      const limited = await ask(asDocumented);
      expect(limited.code).toBe(1);
      expect(limited.out).toContain(code);
    },
  );
});

describe("what a trace shows", () => {
  const EXCEPTIONS = "examples/trouble-exception-list/cluster.yaml";

  it("an excepted host outside never answers, and the walk names the policy", async () => {
    const { code, out } = await run("trace", "-f", EXCEPTIONS, "pod/till", "external", "--port", "443");
    expect(code).toBe(1);
    expect(out).toContain("mullion explain outbound-nat-exception");
  });

  it("without the nodes' subnet a pod's answer leaves with its node's address", async () => {
    const { code, out } = await run("trace", "-f", EXCEPTIONS, "node/win-2", "pod/till");
    expect(code).toBe(1);
    expect(out).toContain("ip.src 10.244.0.3 → 10.0.0.11");
  });

  it("KP-L3 with another name of the node, a Service whose policies are both Local has no back end there", async () => {
    const front = async (file: string): Promise<Run> =>
      run("trace", "-f", `examples/trouble-hostname/${file}.yaml`, "node/win-1", "service/front");
    const broken = await front("cluster");
    expect(broken.code).toBe(1);
    expect(broken.out).toContain("service-without-back-ends");
    expect((await front("fixed")).code).toBe(0);
  });

  it("KP-L1 KP-L2 others keep their back ends, local ones too: HNS says what is local", async () => {
    const { code } = await run(
      "trace",
      "-f",
      "examples/trouble-hostname/cluster.yaml",
      "node/win-1",
      "service/stock",
    );
    expect(code).toBe(0);
  });
});
