/**
 * The public door of the emulator, `mullion/cluster`: a whole cluster in this process, in virtual time, from a cluster file.
 * The same file gives the same cluster, byte for byte.
 *
 * @example
 * const parsed = parseClusterFile(text, "cluster.yaml");
 * if ("problems" in parsed) throw new Error(parsed.problems.map(formatProblem).join(""));
 * const cluster = await openCluster(parsed.cluster);
 * const { report } = tracePacket(cluster, { from: "pod/client", to: "pod/api", protocol: "tcp", port: 8080 });
 * const text = formatTrace(report);
 */
export { AzureRoutes } from "#control-plane/cloud/azure/azure-routes.ts";
export type { AzureRoutesOptions } from "#control-plane/cloud/azure/azure-routes.ts";
export { MemoryRouteTables } from "#control-plane/cloud/azure/delayed-route-updater.ts";
export type {
  AzureRoute,
  RouteTable,
  RouteTablesApi,
} from "#control-plane/cloud/azure/delayed-route-updater.ts";
export type {
  CloudRoute,
  NodeAddress,
  Outcome,
  RouteFault,
  RouteListing,
  RouteOperation,
  RoutesProvider,
} from "#control-plane/cloud/cloud-route.ts";
export { RoutesController } from "#control-plane/cloud/routes-controller.ts";
export type { RoutesControllerParts, RoutesProgress } from "#control-plane/cloud/routes-controller.ts";
export { Prng } from "#core/base/prng.ts";
export { loadManifests } from "#control-plane/load/load-manifests.ts";
export { MemoryKube } from "#control-plane/memory/memory-kube.ts";
export { MemoryKubeSource } from "#control-plane/memory/memory-kube-source.ts";
export type { KubeSource } from "#contracts/kubernetes/source.ts";
export { captureTrace } from "./trace/capture.ts";
export { forkCluster } from "./cluster.ts";
export type { Cluster, ClusterNode, ClusterPod } from "./cluster.ts";
export type { ClusterFile } from "./file/cluster-file.ts";
export { parseClusterFile } from "./file/parse-cluster-file.ts";
export { formatProblem } from "#core/catalogue/file-problem.ts";
export type { FileProblem } from "#core/catalogue/file-problem.ts";
export { formatTrace } from "./trace/format-trace.ts";
export { readInput } from "./input/read-input.ts";
export type { ClusterInput, ClusterInputResult } from "./input/read-input.ts";
export type { NodeChange, NodeStanding } from "./life/node-change.ts";
export { openCluster } from "./session/open-cluster.ts";
export { openSession } from "./session/open-session.ts";
export type { OpenedSession, SessionInput } from "./session/open-session.ts";
export type { ClusterSession, ControlPlaneReport, NodeReport, TimeReport } from "./session/session.ts";
export type { OpenProgress } from "./machines/raise-machines.ts";
export { checkReachability } from "./trace/attempts.ts";
export type { ReachabilityCell } from "./trace/attempts.ts";
export { RequestError } from "./request-error.ts";
export { tracePacket } from "./trace/trace.ts";
export type { Trace, TraceRequest } from "./trace/trace.ts";
export type { TraceLeg, TraceReport, TraceStep } from "./trace/trace-report.ts";
