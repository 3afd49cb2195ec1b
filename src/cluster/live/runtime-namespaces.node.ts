/**
 * Network namespaces that a container runtime of this machine made. Its plugins speak with the HNS of a node, and what HNS
 * puts into the namespace that stands for the runtime's own (`mullion-netns`) is a TAP in there.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { HcnClient, HcnCreateOptions, HcnObjectKind } from "#contracts/hcn/client.ts";
import { ForwardingHcnClient } from "#contracts/hcn/forwarding-client.ts";
import type { StoredEndpoint } from "#contracts/hcn/documents/endpoint.ts";
import { type Guid, equalGuids } from "#contracts/hcn/guid.ts";
import {
  type StoredNamespace,
  listEndpoints,
  listNamespaces,
  namespaceOf,
} from "#contracts/hcn/operations.ts";
import type { JsonObject } from "#core/base/json.ts";
import { type InterfaceAddress, familyOf, parseIp } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { inNamespace } from "#dataplane/device/linux/network-namespace.node.ts";
import type { SystemCalls } from "#dataplane/device/linux/system-calls.node.ts";
import type { TapDevice } from "#dataplane/device/linux/tap.node.ts";
import { guidOfPath } from "#programs/plugins/mullion-netns/plugin.ts";
import type { HeldCluster } from "../api/held-cluster.ts";
import type { Cluster, ClusterNode } from "../cluster.ts";
import { portBefore } from "../views/vfp-ports.ts";
import { joinTap, openInterface } from "./live-machine.node.ts";

/** Where runtimes put the names of namespaces; the path that a plugin gets is one of both. */
const FOLDERS: readonly string[] = ["/var/run/netns", "/run/netns"];
/** Of an address that says none, by its family. */
const LENGTH_DEFAULT = { 4: 24, 6: 64 } as const;
const ANY: readonly string[] = ["0.0.0.0/0", "::/0"];

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** The namespace of this machine that a namespace of HNS stands for; undefined: it stands for none. */
function pathOf(namespace: Guid, folders: readonly string[]): string | undefined {
  const paths = folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  return paths.find((path) => equalGuids(guidOfPath(path, digest), namespace));
}

/** In the order of HNS, in which that of IPv4 is the first. */
function addressesOf({ IpConfigurations = [] }: StoredEndpoint): readonly InterfaceAddress[] {
  return IpConfigurations.flatMap(({ IpAddress = "", PrefixLength }) => {
    const ip = parseIp(IpAddress);
    if (ip === undefined) return [];
    return {
      ip,
      length: PrefixLength ?? LENGTH_DEFAULT[familyOf(ip)],
    };
  });
}

/** The TAP that an endpoint is, and where. */
export interface RuntimeTap {
  readonly tap: TapDevice;
  readonly path: string;
}

interface Attached extends RuntimeTap {
  readonly namespace: Guid;
  readonly leave: () => void;
}

/** Who reads TAPs. */
export interface TapReader {
  addTap(attached: RuntimeTap): void;
  removeTap(tap: TapDevice): void;
}

export interface RuntimeNamespacesOptions {
  readonly held: HeldCluster;
  readonly calls: SystemCalls;
  readonly node: ClusterNode;
  readonly client: HcnClient;
  readonly reader: TapReader;
  /** Where namespaces have their names; default: where runtimes put them. */
  readonly folders?: readonly string[];
}

/** HNS of a node for a container runtime. A call takes its turn, and returns when the namespaces have what it asked for. */
export class RuntimeNamespaces extends ForwardingHcnClient {
  private readonly options: RuntimeNamespacesOptions;
  private readonly cluster: Cluster;
  /** By the GUID of the endpoint. */
  private readonly attached = new Map<Guid, Attached>();
  /** Namespaces that endpoints could not be attached to: told to the call that asked for it, and not tried again by others. */
  private readonly failed = new Map<Guid, Guid>();

  constructor(options: RuntimeNamespacesOptions) {
    super(options.client);
    this.options = options;
    this.cluster = options.held.session.cluster;
  }

  override create(kind: HcnObjectKind, settings: JsonObject, options?: HcnCreateOptions): Promise<Guid> {
    return this.inTurn(() => super.create(kind, settings, options));
  }

  override modify(kind: HcnObjectKind, id: Guid, settings: JsonObject): Promise<void> {
    return this.inTurn(() => super.modify(kind, id, settings));
  }

  override delete(kind: HcnObjectKind, id: Guid): Promise<void> {
    return this.inTurn(() => super.delete(kind, id));
  }

  override call(method: string, path: string, body: string): Promise<JsonObject> {
    return this.inTurn(() => super.call(method, path, body));
  }

  /** Takes the interfaces out of the namespaces; HNS keeps its endpoints. */
  detachAll(): void {
    for (const id of this.attached.keys()) this.detach(id);
  }

  private inTurn<T>(work: () => Promise<T>): Promise<T> {
    return this.options.held.inTurn(async () => {
      try {
        return await work();
      } finally {
        await this.follow();
      }
    });
  }

  /** Makes namespaces of this machine have what those of HNS have. */
  private async follow(): Promise<void> {
    const endpoints = new Map((await listEndpoints(this.inner)).map((each) => [each.ID, each]));
    for (const [id, { namespace }] of this.attached) {
      const now = endpoints.get(id);
      if (now === undefined || !equalGuids(namespaceOf(now), namespace)) this.detach(id);
    }
    for (const [id, namespace] of this.failed) {
      const now = endpoints.get(id);
      if (now === undefined || !equalGuids(namespaceOf(now), namespace)) this.failed.delete(id);
    }
    const others = [...endpoints.values()].filter(
      (each) => namespaceOf(each) !== undefined && !this.attached.has(each.ID) && !this.failed.has(each.ID),
    );
    if (others.length === 0) return;
    const namespaces = await listNamespaces(this.inner);
    for (const endpoint of others) {
      const namespace = namespaces.find(({ ID }) => equalGuids(ID, namespaceOf(endpoint)));
      const path = namespace && pathOf(namespace.ID, this.options.folders ?? FOLDERS);
      if (namespace !== undefined && path !== undefined) this.tryAttach(endpoint, namespace, path);
    }
  }

  private tryAttach(endpoint: StoredEndpoint, namespace: StoredNamespace, path: string): void {
    try {
      this.attach(endpoint, namespace, path);
    } catch (error) {
      this.failed.set(endpoint.ID, namespace.ID);
      throw error;
    }
  }

  private attach(endpoint: StoredEndpoint, namespace: StoredNamespace, path: string): void {
    const { node, calls, reader } = this.options;
    const compartment = node.host.getCompartment(namespace.NamespaceId ?? 0);
    const mac = parseMac(endpoint.MacAddress ?? "");
    const simulated = compartment?.listInterfaces().find((each) => each.mac === mac);
    const addresses = addressesOf(endpoint);
    // Not complete yet: the node's own stack stays in its place.
    if (mac === undefined || simulated === undefined || addresses.length === 0) return;
    const { device, mtuBytes } = simulated;
    const gateways = (endpoint.Routes ?? [])
      .filter(({ DestinationPrefix = "" }) => ANY.includes(DestinationPrefix))
      .flatMap(({ NextHop = "" }) => parseIp(NextHop) ?? []);
    const settings = { addresses, mac, mtuBytes, gateways };
    const tap = inNamespace(calls, path, () => openInterface(calls, settings));
    const port = portBefore(node, device);
    const lost = (): void => port?.countDrop("in", "switch", "interface-down");
    const leave = joinTap(this.cluster, device, tap, { simulated, lost });
    this.attached.set(endpoint.ID, { tap, path, namespace: namespace.ID, leave });
    reader.addTap({ tap, path });
  }

  private detach(id: Guid): void {
    const attached = this.attached.get(id);
    if (attached === undefined) return;
    this.attached.delete(id);
    this.options.reader.removeTap(attached.tap);
    attached.leave();
    attached.tap.close();
  }
}
