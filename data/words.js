// Written by npm run schemas from the names of the files of words/; the build puts a module in its place that holds them.
// A function for each file, so that a program holds those alone that it asks for.
import { openWords } from "./read-texts.node.ts";

export const azureNetworkFields = () => openWords("azure-network-fields");
export const clusterFields = () => openWords("cluster-fields");
export const clusterFile = () => openWords("cluster-file");
export const clusterInput = () => openWords("cluster-input");
export const clusterLife = () => openWords("cluster-life");
export const commandLine = () => openWords("command-line");
export const commands = () => openWords("commands");
export const completion = () => openWords("completion");
export const contracts = () => openWords("contracts");
export const controlPlane = () => openWords("control-plane");
export const core = () => openWords("core");
export const dataPlane = () => openWords("data-plane");
export const doctor = () => openWords("doctor");
export const flannel = () => openWords("flannel");
export const hns = () => openWords("hns");
export const hnsCommands = () => openWords("hns-commands");
export const hnsDocuments = () => openWords("hns-documents");
export const hnsFiles = () => openWords("hns-files");
export const hresults = () => openWords("hresults");
export const hybridOverlay = () => openWords("hybrid-overlay");
export const kubeProxy = () => openWords("kube-proxy");
export const lintRules = () => openWords("lint-rules");
export const logAndErrors = () => openWords("log-and-errors");
export const malformed = () => openWords("malformed");
export const plugins = () => openWords("plugins");
export const policyEngines = () => openWords("policy-engines");
export const reports = () => openWords("reports");
