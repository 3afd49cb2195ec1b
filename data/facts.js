// In a clone the tables are read from `facts/`, each once; the build puts a module in the place of this one that holds
// them (tools/compile-texts.ts). A function for each, so that a program holds those alone that it asks for.
import { openTable } from "./read-texts.node.ts";

/** Tables are facts: nobody changes what is read from them. */
const table = (name) => {
  let read;
  return () => (read ??= openTable(name));
};

export const verbs = table("verbs");
export const doctorChecks = table("doctor-checks");
export const expectations = table("expectations");
export const kubernetesPage = table("kubernetes-page");
export const quirks = table("quirks");
export const knownFaults = table("known-faults");
export const apiFields = table("api-fields");
export const apiRoutes = table("api-routes");
export const kubeProxyFlags = table("kube-proxy-flags");
export const flanneldFlags = table("flanneld-flags");
export const kubeProxyGates = table("kube-proxy-gates");
export const kubeColumns = table("kube-columns");
export const kubeProtobuf = table("kube-protobuf");
export const ovnNorthbound = table("ovn-northbound");
export const ovnSouthbound = table("ovn-southbound");
export const errorCalls = table("error-calls");
export const furtherKinds = table("further-kinds");
export const ovnLanguage = table("ovn-language");
export const hresults = table("hresults");
export const removedVersions = table("removed-versions");
export const profiles = table("profiles");
export const hnsApi = table("hns-api");
export const hnsOperations = table("hns-operations");
export const objectShapes = table("object-shapes");
export const v1Policies = table("v1-policies");
export const networkTypes = table("network-types");
