/** ACLs on the twin: which packet tells whether one is in effect, and how a set of them is put at an endpoint. */
import { type Ip, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import type { TraceRequest } from "#cluster/trace/trace.ts";
import type { HcnClient } from "#contracts/hcn/client.ts";
import { modifyEndpointPolicies } from "#contracts/hcn/operations.ts";
import type { StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import type { Pod } from "#contracts/kubernetes/objects.ts";
import type { PolicyDocument } from "#contracts/hcn/documents/base-document.ts";
import type { TwinAclAim, TwinChange } from "./check.ts";

export type AclChange = Extract<TwinChange, { change: "other-acls" }>;

function isAmong(address: Ip, texts: readonly string[]): boolean {
  return texts.some((text) => {
    if (!text.includes("/")) return parseIp(text) === address;
    const prefix = parsePrefix(text);
    return prefix !== undefined && prefixContains(prefix, address);
  });
}

const PROTOCOLS: Readonly<Record<number, TraceRequest["protocol"]>> = { 1: "icmp", 6: "tcp", 17: "udp" };

/** A pod that the ACL is about; with an ACL that is too wide, one that it is not about, at least by another protocol. */
export function findPeer(pods: readonly Pod[], { peers, isOutside, protocol }: TwinAclAim): Pod | undefined {
  const isAbout = ({ status }: Pod): boolean => {
    const address = parseIp(status?.podIP ?? "");
    return address !== undefined && (peers.length === 0 || isAmong(address, peers));
  };
  if (!isOutside) return pods.find(isAbout);
  return pods.find((pod) => !isAbout(pod)) ?? (protocol === undefined ? undefined : pods[0]);
}

/** What the ACL asks of a packet to `target`, or does not; `usual`: how one asks it otherwise. */
export function askFor(
  { port, protocol = 0, isOutside }: TwinAclAim,
  { spec }: Pod,
  usual: Pick<TraceRequest, "protocol" | "port">,
): Pick<TraceRequest, "protocol" | "port"> {
  const own = PROTOCOLS[protocol];
  if (isOutside) return own === usual.protocol ? { protocol: "icmp", port: undefined } : usual;
  if (own === undefined) return port === undefined ? usual : { protocol: "tcp", port };
  if (own === "icmp" || port !== undefined) return { protocol: own, port };
  const served = (spec?.containers ?? [])
    .flatMap(({ ports = [] }) => ports)
    .find((each) => (each.protocol ?? "TCP").toLowerCase() === own);
  return { protocol: own, port: served?.containerPort };
}

/** Puts these ACLs at the endpoint in place of those that it has. */
export async function replaceAcls(
  client: HcnClient,
  { ID, Policies = [] }: StoredEndpoint,
  acls: readonly PolicyDocument[],
): Promise<void> {
  const own = Policies.filter(({ Type }) => Type === "ACL");
  if (own.length > 0) await modifyEndpointPolicies(client, ID, "Remove", own);
  if (acls.length > 0) await modifyEndpointPolicies(client, ID, "Add", acls);
}
