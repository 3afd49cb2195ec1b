/** A client on one side of a router, the cluster's DNS server on the other: what tests of names start from. */
import { DnsServer } from "#cluster/names/dns-server.ts";
import { ClusterZone } from "#control-plane/dns/cluster-zone.ts";
import type { NameSource } from "#control-plane/dns/answer.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import { NameLookup, type NameLookupOptions } from "#dataplane/host/resolver/name-lookup.ts";
import type { AskedQuestion, NameResult } from "#dataplane/host/resolver/name-result.ts";
import type { OperatingSystem } from "#dataplane/host/stack-profile.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import { type DnsMessage, parseDns } from "#core/wire/dns/dns.ts";
import { Headers, destinationIp } from "#core/wire/headers.ts";
import { UdpView } from "#core/wire/udp.ts";
import { serviceObject, sliceObject } from "../cluster/kube-objects.ts";
import { type RoutedPair, makeRoutedPair } from "./routed-pair.ts";
import { ip } from "./stack-world.ts";

export const DNS_ADDRESS: Ip = ip("10.0.2.20");
/** What the kubelet tells a pod of namespace `default`. */
export const POD_DNS: DnsSettings = Object.freeze({
  domain: "",
  search: ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
  servers: [DNS_ADDRESS],
  options: ["ndots:5"],
});

export interface NameWorld {
  readonly pair: RoutedPair;
  readonly zone: ClusterZone;
  readonly server: DnsServer;
}

export interface NameWorldOptions {
  readonly clientOs?: OperatingSystem;
  readonly dns?: DnsSettings;
  /** Default: a zone with Services `default/kubernetes` and `shop/web`, and the headless `default/db`. */
  readonly sources?: readonly NameSource[];
  readonly upstreams?: readonly Ip[];
  /** Default true. */
  readonly isServed?: boolean;
}

/** The zone of the tests. */
export function makeZone(): ClusterZone {
  const zone = new ClusterZone();
  const ports = [{ port: 443 }];
  zone.apply(serviceObject("default/kubernetes", { clusterIP: "10.96.0.1", ports }));
  zone.apply(serviceObject("shop/web", { clusterIP: "10.96.0.20", ports }));
  zone.apply(serviceObject("default/out", { type: "ExternalName", externalName: "www.example.com" }));
  zone.apply(serviceObject("default/db", { clusterIP: "None", ports }));
  zone.apply(sliceObject("default/db", [{ address: "10.0.2.20", hostname: "db-0" }]));
  return zone;
}

export function makeNameWorld(options: NameWorldOptions = {}): NameWorld {
  const pair = makeRoutedPair({ clientOs: options.clientOs ?? "windows" });
  pair.client.compartment.dns = options.dns ?? POD_DNS;
  const zone = makeZone();
  const server = new DnsServer({
    compartment: pair.server.compartment,
    sources: options.sources ?? [zone],
    ...(options.upstreams === undefined ? {} : { upstreams: options.upstreams }),
  });
  if (options.isServed !== false) {
    const failure = server.listen();
    if (failure !== undefined) throw new Error(failure);
  }
  return { pair, zone, server };
}

/** Runs a lookup of the client to its end. */
export function resolve(
  { pair }: NameWorld,
  name: string,
  options: Partial<NameLookupOptions> = {},
): NameResult {
  const lookup = new NameLookup({ compartment: pair.client.compartment, name, ...options });
  lookup.start();
  const endMs = pair.env.clock.nowMs + 120_000;
  while (lookup.result === undefined && pair.env.clock.nowMs < endMs && pair.env.clock.step());
  if (lookup.result === undefined) throw new Error(`the lookup of ${name} never ended`);
  return lookup.result;
}

/** A DNS message that one side sent. */
export interface SentMessage {
  readonly atMs: number;
  readonly sourcePort: number;
  readonly destination: Ip;
  readonly message: DnsMessage;
}

/** The DNS messages that the client sent, in their order. */
export function sentByClient({ pair }: NameWorld): readonly SentMessage[] {
  const sent: SentMessage[] = [];
  for (const { atMs, frame } of pair.client.capture.frames) {
    const headers = new Headers();
    if (headers.parseBytes(frame, 0, frame.length) !== undefined || headers.protocol !== 17) continue;
    const view = UdpView.parse(frame, headers.transport, headers.end);
    const message = parseDns(frame.subarray(headers.payload, headers.end));
    const destination = destinationIp(frame, headers);
    if (typeof view === "string" || typeof message === "string" || destination === undefined) continue;
    sent.push({ atMs, sourcePort: view.sourcePort, destination, message });
  }
  return sent;
}

/** `A web.default.svc.cluster.local.: 10.96.0.20`, `A kubernetes.default.: NXDOMAIN`. */
export function formatQuestion(question: AskedQuestion): string {
  const { type, name, outcome, addresses, detail, isCached } = question;
  const said = outcome === "answered" ? addresses.map(formatIp).join(", ") : detail;
  return `${type} ${name}: ${said}${isCached ? " (remembered)" : ""}`;
}
