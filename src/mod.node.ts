/**
 * The front door of the library, `mullion`: what each job begins with. What a job needs beyond that is behind the doors of
 * the parts, such as `mullion/cluster`, `mullion/hcn` and `mullion/vfp`.
 *
 * @example
 * const parsed = parseClusterFile(text, "cluster.yaml");
 * if ("problems" in parsed) throw new Error(parsed.problems.map(formatProblem).join(""));
 * const cluster = await openCluster(parsed.cluster);
 * const { report } = tracePacket(cluster, { from: "pod/client", to: "pod/api", protocol: "tcp", port: 8080 });
 * const { findings } = verifyCluster(cluster);
 * const { client } = createHns({ profile: "ws2022" });
 */

// A cluster: from a cluster file, or from manifests and dumps as well.
export type { Cluster } from "#cluster/cluster.ts";
export type { ClusterFile } from "#cluster/file/cluster-file.ts";
export { parseClusterFile } from "#cluster/file/parse-cluster-file.ts";
export { type ClusterInput, type ClusterInputResult, readInput } from "#cluster/input/read-input.ts";
export { openCluster } from "#cluster/session/open-cluster.ts";
export { type OpenedSession, type SessionInput, openSession } from "#cluster/session/open-session.ts";
export { type FileProblem, formatProblem } from "#core/catalogue/file-problem.ts";
// One packet, step by step.
export { captureTrace } from "#cluster/trace/capture.ts";
export { formatTrace } from "#cluster/trace/format-trace.ts";
export { type Trace, type TraceRequest, tracePacket } from "#cluster/trace/trace.ts";
export type { TraceReport } from "#cluster/trace/trace-report.ts";
// All flows, against what is documented.
export { formatVerification } from "#diagnose/verify-text/format-verify.ts";
export type { VerifyReport } from "#cluster/verify/report.ts";
export { type VerifyOptions, verifyCluster } from "#cluster/verify/verify.ts";
// Files, against what Windows can do.
export { decodeSource, type SourceText } from "#core/base/source-text.ts";
export { type LintInput, lint } from "#diagnose/lint/lint.ts";
export type { LintFinding, LintReport } from "#diagnose/lint/report/report.ts";
// HNS: that of this node, one in this process, and one that is served to others.
export type { HcnClient } from "#contracts/hcn/client.ts";
export { type FindHnsOptions, findHns } from "#contracts/hcn/http/find-hns.node.ts";
export { type DurableHns, openHns } from "#hns/durable-hns.node.ts";
export { HnsHttpServer, type HnsHttpServerOptions } from "#hns/http/http-server.node.ts";
export { type LocalHns, type LocalHnsOptions, createHns } from "#hns/local-hns.ts";
// The engine of switch ports.
export { type Group, createGroup } from "#dataplane/vfp/group.ts";
export type { Rule } from "#dataplane/vfp/rule.ts";
export { VfpPort, type VfpPortOptions } from "#dataplane/vfp/vfp-port.ts";
