/** What Mullion assumes about a cluster that nobody described, and what its pods cannot have. */
import { prose } from "../prose.ts";
import { ALL, type EntryTable } from "./entry-text.ts";

type ClusterCode = "cluster-assumed" | "pod-port-in-use";

export const CLUSTER_ENTRIES: EntryTable<ClusterCode> = {
  "cluster-assumed": {
    title: "Something about the cluster was assumed",
    cause: prose`
      Manifests say what runs, not on which machines. Without a cluster file and without Node objects Mullion takes
      two Windows Server 2022 nodes and a Linux node. A dump of a cluster brings its nodes, and what they leave open
      is filled in: a missing build of Windows, a version of Kubernetes that has no rules of its own, the range of a
      node's pods.`,
    onNode: prose`
      What a dump has to hold, so that nothing needs to be assumed:

          kubectl get nodes,pods,services,endpointslices -A -o yaml`,
    remedy: prose`
      If the assumption does not fit, write a cluster file, and name your manifests in it or beside it:

          mullion verify -f cluster.yaml -f manifests/`,
    sources: [
      {
        text: "Kubernetes documentation: Nodes",
        url: "https://kubernetes.io/docs/concepts/architecture/nodes/",
      },
    ],
    profiles: ALL,
  },

  "pod-port-in-use": {
    title: "A pod's port is taken in the network that it shares",
    cause: prose`
      Pods in the node's own network (hostNetwork on Linux, HostProcess on Windows) share its ports. Two of them, or a
      pod and a program of the node, want the same one. The second cannot open it: a real container ends with an
      error of its own and is started again and again.`,
    onNode: prose`
      Who has the port, on Windows and on Linux:

          Get-NetTCPConnection -State Listen -LocalPort <port>
          ss -lntup`,
    remedy: prose`
      Give the pods different ports, let them run on different nodes (declare the ports as hostPort, then the scheduler
      keeps them apart), or leave the node's network.`,
    sources: [
      {
        text: "Kubernetes documentation: Create a Windows HostProcess Pod",
        url: "https://kubernetes.io/docs/tasks/configure-pod-container/create-hostprocess-pod/",
      },
    ],
    profiles: ALL,
  },
};
