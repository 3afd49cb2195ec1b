/**
 * What the plugins of a Windows node will answer for its next pods, decided without raising it: the same plugins run on a
 * copy of the node's leases, over books in place of its HNS. What the books cannot say is not decided.
 */
import type { JsonObject } from "#core/base/json.ts";
import { fork } from "#core/base/fork.ts";
import type { Ipv4 } from "#core/net/ip.ts";
import { parseNetworkList } from "#contracts/cni/conflist.ts";
import type { CniRuntime } from "#contracts/cni/runtime.ts";
import {
  DEFAULT_QUERY,
  type HcnClient,
  type HcnObjectKind,
  type HostComputeQuery,
} from "#contracts/hcn/client.ts";
import { parseEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { parseQuery } from "#contracts/hcn/documents/request.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { ForwardingHcnClient } from "#contracts/hcn/forwarding-client.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { DnsSettings } from "#dataplane/host/stack.ts";
import type { MemoryLeaseStore } from "#programs/plugins/host-local/leases.ts";
import type { ClusterFile, FilePodSpec, NodeSpec } from "../file/cluster-file.ts";
import type { NodeFiles } from "../flannel/node-files.ts";
import type { PodAddresses } from "../pods/pod-addresses.ts";
import { type PodForesight, sandboxTries } from "./kubelet.ts";
import { networkConfigurationList } from "./network-configuration.ts";
import { attachmentOf, podIpsOf, windowsPlugins } from "./windows-plugins.ts";

/** Stands for a sandbox's namespace, which nobody makes. */
const NAMESPACE: Guid = "00000000-0000-0000-0000-00000000b00c";

function addressesOf(endpoint: JsonObject): readonly string[] {
  return (parseEndpoint(endpoint).IpConfigurations ?? []).flatMap(({ IpAddress }) => IpAddress ?? []);
}

/** HNS as far as a plugin needs it to give a pod an address: networks as they are, and endpoints that are only noted. */
class HnsBooks extends ForwardingHcnClient {
  private readonly networks = new Map<string, Promise<readonly Guid[]>>();
  private readonly documents = new Map<Guid, Promise<JsonObject>>();
  private readonly endpoints = new Map<Guid, JsonObject>();
  private readonly calls = new Map<string, Promise<JsonObject>>();
  /** Addresses that HNS has given away, and those of the books. */
  private readonly taken = new Set<string>();
  private isTakenKnown = false;
  private made = 0;
  /** A plugin has asked for what is not in the books. */
  isOverasked = false;
  /** An address that a plugin wanted is taken. HNS would say by whom. */
  hasRefused = false;

  override enumerate(kind: HcnObjectKind, query?: HostComputeQuery): Promise<readonly Guid[]> {
    const filter = query?.Filter ?? "";
    if (kind === "Network") {
      const found = this.networks.get(filter) ?? this.inner.enumerate(kind, query);
      this.networks.set(filter, found);
      return found;
    }
    if (kind !== "Endpoint") return this.refuse();
    const wanted = Object.entries(parseQuery({ Filter: filter }).filter);
    const isWanted = (endpoint: JsonObject): boolean =>
      wanted.every(([name, value]) => endpoint[name] === value);
    return Promise.resolve([...this.endpoints].filter(([, each]) => isWanted(each)).map(([id]) => id));
  }

  override query(kind: HcnObjectKind, id: Guid, query?: HostComputeQuery): Promise<JsonObject> {
    if (kind === "Network") {
      const found = this.documents.get(id) ?? this.inner.query(kind, id, query);
      this.documents.set(id, found);
      return found;
    }
    const endpoint = kind === "Endpoint" ? this.endpoints.get(id) : undefined;
    return endpoint === undefined ? this.refuse() : Promise.resolve(endpoint);
  }

  override async create(kind: HcnObjectKind, settings: JsonObject): Promise<Guid> {
    if (kind !== "Endpoint") return this.refuse();
    if (!this.isTakenKnown) await this.readTaken();
    const addresses = addressesOf(settings);
    if (addresses.length === 0 || addresses.some((address) => this.taken.has(address))) {
      this.hasRefused = true;
      throw new HcnError("ERROR_OBJECT_ALREADY_EXISTS");
    }
    this.made += 1;
    const id = `00000000-0000-0000-0000-${this.made.toString(16).padStart(12, "0")}`;
    this.endpoints.set(id, { ...settings, ID: id });
    for (const address of addresses) this.taken.add(address);
    return id;
  }

  /** An endpoint comes into its namespace, or leaves it. */
  override modify(kind: HcnObjectKind): Promise<void> {
    return kind === "Namespace" ? Promise.resolve() : this.refuse();
  }

  override delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    const endpoint = kind === "Endpoint" ? this.endpoints.get(id) : undefined;
    if (endpoint === undefined) return this.refuse();
    for (const address of addressesOf(endpoint)) this.taken.delete(address);
    this.endpoints.delete(id);
    return Promise.resolve();
  }

  /** win-overlay looks at its network over HNS v1. */
  override call(method: string, path: string, body: string): Promise<JsonObject> {
    if (method !== "GET" || !/^\/networks\b/.test(path)) return this.refuse();
    const found = this.calls.get(path) ?? this.inner.call(method, path, body);
    this.calls.set(path, found);
    return found;
  }

  override reservePorts(): Promise<never> {
    return this.refuse();
  }

  override releasePorts(): Promise<void> {
    return this.refuse();
  }

  private async readTaken(): Promise<void> {
    for (const id of await this.inner.enumerate("Endpoint", DEFAULT_QUERY)) {
      const endpoint = await this.inner.query("Endpoint", id, DEFAULT_QUERY);
      for (const address of addressesOf(endpoint)) this.taken.add(address);
    }
    this.isTakenKnown = true;
  }

  private refuse(): Promise<never> {
    this.isOverasked = true;
    return Promise.reject(new HcnError("E_NOTIMPL"));
  }
}

/** The node whose pods are foreseen. */
export interface ForeseenNode {
  readonly file: ClusterFile;
  readonly spec: NodeSpec;
  /** Read, and never changed. */
  readonly hns: HcnClient;
  readonly leases: MemoryLeaseStore;
  readonly files: NodeFiles;
}

/** For pods that plugins attach. */
export class PluginForesight implements PodForesight {
  private readonly node: ForeseenNode;
  private readonly books: HnsBooks;
  private readonly runtime: CniRuntime;

  constructor(node: ForeseenNode) {
    const { spec, hns, leases, files } = node;
    this.node = node;
    this.books = new HnsBooks(hns);
    const parts = { client: this.books, leases: fork(leases), files: fork(files), spec };
    this.runtime = windowsPlugins(parts).runtime;
  }

  async next(pod: FilePodSpec, dns: DnsSettings): Promise<Ipv4 | undefined> {
    const { file, spec } = this.node;
    const list = parseNetworkList(JSON.stringify(networkConfigurationList(file, spec, pod)));
    const attachment = attachmentOf(file, pod, NAMESPACE, dns);
    for (let tries = sandboxTries(file); ; tries--) {
      this.books.hasRefused = false;
      try {
        const result = await this.runtime.add(list, attachment);
        return this.books.isOverasked ? undefined : podIpsOf(result, pod).address;
      } catch (error) {
        await this.runtime.del(list, attachment).catch(() => undefined);
        if (this.books.isOverasked) return undefined;
        if (tries > 1) continue;
        if (this.books.hasRefused) return undefined;
        throw error;
      }
    }
  }
}

/** For pods that the cluster attaches itself, with addresses of its own books. */
export class AddressForesight implements PodForesight {
  private readonly addresses: PodAddresses;

  constructor(addresses: PodAddresses) {
    this.addresses = fork(addresses);
  }

  next({ address }: FilePodSpec): Promise<Ipv4> {
    return Promise.resolve().then(() => this.addresses.take(address));
  }
}
