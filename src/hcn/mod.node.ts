/** What of the HCN contract touches the machine: the client over a socket, and how it finds its service. */
export { type FindHnsOptions, defaultSocketPath, findHns, parseHnsAddress } from "./find-hns.node.ts";
export { type HttpAddress, HttpHcnClient, type HttpHcnClientOptions } from "./http-client.node.ts";
