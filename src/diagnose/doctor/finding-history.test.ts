import { expect, it } from "vitest";
import type { NodeFinding } from "./check.ts";
import { FindingHistory } from "./finding-history.ts";

function finding(message: string): NodeFinding {
  return {
    code: "load-balancer-missing",
    certainty: "likely",
    node: "win-1",
    message,
    evidence: [],
    breaks: "",
    proof: { isProved: false, says: "" },
    remedy: "",
  };
}

/** Looks, each with what it shows and what is told then. */
const LOOKS: readonly (readonly [shows: string, told: readonly string[]])[] = [
  ["a", []],
  ["a b", ["wrong a since 0"]],
  ["a", []],
  ["a b", []],
  ["a b", ["wrong b since 3"]],
  ["b", ["mended a since 0"]],
  ["a b", []],
  ["b", []],
  ["", ["mended b since 3"]],
];

it("tells what two looks in a row show, and what is gone", () => {
  const history = new FindingHistory();
  for (const [time, [shows, told]] of LOOKS.entries()) {
    const findings = shows.split(" ").flatMap((name) => (name === "" ? [] : [finding(name)]));
    const changes = history.take({ findings }, String(time));
    expect(
      changes.map(({ event, finding: { message }, since }) => `${event} ${message} since ${since}`),
      `look ${time}`,
    ).toEqual(told);
  }
  expect(history.wrong).toEqual([]);
});
