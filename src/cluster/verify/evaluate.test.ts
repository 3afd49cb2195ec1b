// What is found about an observation: who answered, whom the receiver saw, and how often.
import { beforeAll, describe, expect, it } from "vitest";
import type { Expectation, Proof } from "#core/catalogue/expectations.ts";
import { formatIp } from "#core/net/ip.ts";
import { openTestCluster } from "#test/support/cluster/walk.ts";
import type { Cluster } from "../cluster.ts";
import type { Cell } from "./cells/cell.ts";
import { evaluate } from "./evaluate.ts";
import { readModel } from "./model-of-cluster.ts";
import type { CellAttempt } from "./observation.ts";
import { CellLimits, listCells } from "./plan.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: lab }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11 }
  - { name: win-2, os: windows, address: 10.0.0.12 }
pods:
  - { name: a, node: win-1 }
  - { name: b, node: win-2 }
`;

const CODE = "no-route";

let cluster: Cluster;
let known: Cell;
let client: string;
beforeAll(async () => {
  cluster = await openTestCluster(CLUSTER);
  const cells = listCells(cluster, readModel(cluster), new CellLimits(cluster, []), []);
  known = cells.find(({ flow, protocol }) => flow === "pod-to-pod-ip" && protocol === "tcp")!;
  client = formatIp(known.source!.address);
});

const attempt = (answeredBy: string | undefined, seen?: string): CellAttempt => ({
  outcome: "answered",
  answeredBy,
  seen,
  detail: `${answeredBy ?? "nobody"} saw ${seen ?? "nothing"}`,
  sourcePort: undefined,
});
const LOST: CellAttempt = { ...attempt(undefined), outcome: "timed-out", detail: "no answer" };

function fault(
  change: Partial<Pick<Cell, "probe">> & {
    readonly answerers?: readonly string[];
    readonly expected?: Expectation;
  },
  ...attempts: readonly CellAttempt[]
): string | undefined {
  const { answerers = ["b"], expected = { outcome: "works", sees: "any" }, probe = "once" } = change;
  const cell = { ...known, probe, expected, target: { ...known.target, answerers } };
  return evaluate(cell, { attempts }, undefined, cluster)?.observed;
}

describe("of a flow that should work", () => {
  const works = (sees: "any" | "client" | "client-node"): { readonly expected: Expectation } => ({
    expected: { outcome: "works", sees },
  });

  it("the receiver sees whom the table says", () => {
    const node = `10.0.0.1${known.sourceReference.endsWith("a") ? 1 : 2}`;
    expect(fault(works("client"), attempt("b", client))).toBeUndefined();
    expect(fault(works("client"), attempt("b", node))).toBe(`the receiver sees ${node} instead of ${client}`);
    expect(fault(works("client-node"), attempt("b", node))).toBeUndefined();
    expect(fault(works("client-node"), attempt("b", client))).toBe(
      `the receiver sees ${client} instead of ${node}`,
    );
    expect(fault(works("any"), attempt("b", "192.0.2.1"))).toBeUndefined();
    // ICMP does not tell.
    expect(fault(works("client"), attempt("b"))).toBeUndefined();
  });

  it("one attempt without an answer is enough", () => {
    expect(fault({ probe: "sweep" }, attempt("b"), LOST)).toBe("timed-out: no answer");
  });

  it("another host may not answer, but for what a sender asks of itself", () => {
    expect(fault({}, attempt("c", client))).toBe(`another host answers: c saw ${client}`);
    expect(fault({}, attempt(undefined))).toBe("another host answers: nobody saw nothing");
    expect(fault({ probe: "own" }, attempt("c"), attempt("b"))).toBeUndefined();
  });

  it("a sweep wants all of them, several connections of one client want one", () => {
    const answerers = ["b", "c", "d", "e", "f"];
    expect(fault({ probe: "sweep", answerers }, ...answerers.map((name) => attempt(name)))).toBeUndefined();
    expect(fault({ probe: "sweep", answerers }, attempt("b"))).toBe(
      "never answered in 1 connections: c, d, e and 1 more",
    );
    expect(fault({ probe: "sweep", answerers }, attempt("b"), attempt("c"))).toBe(
      "never answered in 2 connections: d, e, f",
    );
    expect(fault({ probe: "same", answerers }, attempt("b"), attempt("b"))).toBeUndefined();
    expect(fault({ probe: "same", answerers }, attempt("b"), attempt("c"))).toBe(
      "2 back ends answer one client: b, c",
    );
    expect(fault({ probe: "once", answerers }, attempt("b"))).toBeUndefined();
  });
});

describe("of a flow that should be denied", () => {
  const none: readonly CellAttempt[] = [];
  const own = (): CellAttempt => attempt("b", client);
  const other = (): CellAttempt => attempt("b", "192.0.2.1");

  it.each([
    ["any failure", "any-failure", () => [LOST], true],
    ["an answer beside a failure", "any-failure", () => [LOST, own()], false],
    ["nothing tried", "any-failure", () => none, false],
    ["an answer that saw another address", "client-address-lost", () => [other()], true],
    ["one of two that saw the client's", "client-address-lost", () => [other(), own()], false],
    ["no answer that saw an address", "client-address-lost", () => [LOST], false],
    ["nobody's address, as nothing was tried", "client-address-lost", () => none, false],
    ["the same back end twice", "same-back-end", () => [own(), own()], true],
    ["another back end later", "same-back-end", () => [own(), attempt("c")], false],
    ["the back end once", "same-back-end", () => [own()], false],
    ["the back end, then no answer", "same-back-end", () => [own(), LOST], false],
    ["somebody else", "not-reached", () => [attempt("c"), LOST], true],
    ["the receiver", "not-reached", () => [LOST, own()], false],
    ["nobody who says who he is", "not-reached", () => [attempt(undefined)], false],
    [
      "a name that is not found",
      "name-not-found",
      () => [{ ...LOST, outcome: "name-not-found", code: CODE }],
      true,
    ],
    [
      "a name that another cause hides",
      "name-not-found",
      () => [{ ...LOST, outcome: "name-not-found" }],
      false,
    ],
    ["a failure without a name", "name-not-found", () => [{ ...LOST, code: CODE }], false],
    ["a failure without a trace that shows the drop", "drop", () => [LOST], false],
  ] satisfies [string, Proof, () => readonly CellAttempt[], boolean][])(
    "%s",
    (_, proof, attempts, isProved) => {
      const expected = { outcome: "denied", code: CODE, proof } as const;
      expect(fault({ expected }, ...attempts()) === undefined).toBe(isProved);
    },
  );
});
