/** What of the HCN contract touches the machine: the clients over a socket and over the DLLs, and how they are found. */
export { DllHcnClient } from "./dll/dll-client.node.ts";
export { type NativeLibraries, windowsLibraries } from "./dll/native-calls.node.ts";
export { type FindHnsOptions, defaultSocketPath, findHns, parseHnsAddress } from "./http/find-hns.node.ts";
export { type HttpAddress, HttpHcnClient, type HttpHcnClientOptions } from "./http/http-client.node.ts";
