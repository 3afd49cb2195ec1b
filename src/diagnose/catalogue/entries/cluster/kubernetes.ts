/** What the Kubernetes control plane refuses, leaves pending, or does silently. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable } from "../entry-text.ts";

type KubernetesCode =
  | "namespace-created"
  | "service-address-refused"
  | "service-port-refused"
  | "pod-unschedulable"
  | "pod-os-mismatch"
  | "scheduling-rule-ignored"
  | "pod-address-outside-range"
  | "selector-matches-nothing"
  | "slice-target-unknown"
  | "daemon-set-without-nodes"
  | "cron-job-not-run"
  | "node-range-exhausted"
  | "resource-version-expired"
  | "object-not-found"
  | "object-exists-already"
  | "object-changed-meanwhile"
  | "object-refused"
  | "kubernetes-access-denied"
  | "kubernetes-request-invalid"
  | "kubernetes-unreachable"
  | "kubeconfig-unusable";

function kubernetes(title: string, path: string): { readonly text: string; readonly url: string } {
  return { text: `Kubernetes documentation: ${title}`, url: `https://kubernetes.io/docs/${path}` };
}

const SERVICE = kubernetes("Service", "concepts/services-networking/service/");
const SLICES = kubernetes("EndpointSlices", "concepts/services-networking/endpoint-slices/");
const ASSIGNING = kubernetes("Assigning Pods to Nodes", "concepts/scheduling-eviction/assign-pod-node/");
const TAINTS = kubernetes("Taints and Tolerations", "concepts/scheduling-eviction/taint-and-toleration/");
const WINDOWS_GUIDE = kubernetes(
  "Guide for Running Windows Containers in Kubernetes",
  "concepts/windows/user-guide/",
);

const API_CONCEPTS = kubernetes("Kubernetes API Concepts", "reference/using-api/api-concepts/");

export const KUBERNETES_ENTRIES: EntryTable<KubernetesCode> = {
  "namespace-created": {
    title: "A namespace that no manifest describes was created",
    cause: prose`
      Objects are in a namespace for which there is no Namespace object. The API server would refuse them with
      "namespaces not found". Dumps seldom hold the namespaces, so Mullion creates it and reports it.`,
    onNode: prose`
      The namespaces of a cluster:

          kubectl get namespaces`,
    remedy: prose`
      Before you apply the files to a new cluster, add the Namespace, or create it:

          kubectl create namespace <name>`,
    sources: [kubernetes("Namespaces", "concepts/overview/working-with-objects/namespaces/")],
    profiles: ALL,
  },

  "service-address-refused": {
    title: "The API server refuses the cluster IP of a Service",
    cause: prose`
      A cluster IP that a Service asks for must be in the service range of the cluster, be of a family that the
      cluster has, and be free. When the range is used up, no Service gets an address any more. The Service was not
      stored.`,
    onNode: prose`
      The addresses that are taken, and the range, which the API server names in its error:

          kubectl get services -A -o custom-columns=NAME:.metadata.name,IP:.spec.clusterIP
          kubectl create service clusterip probe --clusterip=1.1.1.1 --tcp=80 --dry-run=server`,
    remedy: prose`
      Leave spec.clusterIP out, so that the cluster chooses; or name a free address of the range. For a dump of
      another cluster, give the cluster file that cluster's network.serviceCIDR.`,
    sources: [
      SERVICE,
      kubernetes("Service ClusterIP allocation", "concepts/services-networking/cluster-ip-allocation/"),
    ],
    profiles: ALL,
  },

  "service-port-refused": {
    title: "The API server refuses the node port of a Service",
    cause: prose`
      A node port belongs to one Service on all nodes, and lies from 30000 to 32767 unless the cluster says otherwise.
      The port that the Service asks for is taken or outside the range, or none is left. The Service was not
      stored; the one that came first keeps the port.`,
    onNode: prose`
      The node ports that are taken:

          kubectl get services -A | findstr NodePort
          kubectl get services -A | findstr LoadBalancer`,
    remedy: prose`
      Leave nodePort out, so that the cluster chooses, or name a free one. The message names the Service that has the
      port.`,
    sources: [SERVICE],
    profiles: ALL,
  },

  "pod-unschedulable": {
    title: "A pod stays Pending, because no node fits",
    cause: prose`
      The scheduler found no node that matches the pod's node selector and affinity, whose taints the pod tolerates,
      whose host ports are free, and that has room. The message counts the nodes by reason, in the scheduler's
      words. In mixed clusters the usual cause is a node selector that no node's labels answer, or a Windows node
      with the taint os=Windows:NoSchedule and a pod without the toleration.`,
    onNode: prose`
      The pod's condition and events, and what the nodes offer:

          kubectl describe pod <pod> -n <namespace>
          kubectl get nodes --show-labels
          kubectl describe nodes | findstr Taints`,
    remedy: prose`
      Write nodeSelector kubernetes.io/os: windows (or linux) into the pod template, tolerate the taints that are
      meant for it, or label the node:

          kubectl label node <node> <key>=<value>`,
    sources: [ASSIGNING, TAINTS, WINDOWS_GUIDE],
    profiles: ALL,
  },

  "pod-os-mismatch": {
    title: "The kubelet refuses a pod of the other operating system",
    cause: prose`
      The pod says in spec.os, or in its node selector, which operating system it needs, and is on a node of the
      other. The scheduler does not look at spec.os; the kubelet does, and lets the pod fail. A workload then
      makes the next one, without end. A pod that was given a node by nodeName never met the scheduler at all.`,
    onNode: prose`
      The pods fail with the reason PodOSNotSupported, or PodOSSelectorNodeLabelDoesNotMatch:

          kubectl get pods -A --field-selector status.phase=Failed
          kubectl describe pod <pod> -n <namespace>`,
    remedy: prose`Add the nodeSelector kubernetes.io/os with the same value as spec.os.name.`,
    sources: [WINDOWS_GUIDE, kubernetes("Pods: Pod OS", "concepts/workloads/pods/#pod-os")],
    profiles: ALL,
    severity: "error",
  },

  "scheduling-rule-ignored": {
    title: "A rule about the nodes of a pod has no effect here",
    cause: prose`
      The pod has a rule that Mullion's scheduler does not weigh: affinity or anti-affinity to other pods, topology
      spread, or a scheduling gate. Its scheduler looks at node selectors, node affinity, taints, host ports and the
      number of pods. So the pod may be on a node that Kubernetes would not choose, or have a node where Kubernetes
      would let it wait. The network between two nodes does not depend on it.`,
    onNode: prose`
      Where the pods of a cluster stand:

          kubectl get pods -A -o wide`,
    remedy: prose`
      To have the pods where they are on your cluster, use a dump of it, or name the node in spec.nodeName.`,
    sources: [ASSIGNING],
    profiles: ALL,
  },

  "pod-address-outside-range": {
    title: "A pod of a dump has an address outside the pod range",
    cause: prose`
      The address in the pod's status is in no pod range of its node or of the cluster, and no subnet that nodes share
      holds the addresses of all pods: such a pod has no network here.
      The dump may be of a cluster with other ranges, or the node was given a new range while the pod lived.`,
    onNode: prose`
      Addresses of pods, and ranges of nodes:

          kubectl get pods -A -o wide
          kubectl get nodes -o custom-columns=NAME:.metadata.name,RANGE:.spec.podCIDR`,
    remedy: prose`
      Give the cluster file the ranges of the cluster that was dumped (network.clusterCIDR), or single addresses of its
      nodes (nodes[].podAddresses). On a cluster, delete the
      pod; its workload makes another one with an address of the node's range.`,
    sources: [kubernetes("Cluster Networking", "concepts/cluster-administration/networking/")],
    profiles: ALL,
  },

  "selector-matches-nothing": {
    title: "A selector matches no pod",
    cause: prose`
      No pod of the namespace has the labels that the selector of this Service (or network policy) names. The Service
      exists and has an address, and every connection to it is refused or runs into a timeout, because nothing
      is behind it. Often one letter of a label differs between the Service and the pod template, or the pods
      are in another namespace.`,
    onNode: prose`
      The Service has no endpoints:

          kubectl get endpointslices -n <namespace> -l kubernetes.io/service-name=<service>
          kubectl get pods -n <namespace> --show-labels`,
    remedy: prose`Make spec.selector equal to labels of the pod template.`,
    sources: [SERVICE],
    profiles: ALL,
  },

  "slice-target-unknown": {
    title: "An EndpointSlice points at a pod or node that is not there",
    cause: prose`
      The slice names a pod (targetRef) or a node (nodeName) that the manifests do not hold. It is taken as it is: its
      addresses are back ends like all others, and nothing answers at them unless something else has the address.
      A dump of slices without the pods looks like this, and so does a slice that a controller forgot.`,
    onNode: prose`
      Slices with the pods that they name:

          kubectl get endpointslices -A -o yaml | findstr /c:"name:" /c:"addresses" /c:"kind: Pod"
          kubectl get pods -A -o wide`,
    remedy: prose`
      Dump pods and nodes together with the slices:

          kubectl get nodes,namespaces,pods,services,endpointslices -A -o yaml > cluster.yaml`,
    sources: [SLICES],
    profiles: ALL,
  },

  "daemon-set-without-nodes": {
    title: "A DaemonSet has no node to run on",
    cause: prose`
      No node has the labels of the DaemonSet's node selector and only taints that its pods tolerate, so it makes no
      pods. Kubernetes is content with that: the DaemonSet shows 0 desired, and nothing is Pending.`,
    onNode: prose`
      The column DESIRED is 0:

          kubectl get daemonsets -A
          kubectl get nodes --show-labels`,
    remedy: prose`
      Label the nodes as the selector wants, or change the selector. For Windows nodes kubernetes.io/os: windows holds
      on every cluster; labels such as kubernetes.azure.com/os-sku exist on one provider only.`,
    sources: [kubernetes("DaemonSet", "concepts/workloads/controllers/daemonset/"), ASSIGNING],
    profiles: ALL,
  },

  "cron-job-not-run": {
    title: "A CronJob makes no pods here",
    cause: prose`
      A CronJob makes Jobs at times of the day. A simulated cluster has no time of day, so none of its schedules ever
      comes; the Jobs and pods of a dump are there as they were dumped.`,
    onNode: prose`
      When it ran last:

          kubectl get cronjobs -A`,
    remedy: prose`
      To have its pods, write a Job with the same template, or let kubectl make it:

          kubectl create job probe --from=cronjob/<name> --dry-run=client -o yaml`,
    sources: [kubernetes("CronJob", "concepts/workloads/controllers/cron-jobs/")],
    profiles: ALL,
  },

  "node-range-exhausted": {
    title: "No pod range is left for a node",
    cause: prose`
      Each node takes one block of the cluster's pod range (a /24 of IPv4, unless set otherwise), and all blocks are
      taken. The node stays without a range; its pods get no address.`,
    onNode: prose`
      The node's event is CIDRNotAvailable:

          kubectl get events -A --field-selector reason=CIDRNotAvailable
          kubectl get nodes -o custom-columns=NAME:.metadata.name,RANGE:.spec.podCIDR`,
    remedy: prose`
      Give the cluster a larger range (network.clusterCIDR), or smaller blocks per node.`,
    sources: [
      kubernetes(
        "kube-controller-manager",
        "reference/command-line-tools-reference/kube-controller-manager/",
      ),
    ],
    profiles: ALL,
  },

  "resource-version-expired": {
    title: "A watch asks for changes that are no longer stored",
    cause: prose`
      A watch continues from a resourceVersion. The server keeps a bounded number of changes; the one asked for lies
      before them. The API server answers with status 410 and the reason Expired. It is no fault: the client
      lists again and watches from there.`,
    onNode: prose`
      Logs of kube-proxy and other watchers say "too old resource version":

          Get-Content C:\k\kube-proxy\*.log | Select-String "too old resource version"`,
    remedy: prose`List again, and watch from the list's resourceVersion.`,
    sources: [kubernetes("Kubernetes API Concepts", "reference/using-api/api-concepts/")],
    profiles: ALL,
  },

  "object-not-found": {
    title: "There is no object of that kind and name",
    cause: prose`
      A change or a deletion names an object that the cluster does not have: it may be gone already, stand in another
      namespace, or be misspelt.`,
    onNode: prose`
      What there is:

          kubectl get <kind> -A`,
    remedy: prose`List the kind and take namespace and name from there.`,
    sources: [kubernetes("Kubernetes API Concepts", "reference/using-api/api-concepts/")],
    profiles: ALL,
  },

  "object-exists-already": {
    title: "An object of that kind and name is there already",
    cause: prose`
      A program creates an object under a name that is taken. The API server answers with status 409 and the reason
      AlreadyExists. Two programs may have made it at the same time, or an earlier run of the same one.`,
    onNode: prose`
      Who made it, and when:

          kubectl get <kind> <name> -n <namespace> -o yaml --show-managed-fields`,
    remedy: prose`Read the object and change it, or take another name (generateName).`,
    sources: [API_CONCEPTS],
    profiles: ALL,
  },

  "object-changed-meanwhile": {
    title: "The object was changed by another client in between",
    cause: prose`
      A change was made from an older version of the object (metadata.resourceVersion) than the stored one, or a
      deletion names a uid that another object of that name had. The API server answers with status 409 and the reason
      Conflict, so that no change is lost.`,
    onNode: prose`
      Logs of controllers and agents say "the object has been modified; please apply your changes to the latest
      version and try again":

          Get-Content C:\k\flanneld\*.log | Select-String "object has been modified"`,
    remedy: prose`
      Read the object again and repeat the change on it. A patch without a resourceVersion depends on no version.`,
    sources: [API_CONCEPTS],
    profiles: ALL,
  },

  "object-refused": {
    title: "The API server refuses an object's fields",
    cause: prose`
      A field is missing, has a value that Kubernetes does not take, or may not be changed once it is set. The API
      server answers with status 422 and the reason Invalid, and names each field.`,
    onNode: prose`
      The message names the fields; what they may hold:

          kubectl explain <kind>.<field>`,
    remedy: prose`Correct the fields that the message names. What cannot be changed needs a new object.`,
    sources: [API_CONCEPTS],
    profiles: ALL,
  },

  "kubernetes-access-denied": {
    title: "The API server does not let the program do this",
    cause: prose`
      With status 401 the server does not know who asks: the token or the certificate of the kubeconfig is missing, has
      expired, or belongs to another cluster. With 403 it knows, and no role allows it.`,
    onNode: prose`
      Whether the kubeconfig of the node may do it:

          kubectl --kubeconfig C:\k\config auth can-i list endpointslices --all-namespaces`,
    remedy: prose`
      Give the program a valid kubeconfig; give its account the role: system:node-proxier for kube-proxy, and for
      flannel the ClusterRole of its manifest (get pods; get, list and watch nodes; patch nodes/status).`,
    sources: [
      kubernetes("Using RBAC Authorization", "reference/access-authn-authz/rbac/"),
      kubernetes("Authenticating", "reference/access-authn-authz/authentication/"),
    ],
    profiles: ALL,
  },

  "kubernetes-request-invalid": {
    title: "The API server does not understand the request",
    cause: prose`
      The body is not JSON, is longer than the server takes, has another kind than its path, or asks for something that
      this server does not have: an unknown selector, a patch of an unknown type, a method that the path does not take.
      The emulator's API is the subset that kubectl, kube-proxy and flanneld use.`,
    onNode: prose`
      What the program sends:

          kubectl -v=8 <command>`,
    remedy: prose`
      Read the message: it says what the server wants. docs/reference/kubernetes-api.md lists what the emulator serves.`,
    sources: [API_CONCEPTS],
    profiles: ALL,
  },

  "kubernetes-unreachable": {
    title: "The API server does not answer",
    cause: prose`
      The connection is refused, cut or too slow, the name is not resolved, the certificate is not trusted, or the
      server says that it cannot serve now (status 429 and 5xx). Programs keep what they know and come back, waiting
      longer each time up to half a minute.`,
    onNode: prose`
      From the node:

          Test-NetConnection <address of the API server> -Port 6443
          kubectl --kubeconfig C:\k\config get --raw /readyz`,
    remedy: prose`
      Look at "server" and "certificate-authority-data" in the kubeconfig, and at proxy settings (NO_PROXY). A node whose
      API server is behind a Service cannot reach it before kube-proxy has run.`,
    sources: [
      kubernetes("Troubleshooting Clusters", "tasks/debug/debug-cluster/"),
      { text: "k8s.io/client-go, tools/cache/reflector.go", url: "https://github.com/kubernetes/client-go" },
    ],
    profiles: ALL,
  },

  "kubeconfig-unusable": {
    title: "The kubeconfig cannot be used",
    cause: prose`
      The file is missing or is not a kubeconfig, its current context names no cluster, the address in it is not a URL, or a
      certificate or token file that it names is not there. Without a kubeconfig a program takes what a pod has
      (KUBERNETES_SERVICE_HOST and the files of its service account).`,
    onNode: prose`
      What the file says:

          kubectl --kubeconfig C:\k\config config view --minify`,
    remedy: prose`
      Name a valid file (kube-proxy: --kubeconfig; flanneld: --kubeconfig-file), or copy it from the control plane again.`,
    sources: [
      kubernetes(
        "Organizing Cluster Access Using kubeconfig Files",
        "concepts/configuration/organize-cluster-access-kubeconfig/",
      ),
    ],
    profiles: ALL,
  },
};
