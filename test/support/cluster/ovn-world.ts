/** Clusters of ovn-kubernetes for tests: the example, asked, and written to behind the controller's back. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { tracePacket } from "#cluster/trace/trace.ts";
import type { TraceReport } from "#cluster/trace/trace-report.ts";
import { readModel } from "#cluster/verify/model-of-cluster.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { verifyCluster } from "#cluster/verify/verify.ts";
import { type OvsdbOperation, errorOf } from "#contracts/ovsdb/client.ts";
import type { SessionWorld } from "./session-world.ts";

export const EXAMPLE: string = readFileSync("examples/ovn-transparent/cluster.yaml", "utf8").replace(
  /manifests:[\s\S]*/,
  "",
);
export const OBJECTS: string = readFileSync("examples/ovn-transparent/objects.yaml", "utf8");

export function verified({ session }: SessionWorld): VerifyReport {
  return verifyCluster(session.cluster, readModel(session.cluster), { troubles: session.troubles() });
}

export function traced(
  { session }: SessionWorld,
  from: string,
  to: string,
  port: number | undefined = 8080,
): TraceReport {
  const protocol = port === 0 ? "icmp" : "tcp";
  return tracePacket(session.cluster, { from, to, protocol, port: port === 0 ? undefined : port }).report;
}

/** All that a trace says of one direction, as text. */
export function saidOf(report: TraceReport): string {
  return JSON.stringify([report.forward, report.reply]);
}

export function codeOf(world: SessionWorld, from: string, to: string, port?: number): string {
  const report = traced(world, from, to, port);
  if (report.verdict === "answered") return "answered";
  const steps = [...report.forward.steps, ...(report.reply?.steps ?? [])];
  return steps.find(({ kind }) => kind === "drop")?.code ?? report.verdict;
}

/** Somebody writes to the northbound database, and OVN follows. */
export async function write(
  { session }: SessionWorld,
  ...operations: readonly OvsdbOperation[]
): Promise<void> {
  const ovn = session["ovn"]!;
  expect(errorOf(ovn.nb.transact(operations))).toBeUndefined();
  await ovn.follow();
}
