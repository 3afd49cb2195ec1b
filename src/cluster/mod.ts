/** The public door of the emulator: `mullion/cluster`. */
export { captureTrace } from "./capture.ts";
export { forkCluster } from "./cluster.ts";
export type { Cluster, ClusterNode, ClusterPod } from "./cluster.ts";
export type { ClusterFile } from "./file/cluster-file.ts";
export { parseClusterFile } from "./file/parse-cluster-file.ts";
export { formatProblem } from "../knowledge/file-problem.ts";
export type { FileProblem } from "../knowledge/file-problem.ts";
export { findParty, listParties } from "./find-party.ts";
export type { Party } from "./find-party.ts";
export { formatTrace } from "./format-trace.ts";
export { openCluster } from "./open-cluster.ts";
export type { OpenProgress } from "./raise-machines.ts";
export { checkReachability } from "./reachability.ts";
export type { ReachabilityCell } from "./reachability.ts";
export { RequestError } from "./request-error.ts";
export { tracePacket } from "./trace.ts";
export type { Trace, TraceRequest } from "./trace.ts";
export type { TraceLeg, TraceReport, TraceStep } from "./trace-report.ts";
