// In a clone the tables are read from `facts/`; the build puts a module in the place of this one that holds them
// (tools/compile-texts.ts). A function for each, so that a program holds those alone that it asks for.
import { openTable } from "./read-texts.node.ts";

export const expectations = () => openTable("expectations");
export const kubernetesPage = () => openTable("kubernetes-page");
export const quirks = () => openTable("quirks");
export const knownFaults = () => openTable("known-faults");
export const apiFields = () => openTable("api-fields");
export const kubeProxyGates = () => openTable("kube-proxy-gates");
export const kubeProtobuf = () => openTable("kube-protobuf");
