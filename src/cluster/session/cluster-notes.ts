/** What is worth knowing about a running cluster, gathered from its programs. */
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import type { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import type { ServiceFinding } from "#programs/kube-proxy/mod.ts";
import { type PlaceOfObject, networkPolicyLimits, networkPolicyNotes } from "../limits/network-policies.ts";
import { storedPolicyLimits, storedPolicyNotes } from "../limits/stored-policies.ts";
import { notesOfRead } from "../limits/unread-texts.ts";
import { untranslatedFamilyLimits } from "../limits/untranslated-family.ts";
import type { Cluster, ClusterPod } from "../cluster.ts";
import { slicesByService } from "../cluster-objects.ts";
import type { NodeSpec } from "../file/cluster-file.ts";
import type { FlannelDaemons, FlannelTrouble } from "../flannel/flannel-daemons.ts";
import type { HybridOverlayDaemons } from "../hybrid-overlay/hybrid-overlay-daemons.ts";
import type { CloudRoutes } from "../networks/cloud-routes.ts";
import type { OvnNetwork } from "../ovn/ovn-network.ts";
import type { RunningPods } from "../pods/running-pods.ts";
import type { PortConflict } from "../pods/serve-ports.ts";
import type { ServiceProxies, ServiceTrouble } from "../services/service-proxies.ts";
import type { FlowLimit } from "./flow-limit.ts";
import {
  type PodNote,
  clusterTroubles,
  machineNotes,
  networkProgramNotes,
  nodesLeftOut,
  podNotes,
  serviceNotes,
} from "./session-notes.ts";
import type { ClusterTrouble } from "./session.ts";
import { clusterLife } from "#data/words.js";

const WORDS = clusterLife();

/** The programs of a cluster; undefined: it has no such program. */
export interface NotingPrograms {
  readonly cluster: Cluster;
  readonly kube: MemoryKube;
  readonly pods: RunningPods;
  readonly proxies: ServiceProxies;
  readonly flannel: FlannelDaemons | undefined;
  readonly hybridOverlay: HybridOverlayDaemons | undefined;
  readonly cloudRoutes: CloudRoutes | undefined;
  readonly ovn: Pick<OvnNetwork, "leftOut" | "refused"> | undefined;
  /** What the input has and no change of objects takes away. */
  readonly inputLimits: readonly FlowLimit[];
}

export class ClusterNotes {
  private readonly programs: NotingPrograms;
  /** Pods that want a port which another one has. */
  private conflicts: readonly PortConflict[] = [];
  /** Notes that were told. */
  private reported: ReadonlySet<string> = new Set();

  constructor(programs: NotingPrograms) {
    this.programs = programs;
  }

  setConflicts(conflicts: readonly PortConflict[]): void {
    this.conflicts = conflicts;
  }

  troubles(): readonly ClusterTrouble[] {
    return clusterTroubles({
      leftOut: nodesLeftOut(this.programs.kube, this.machines()),
      flannel: this.programs.flannel?.listTroubles() ?? [],
      hybridOverlay: this.programs.hybridOverlay?.listTroubles() ?? [],
      cloudRoutes: this.programs.cloudRoutes?.listTroubles() ?? [],
      services: this.serviceTroubles(),
      pods: this.programs.pods.listOutcomes(),
      withoutNode: this.programs.kube.podsWithoutNode(),
      nodes: this.programs.kube.objects("Node"),
      ovnLeftOut: this.programs.ovn?.leftOut ?? [],
    });
  }

  limits(): readonly FlowLimit[] {
    return [
      ...this.programs.inputLimits,
      ...networkPolicyLimits(this.programs.cluster, this.placeOfPolicy),
      ...storedPolicyLimits(this.programs.cluster),
      ...untranslatedFamilyLimits(this.programs.cluster),
    ];
  }

  private machines(): ReadonlyMap<string, NodeSpec> {
    return new Map(this.programs.cluster.nodes.map(({ spec }) => [spec.name, spec]));
  }

  private readonly placeOfPolicy: PlaceOfObject = (namespace, name) => {
    const { file, line, column } = this.programs.kube.placeOf("NetworkPolicy", namespace, name);
    return { file, line, column, field: "" };
  };

  /** What is worth knowing about the cluster as it is: pods that wait, selectors that match nothing, … */
  list(): readonly FileProblem[] {
    const { kube } = this.programs;
    const machines = this.machines();
    const pods: readonly PodNote[] = [
      ...this.programs.pods
        .listOutcomes()
        .flatMap(({ pod, remarks }) => remarks.map((remark) => ({ pod, remark }))),
      ...this.conflicts,
    ];
    // An address outside the node's range is told of the node.
    const found = notesOfRead(kube.notes(), this.programs.inputLimits).filter(
      ({ code }) => code !== "pod-address-outside-range",
    );
    return [
      ...machineNotes(kube, machines),
      ...networkProgramNotes("flanneld", this.programs.flannel?.listTroubles() ?? [], kube),
      ...networkProgramNotes("hybrid-overlay-node", this.programs.hybridOverlay?.listTroubles() ?? [], kube),
      ...networkProgramNotes("ovn-controller", this.refusedChassis(), kube),
      ...podNotes(pods, kube, machines),
      ...found,
      ...serviceNotes(this.serviceTroubles(), kube),
      ...this.sctpNotes(),
      ...storedPolicyNotes(this.programs.cluster),
      ...networkPolicyNotes(this.programs.cluster, this.placeOfPolicy),
    ];
  }

  private refusedChassis(): readonly FlannelTrouble[] {
    const refused = this.programs.ovn?.refused ?? [];
    return refused.map(({ node, reason: message }) => ({
      node,
      finding: { code: "ovn-chassis-refused", message },
    }));
  }

  /** Kubernetes documentation: Protocols for Services; kube-proxy on Windows passes such ports by in silence. */
  private sctpNotes(): readonly FileProblem[] {
    if (!this.programs.cluster.nodes.some(({ spec }) => spec.os === "windows")) return [];
    return this.programs.cluster.objects.Service.flatMap(({ metadata, spec }) => {
      const port = spec?.ports?.find(({ protocol }) => protocol === "SCTP");
      if (port === undefined) return [];
      const { file, line, column } = this.programs.kube.placeOf("Service", metadata.namespace, metadata.name);
      return {
        code: "service-sctp-unsupported" as const,
        file,
        line,
        column,
        path: "spec.ports",
        message: WORDS.sctpNotBalanced({ port: port.port }),
        advice: WORDS.adviceTcpOrUdpForWindows,
      };
    });
  }

  /**
   * That HNS has no endpoint for a pod is told of the pod, when that has no network at all. One of a further network has
   * its endpoint there: kube-proxy, which knows one network, cannot say so, and the cluster can.
   */
  private serviceTroubles(): readonly ServiceTrouble[] {
    const slices = slicesByService(this.programs.cluster.objects.EndpointSlice);
    return this.programs.proxies.listTroubles().flatMap((trouble) => {
      const { node, namespace, name, finding } = trouble;
      if (finding.addresses !== undefined)
        return { ...trouble, finding: this.withPods(finding, finding.addresses) };
      if (finding.code !== "service-local-endpoint-missing") return trouble;
      const endpoints = (slices.get(`${namespace}/${name}`) ?? []).flatMap((slice) => slice.endpoints ?? []);
      for (const { addresses, nodeName, targetRef } of endpoints) {
        if (nodeName !== node || !addresses.includes(finding.address ?? "")) continue;
        const pod = this.programs.kube.get("Pod", targetRef?.namespace ?? namespace, targetRef?.name ?? "");
        const running = pod && this.programs.pods.runningOf(pod);
        if (running !== undefined) return { ...trouble, finding: this.ofOtherNetwork(running) ?? finding };
      }
      return [];
    });
  }

  /** kube-proxy knows addresses; whose they are says the cluster. */
  private withPods(finding: ServiceFinding, addresses: readonly string[]): ServiceFinding {
    const names = addresses.flatMap((address) => {
      const pod = this.programs.cluster.objects.Pod.find(({ status }) => status?.podIP === address);
      return pod === undefined ? [] : [`${address} is pod ${pod.metadata.namespace}/${pod.metadata.name}`];
    });
    return names.length === 0 ? finding : { ...finding, message: `${finding.message}; ${names.join(", ")}` };
  }

  private ofOtherNetwork({ spec }: ClusterPod): ServiceFinding | undefined {
    const { network } = this.programs.cluster.file;
    if (spec.network === "host" || spec.podNetwork === network.name) return undefined;
    const message = WORDS.endpointsInOtherNetwork({ name: network.name, podNetwork: spec.podNetwork });
    return { code: "service-back-end-in-other-network", message };
  }

  /** The notes that were not there before. */
  takeNew(): readonly FileProblem[] {
    const notes = this.list();
    const before = this.reported;
    this.reported = new Set(notes.map(keyOfNote));
    return notes.filter((note) => !before.has(keyOfNote(note)));
  }
}

function keyOfNote({ code, file, line, column, path, message }: FileProblem): string {
  return `${code} ${file}:${line}:${column} ${path} ${message}`;
}
