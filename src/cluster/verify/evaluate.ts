/** Compares what was expected of a cell with what came of it. */
import { listed } from "#core/base/text-layout.ts";
import type { KnowledgeCode } from "#core/catalogue/codes.ts";
import type { Expectation } from "#core/catalogue/expectations.ts";
import { type Ipv4, formatIp } from "#core/net/ip.ts";
import type { Cluster } from "../cluster.ts";
import { sourceVip } from "../networks/networks-of-node.ts";
import type { Cell } from "./cells/cell.ts";
import { describeExpectation } from "./describe.ts";
import { nodeOf } from "./facts.ts";
import type { CellAttempt, Disagreement, Evidence, Observation } from "./observation.ts";
import { compartmentOf } from "./stage.ts";

function isAnswered(attempt: CellAttempt): boolean {
  return attempt.outcome === "answered";
}

/** What kube-proxy on the node has as `--source-vip`. */
function sourceVipOf({ file, nodes }: Cluster, index: number): Ipv4 | undefined {
  const node = nodes[index];
  return node === undefined ? undefined : sourceVip(file.network, node.spec);
}

/** The addresses that the answerer may have seen; undefined when any will do. */
function seenAddresses(cell: Cell, cluster: Cluster): readonly string[] | undefined {
  const { expected, source } = cell;
  if (expected.outcome !== "works" || expected.sees === "any" || source === undefined) return undefined;
  const node = nodeOf(source);
  if (expected.sees === "client") {
    return source.kind === "node"
      ? compartmentOf(cluster, source)
          .listInterfaces()
          .flatMap(({ addresses }) => addresses.map(({ ip }) => formatIp(ip)))
      : [formatIp(source.address)];
  }
  if (node === undefined) return undefined;
  const vip = expected.sees === "client-source-vip" ? sourceVipOf(cluster, node.index) : undefined;
  return [formatIp(vip ?? node.address)];
}

/** What is wrong about a cell that should work; undefined when nothing is. */
function faultOf(cell: Cell, observation: Observation, cluster: Cluster): string | undefined {
  const { attempts } = observation;
  const failed = attempts.find((attempt) => !isAnswered(attempt));
  if (failed !== undefined) return `${failed.code ?? failed.outcome}: ${failed.detail}`;
  const { answerers } = cell.target;
  const stranger =
    answerers &&
    attempts.find(({ answeredBy }) => answeredBy === undefined || !answerers.includes(answeredBy));
  if (stranger !== undefined && cell.probe !== "own") return `another host answers: ${stranger.detail}`;
  const seen = new Set(attempts.map(({ answeredBy }) => answeredBy));
  const missing = (answerers ?? []).filter((name) => !seen.has(name));
  if (missing.length > 0 && (cell.probe === "sweep" || cell.probe === "own"))
    return `never answered in ${attempts.length} connections: ${listed(missing)}`;
  if (cell.probe === "same" && seen.size > 1)
    return `${seen.size} back ends answer one client: ${listed([...seen].map((name) => name ?? "unknown"))}`;
  const addresses = seenAddresses(cell, cluster);
  const own =
    cell.probe === "own"
      ? attempts.filter(({ answeredBy }) => answerers?.includes(answeredBy ?? ""))
      : attempts;
  const other =
    addresses && own.find((attempt) => attempt.seen !== undefined && !addresses.includes(attempt.seen));
  return other === undefined
    ? undefined
    : `the receiver sees ${other.seen ?? ""} instead of ${addresses?.join(" or ") ?? ""}`;
}

/** True when the receiver itself answered. */
function isReceiver({ target }: Cell, attempt: CellAttempt): boolean {
  if (!isAnswered(attempt)) return false;
  return attempt.answeredBy === undefined || target.answerers?.includes(attempt.answeredBy) === true;
}

/** True when the observation, with the trace of what failed, shows that the cell is denied as expected. */
function isProved(
  cell: Cell,
  expected: Extract<Expectation, { readonly outcome: "denied" }>,
  observation: Observation,
  evidence: Evidence | undefined,
): boolean {
  const { attempts } = observation;
  switch (expected.proof) {
    case "drop": {
      if (attempts.every(isAnswered) || evidence === undefined) return false;
      return [expected.code, ...(expected.dropCodes ?? [])].some((code) => evidence.codes.includes(code));
    }
    case "any-failure":
      return attempts.length > 0 && !attempts.some(isAnswered);
    case "name-not-found":
      return attempts.some(({ outcome, code }) => outcome === "name-not-found" && code === expected.code);
    case "client-address-lost": {
      const client = cell.source === undefined ? "" : formatIp(cell.source.address);
      const isDropped = (expected.dropCodes ?? []).some((code) => evidence?.codes.includes(code) === true);
      const isLost = attempts.every((each) => isAnswered(each) && each.seen !== client);
      return attempts.length > 0 && (isLost || isDropped);
    }
    case "same-back-end": {
      const names = attempts.map(({ answeredBy }) => answeredBy);
      return attempts.length > 1 && attempts.every(isAnswered) && new Set(names).size === 1;
    }
    case "not-reached":
      return attempts.length > 0 && !attempts.some((each) => isReceiver(cell, each));
    case "not-in-host-network":
    case "shown":
      return attempts.length > 0 && !attempts.some(isAnswered);
  }
}

function describeDenied(observation: Observation, evidence: Evidence | undefined): string {
  const failed = observation.attempts.find((attempt) => !isAnswered(attempt));
  if (failed === undefined) {
    const [first] = observation.attempts;
    return first === undefined ? "nothing was observed" : `works: ${first.detail}`;
  }
  if (evidence === undefined) return `${failed.code ?? failed.outcome}: ${failed.detail}`;
  return `denied: ${evidence.code ?? "for a reason without a code"}`;
}

/** The code that an attempt itself came with: that of a resolver. */
function codeOf(observation: Observation): KnowledgeCode | undefined {
  return observation.attempts.find(({ code }) => code !== undefined)?.code;
}

/** Compares; `evidence` is the trace of an attempt that failed, where there was one. */
export function evaluate(
  cell: Cell,
  observation: Observation,
  evidence: Evidence | undefined,
  cluster: Cluster,
): Disagreement | undefined {
  const { expected } = cell;
  switch (expected.outcome) {
    case "not-applicable":
      return undefined;
    case "works": {
      const fault = faultOf(cell, observation, cluster);
      if (fault === undefined) return undefined;
      return {
        expected: describeExpectation(expected),
        observed: evidence === undefined ? fault : `${fault}. ${evidence.summary}`,
        code: cell.because ?? evidence?.code ?? codeOf(observation),
        at: evidence?.at,
      };
    }
    case "denied":
      if (isProved(cell, expected, observation, evidence)) return undefined;
      return {
        expected: describeExpectation(expected),
        observed: describeDenied(observation, evidence),
        code:
          cell.because ??
          evidence?.code ??
          codeOf(observation) ??
          (expected.proof === "any-failure" ? undefined : expected.code),
        at: evidence?.at,
      };
  }
}
