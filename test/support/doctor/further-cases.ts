/** A fault for each check that looks at the node below HNS, at programs, and at objects beside each other. */
import { DSR_RULES, NAT_RULE, type NodeDocuments, rulesText } from "./healthy-node.ts";

type Json = Record<string, unknown>;

export interface Case {
  readonly check: string;
  readonly code: string;
  /** Where such a node was seen; or that no public one was found. */
  readonly seen: string;
  readonly says: RegExp;
  readonly file: string;
  readonly change: (documents: NodeDocuments) => void;
}

/** Nobody has shown such a node where everybody can read it. */
const NOT_PUBLIC = "no public one found";
const NETWORK_HEALTH = "https://github.com/microsoft/SDN (networkhealth.ps1)";
const WCNSCRIPTS = "https://github.com/microsoft/wcnscripts";

function objectOf({ kubernetes }: NodeDocuments, kind: string, name: string): Json {
  return kubernetes.find((each) => each["kind"] === kind && (each["metadata"] as Json)["name"] === name)!;
}

function metadataOf(documents: NodeDocuments, kind: string, name: string): Record<string, Json> {
  return objectOf(documents, kind, name)["metadata"] as Record<string, Json>;
}

function annotate(documents: NodeDocuments, node: string, values: Readonly<Record<string, string>>): void {
  const annotations = metadataOf(documents, "Node", node)["annotations"]!;
  for (const [name, value] of Object.entries(values)) annotations[`flannel.alpha.coreos.com/${name}`] = value;
}

function replaceIn(documents: NodeDocuments, file: string, from: string, to: string): void {
  const text = documents.texts[file]!;
  if (!text.includes(from)) throw new Error(`${file} does not have ${from}`);
  documents.texts[file] = text.replaceAll(from, to);
}

function addPod(
  documents: NodeDocuments,
  name: string,
  fields: { spec?: Json; status: Json; at?: string },
): void {
  const pod = structuredClone(objectOf(documents, "Pod", "web-1"));
  Object.assign(pod["metadata"] as Json, { name, creationTimestamp: fields.at });
  Object.assign(pod["spec"] as Json, fields.spec);
  pod["status"] = fields.status;
  documents.kubernetes.push(pod);
}

function setSource(documents: NodeDocuments, address: string, count = Number.POSITIVE_INFINITY): void {
  for (const { Policies } of documents.loadBalancers.slice(0, count))
    (Policies as Json[])[0]!["SourceVIP"] = address;
}

function withHostGateway(documents: NodeDocuments): void {
  for (const node of ["win-1", "linux-1"]) annotate(documents, node, { "backend-type": "host-gw" });
}

function withNodePort(documents: NodeDocuments): void {
  const { spec } = objectOf(documents, "Service", "web") as unknown as {
    spec: { type: string; ports: Json[] };
  };
  spec.type = "NodePort";
  spec.ports[0]!["nodePort"] = 31_080;
}

/** cni.conf as start.ps1 fetches it, before it writes this cluster's ranges into it. */
function fetchedConf(exceptions: readonly string[], route: string): string {
  const policies = [
    { Name: "EndpointPolicy", Value: { Type: "OutBoundNAT", ExceptionList: exceptions } },
    { Name: "EndpointPolicy", Value: { Type: "ROUTE", DestinationPrefix: route, NeedEncap: true } },
  ];
  const delegate = { type: "win-bridge", policies };
  return JSON.stringify({ cniVersion: "0.2.0", name: "flannel.4096", type: "flannel", delegate });
}

const WINDOWS_2019 = "Microsoft Windows [Version 10.0.17763.1]\n";

/** The Node has no object: what kubectl printed is all that is known of it. */
function withoutNodes({ kubernetes }: NodeDocuments): void {
  kubernetes.splice(0, Infinity, ...kubernetes.filter((each) => each["kind"] !== "Node"));
}

export const FURTHER_CASES: readonly Case[] = [
  {
    check: "node-is-listed-ready",
    code: "node-not-ready",
    seen: "kubernetes-sigs/sig-windows-tools#285",
    says: /kubectl shows node win-1 as not ready/u,
    file: "node/kubectl.txt",
    change: (documents) => {
      withoutNodes(documents);
      replaceIn(documents, "kubectl.txt", "win-1     Ready ", "win-1     NotReady  ");
    },
  },
  {
    check: "network-programs-are-listed-up",
    code: "network-program-restarts",
    seen: "kubernetes-sigs/sig-windows-tools#249",
    says: /kube-flannel\/kube-flannel-ds-7xk2p restarts again and again on this node/u,
    file: "node/kubectl.txt",
    change: (documents) => {
      withoutNodes(documents);
      replaceIn(documents, "kubectl.txt", "Running   2 (31d ago)", "Init:CrashLoopBackOff   9 (4m38s ago)");
    },
  },
  {
    check: "scripts-made-their-network",
    code: "start-script-external-network-refused",
    seen: "microsoft/SDN#269",
    says: /HNS refused the network External: An adapter was not found/u,
    file: "node/transcript.txt",
    change: (documents) =>
      replaceIn(
        documents,
        "transcript.txt",
        '{"Output":{"Name":"External"},"Success":true}',
        '{"Error":"An adapter was not found. ","ErrorCode":2151350278,"Success":false}',
      ),
  },
  {
    check: "kubelet-tells-the-nodes-address",
    code: "start-script-node-ip-wrong",
    seen: "microsoft/SDN#269",
    says: /the Node has the InternalIP 10\.244\.1\.2, which is of its own range of pods 10\.244\.1\.0\/24/u,
    file: "node/objects.json",
    change: (documents) => {
      const { status } = objectOf(documents, "Node", "win-1") as unknown as { status: { addresses: Json[] } };
      status.addresses = [{ type: "InternalIP", address: "10.244.1.2" }];
    },
  },
  {
    check: "plugins-have-this-nodes-routes",
    code: "start-script-configuration-unwritten",
    seen: "https://github.com/microsoft/SDN (Kubernetes/flannel/l2bridge/cni/config/cni.conf)",
    says: /has a route to 10\.127\.130\.38, which is no address of this node/u,
    file: "node/cni.conf",
    change: ({ texts }) =>
      void (texts["cni.conf"] = fetchedConf(["10.244.0.0/16", "10.96.0.0/12"], "10.127.130.38/32")),
  },
  {
    check: "plugins-have-this-nodes-routes",
    code: "start-script-configuration-unwritten",
    seen: "https://github.com/microsoft/SDN (Kubernetes/flannel/overlay/cni/config/cni.conf)",
    says: /has neither this node's pods \(10\.244\.1\.0\/24\) nor any Service among its ranges/u,
    file: "node/cni.conf",
    change: ({ texts }) => void (texts["cni.conf"] = fetchedConf(["192.168.0.0/16"], "11.0.0.0/8")),
  },
  {
    check: "node-is-registered",
    code: "start-script-node-unregistered",
    seen: "rancher/rancher#32910",
    says: /network flannel\.4096 was made on 10\.0\.0\.11, and no Node has that address/u,
    file: "node/network.txt",
    change: ({ kubernetes }) => void kubernetes.splice(0, 1),
  },
  {
    check: "kube-proxy-goes-by-the-nodes-name",
    code: "kube-proxy-hostname-override-missing",
    seen: "kubernetes/kubernetes#71799",
    says: /kube-proxy is not told a name, Windows has the name WIN-8QT3L1K2V9E, and the Node is win-1/u,
    file: "node/processes.txt",
    change: (documents) => {
      replaceIn(documents, "ip.txt", ": win-1", ": WIN-8QT3L1K2V9E");
      documents.texts["processes.txt"] =
        "\nCommandLine : c:\\k\\kube-proxy.exe --v=4 --proxy-mode=kernelspace\n";
    },
  },
  {
    check: "plugins-know-the-range-of-services",
    code: "cni-exception-list-without-services",
    seen: NOT_PUBLIC,
    says: /neither exceptions nor routes of the CNI configuration hold 10\.96\.0\.1/u,
    file: "node/cni.conflist",
    change: ({ texts }) => {
      const Policies = [
        { Name: "EndpointPolicy", Value: { Type: "OutBoundNAT", ExceptionList: ["10.244.0.0/16"] } },
        {
          Name: "EndpointPolicy",
          Value: { Type: "ROUTE", DestinationPrefix: "10.43.0.0/16", NeedEncap: true },
        },
      ];
      texts["cni.conflist"] = JSON.stringify({
        cniVersion: "0.3.1",
        name: "flannel.4096",
        plugins: [{ type: "flannel", delegate: { type: "win-overlay", Policies } }],
      });
    },
  },
  {
    // On a Linux node: the clock was set 45 minutes back, and the node stayed ready.
    check: "clock-is-the-clusters",
    code: "node-clock-differs",
    seen: "openshift/origin#22842",
    says: /the clock of the node is behind/u,
    file: "node/objects.json",
    change: (documents) => {
      const pod = objectOf(documents, "Pod", "web-1");
      Object.assign(pod["metadata"] as Json, { creationTimestamp: "2026-11-28T04:30:00Z" });
      Object.assign(pod["status"] as Json, { startTime: "2026-11-28T03:45:01Z" });
    },
  },
  {
    // On a Linux node: an NTP server was not asked in time.
    check: "clock-is-right",
    code: "node-clock-differs",
    seen: "harvester/harvester#2860",
    says: /the clock of the node is not right/u,
    file: "node/w32tm.txt",
    change: (documents) => replaceIn(documents, "w32tm.txt", "o:+00.0013862s", "o:+1029.1013862s"),
  },
  {
    check: "node-is-ready",
    code: "node-not-ready",
    seen: "kubernetes-sigs/sig-windows-tools#345",
    says: /node win-1 has the condition Ready False: KubeletNotReady/u,
    file: "node/objects.json",
    change: (documents) => {
      const status = objectOf(documents, "Node", "win-1")["status"] as Json;
      status["conditions"] = [
        { type: "Ready", status: "False", reason: "KubeletNotReady", message: "cni config uninitialized" },
      ];
    },
  },
  {
    check: "node-has-memory-and-disk",
    code: "node-not-ready",
    seen: `${WCNSCRIPTS} (memory)`,
    says: /node win-1 has the condition MemoryPressure True/u,
    file: "node/objects.json",
    change: (documents) => {
      const status = objectOf(documents, "Node", "win-1")["status"] as { conditions: Json[] };
      status.conditions.push({ type: "MemoryPressure", status: "True" });
    },
  },
  {
    check: "network-programs-stay-up",
    code: "network-program-restarts",
    seen: "kubernetes-sigs/sig-windows-tools#291",
    says: /shop\/kube-flannel restarts again and again on this node/u,
    file: "node/objects.json",
    change: (documents) =>
      addPod(documents, "kube-flannel", {
        spec: { hostNetwork: true },
        status: {
          phase: "Running",
          podIP: "10.0.0.11",
          containerStatuses: [
            { name: "c", restartCount: 7, state: { waiting: { reason: "CrashLoopBackOff" } } },
          ],
        },
      }),
  },
  {
    check: "pods-get-addresses",
    code: "pod-sandbox-failed",
    seen: "kubernetes/kubernetes#74766",
    says: /pod shop\/old has no address, and younger pods of the node have one/u,
    file: "node/objects.json",
    change: (documents) => {
      metadataOf(documents, "Pod", "web-1")["creationTimestamp"] = "2026-02-02T00:00:00Z" as unknown as Json;
      addPod(documents, "old", { status: { phase: "Pending" }, at: "2026-02-01T00:00:00Z" });
    },
  },
  {
    check: "node-has-a-range",
    code: "flannel-node-without-range",
    seen: "kubernetes-sigs/sig-windows-tools#345",
    says: /node win-1 has no podCIDR/u,
    file: "node/objects.json",
    change: (documents) => {
      objectOf(documents, "Node", "win-1")["spec"] = {};
    },
  },
  {
    check: "flannel-publishes-the-node",
    code: "flannel-network-not-ready",
    seen: "rancher/rancher#16440 (Linux nodes)",
    says: /node win-1 has no annotation of flannel, and other nodes do/u,
    file: "node/objects.json",
    change: (documents) => {
      metadataOf(documents, "Node", "win-1")["annotations"] = {};
    },
  },
  {
    check: "published-address-is-the-nodes",
    code: "flannel-address-differs",
    seen: "containerd/containerd#5729",
    says: /flannel publishes 172\.28\.48\.1 for node win-1, which has 10\.0\.0\.11/u,
    file: "node/objects.json",
    change: (documents) => annotate(documents, "win-1", { "public-ip": "172.28.48.1" }),
  },
  {
    // The ConfigMap was changed to host-gw, and the Windows node alone restarted.
    check: "nodes-have-one-backend",
    code: "network-signs-contradict",
    seen: "flannel-io/flannel#1709",
    says: /this node uses the backend vxlan, and linux-1 host-gw/u,
    file: "node/objects.json",
    change: (documents) => annotate(documents, "linux-1", { "backend-type": "host-gw" }),
  },
  {
    check: "pod-addresses-are-single",
    code: "pod-addresses-equal",
    seen: "microsoft/SDN#301",
    says: /pods shop\/web-1 and shop\/twin have the address 10\.244\.1\.7/u,
    file: "node/objects.json",
    change: (documents) =>
      addPod(documents, "twin", {
        spec: { nodeName: "linux-1" },
        status: { phase: "Running", podIP: "10.244.1.7" },
      }),
  },
  {
    check: "pod-addresses-are-in-the-range",
    code: "pod-address-outside-range",
    seen: "kubernetes-sigs/sig-windows-tools#214",
    says: /pod shop\/web-1 has 10\.244\.1\.7, and the range of its node is 10\.244\.9\.0\/24/u,
    file: "node/objects.json",
    change: (documents) => {
      objectOf(documents, "Node", "win-1")["spec"] = {
        podCIDR: "10.244.9.0/24",
        podCIDRs: ["10.244.9.0/24"],
      };
    },
  },
  {
    check: "dns-has-back-ends",
    code: "service-without-back-ends",
    seen: "kubernetes/kubernetes#83063 (Linux nodes)",
    says: /no back end of Service kube-system\/kube-dns is ready/u,
    file: "node/objects.json",
    change: (documents) => {
      objectOf(documents, "EndpointSlice", "kube-dns-1")["endpoints"] = [
        { addresses: ["10.244.2.5"], conditions: { ready: false } },
      ];
    },
  },
  {
    check: "versions-fit",
    code: "kubelet-newer-than-server",
    seen: "https://kubernetes.io/releases/version-skew-policy/",
    says: /the kubelet of win-1 is newer than the control plane: 1\.34, and 1\.33/u,
    file: "node/objects.json",
    change: (documents) => {
      const { labels } = metadataOf(documents, "Node", "linux-1");
      labels!["node-role.kubernetes.io/control-plane"] = "";
      const { nodeInfo } = objectOf(documents, "Node", "linux-1")["status"] as { nodeInfo: Json };
      nodeInfo["kubeletVersion"] = "v1.33.1";
    },
  },
  {
    check: "source-addresses-are-in-their-subnets",
    code: "kube-proxy-source-vip-invalid",
    seen: "kubernetes/kubernetes#91912",
    says: /the source address 10\.244\.9\.2 of kube-proxy is in no subnet of an overlay network/u,
    file: "node/policy.txt",
    change: (documents) => setSource(documents, "10.244.9.2"),
  },
  {
    check: "reserved-source-address-fits",
    code: "kube-proxy-source-vip-invalid",
    seen: "kubernetes-sigs/sig-windows-tools#250",
    says: /the source address 10\.244\.7\.2 of kube-proxy is in no subnet of an overlay network/u,
    file: "node/sourceVip.json",
    change: (documents) => replaceIn(documents, "sourceVip.json", "10.244.1.", "10.244.7."),
  },
  {
    check: "source-addresses-are-no-subnets",
    code: "source-vip-is-network-address",
    seen: "kubernetes-sigs/sig-windows-tools#101",
    says: /load balancers send from 10\.244\.1\.0, the subnet of network flannel\.4096 itself/u,
    file: "node/policy.txt",
    change: (documents) => setSource(documents, "10.244.1.0"),
  },
  {
    check: "source-addresses-agree",
    code: "kube-proxy-source-vip-invalid",
    seen: "kubernetes/kubernetes#91912",
    says: /some load balancers send from 10\.244\.1\.3, others from 10\.244\.1\.2/u,
    file: "node/policy.txt",
    change: (documents) => setSource(documents, "10.244.1.3", 1),
  },
  {
    check: "source-addresses-have-endpoints",
    code: "source-vip-without-endpoint",
    seen: "kubernetes/kubernetes#123014",
    says: /load balancers send from 10\.244\.1\.2, which no local endpoint has/u,
    file: "node/policy.txt",
    change: ({ endpoints }) => void endpoints.splice(2, 1),
  },
  {
    check: "exceptions-hold-pods",
    code: "cni-exception-list-without-pods",
    seen: "Azure/AKS#1367 (another subnet)",
    says: /OutBoundNAT of 10\.244\.1\.7 hides it from pods too: 10\.244\.2\.5/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) => {
      endpoints[0]!["Policies"] = [{ Type: "OutBoundNAT", ExceptionList: ["10.96.0.0/12"] }];
    },
  },
  {
    check: "endpoints-ask-the-clusters-dns",
    code: "endpoint-dns-differs",
    seen: "ovn-kubernetes/ovn-kubernetes#336",
    says: /pod shop\/web-1 asks 11\.0\.0\.10 for names, and the cluster's DNS is 10\.96\.0\.10/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) => {
      endpoints[0]!["DNSServerList"] = "11.0.0.10";
    },
  },
  {
    check: "endpoints-complete-names",
    code: "endpoint-dns-differs",
    seen: "Azure/azure-container-networking#206",
    says: /endpoint of pod shop\/web-1 completes names with no suffix of its namespace/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) => {
      endpoints[0]!["DNSSuffix"] = "svc.cluster.local";
    },
  },
  {
    check: "macs-are-single",
    code: "endpoint-mac-doubled",
    seen: "moby/moby#22174 (Linux containers)",
    says: /two local endpoints of a network have the MAC address 00-15-5D-24-50-01/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) => {
      endpoints[2]!["MacAddress"] = endpoints[0]!["MacAddress"];
    },
  },
  {
    check: "endpoints-have-networks",
    code: "endpoint-network-missing",
    seen: NOT_PUBLIC,
    says: /endpoint Ethernet is of network 99999999-\S+, which HNS does not list/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) => {
      endpoints[0]!["VirtualNetwork"] = "99999999-0000-4000-8000-000000000001";
      endpoints[0]!["VirtualNetworkName"] = "gone";
    },
  },
  {
    check: "endpoints-have-namespaces",
    code: "endpoint-namespace-missing",
    seen: "containerd/containerd#6181",
    says: /endpoint Ethernet is of namespace 88888888-\S+, which HNS does not list/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) => {
      endpoints[0]!["Namespace"] = { ID: "88888888-0000-4000-8000-000000000001" };
    },
  },
  {
    check: "compartments-agree",
    code: "endpoint-compartment-differs",
    seen: `${WCNSCRIPTS} (invalidCompartment)`,
    says: /the endpoint of 10\.244\.1\.7 is in compartment 3, and its namespace is 4/u,
    file: "node/endpoint.txt",
    change: ({ namespaces }) => {
      namespaces[0]!["CompartmentId"] = 4;
    },
  },
  {
    check: "compartments-exist",
    code: "endpoint-compartment-differs",
    seen: "microsoft/Windows-Containers#401",
    says: /namespace \S+ is compartment 3, which Windows does not have/u,
    file: "node/namespaces.txt",
    change: (documents) => replaceIn(documents, "compartments.txt", ": 3", ": 5"),
  },
  {
    check: "own-vni-is-published",
    code: "vxlan-identifiers-differ",
    seen: "k3s-io/k3s#9295",
    says: /network flannel\.4096 has VNI 4097, and other nodes are told VNI 4096/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      (networks[0]!["Subnets"] as Json[])[0]!["Policies"] = [{ Type: "VSID", VSID: 4097 }];
    },
  },
  {
    check: "own-router-mac-is-published",
    code: "remote-subnet-route-differs",
    seen: "flannel-io/flannel#1394",
    says: /network flannel\.4096 has MAC 00-15-5D-00-00-01, and other nodes are told MAC 00:15:5d:fb:cb:0d/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      networks[0]!["DrMacAddress"] = "00-15-5D-00-00-01";
    },
  },
  {
    check: "networks-have-the-nodes-range",
    code: "network-range-differs",
    seen: "kubernetes-sigs/sig-windows-tools#336",
    says: /network flannel\.4096 has 10\.244\.5\.0\/24, and the node the range 10\.244\.1\.0\/24/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      (networks[0]!["Subnets"] as Json[])[0]!["AddressPrefix"] = "10.244.5.0/24";
    },
  },
  {
    check: "a-network-for-pods-exists",
    code: "hns-networks-lost-at-reboot",
    seen: "Azure/aks-engine#168",
    says: /HNS has no network for the pods of node win-1/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      networks[0] = {
        ID: networks[0]!["ID"],
        Name: "nat",
        Type: "NAT",
        Subnets: [{ AddressPrefix: "172.28.48.0/20", GatewayAddress: "172.28.48.1" }],
      };
    },
  },
  {
    // On a plain Windows host, whose HNS refused its own network as degraded.
    check: "networks-are-sound",
    code: "hns-object-degraded",
    seen: "microsoft/WSL#10483",
    says: /the last error of network flannel\.4096 is 0x803b0014/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      networks[0]!["Health"] = { LastErrorCode: 0x80_3b_00_14 };
    },
  },
  {
    check: "load-balancers-lead-to-the-port",
    code: "load-balancer-port-differs",
    seen: "kubernetes/kubernetes#131466",
    says: /the load balancer of 10\.96\.7\.7:80\/TCP leads to port 8081, and shop\/web is at 8080/u,
    file: "node/policy.txt",
    change: ({ loadBalancers }) => {
      (loadBalancers[2]!["Policies"] as Json[])[0]!["InternalPort"] = 8081;
    },
  },
  {
    check: "node-ports-have-load-balancers",
    code: "load-balancer-missing",
    seen: "kubernetes/kubernetes#78874",
    says: /no load balancer for node port 31080\/TCP of Service shop\/web/u,
    file: "node/objects.json",
    change: withNodePort,
  },
  {
    check: "ingress-addresses-have-load-balancers",
    code: "load-balancer-missing",
    seen: "microsoft/hcsshim#1043",
    says: /no load balancer for 203\.0\.113\.7:80\/TCP of Service shop\/web/u,
    file: "node/objects.json",
    change: (documents) => {
      objectOf(documents, "Service", "web")["status"] = {
        loadBalancer: { ingress: [{ ip: "203.0.113.7" }] },
      };
    },
  },
  {
    check: "load-balancers-have-back-ends",
    code: "hns-load-balancer-without-endpoints",
    seen: "kubernetes/kubernetes#137530",
    says: /load balancer 22222222-\S+ of 10\.96\.7\.7 has no back end/u,
    file: "node/policy.txt",
    change: ({ loadBalancers }) => {
      loadBalancers[2]!["References"] = [];
    },
  },
  {
    check: "remote-endpoints-are-somebody",
    code: "hns-remote-endpoint-left",
    seen: "microsoft/Windows-Containers#631",
    says: /a remote endpoint has 10\.244\.2\.99, which nobody has/u,
    file: "node/endpoint.txt",
    change: ({ endpoints }) =>
      void endpoints.push({
        ...endpoints[1]!,
        ID: "11111111-0000-4000-8000-000000000009",
        IPAddress: "10.244.2.99",
      }),
  },
  {
    check: "kube-proxys-network-exists",
    code: "kube-proxy-network-missing",
    seen: "microsoft/Windows-Containers#103",
    says: /kube-proxy is to use the network vxlan0, which HNS does not have/u,
    file: "node/kube-proxy.conf",
    change: (documents) =>
      replaceIn(documents, "kube-proxy.conf", "networkName: flannel.4096", "networkName: vxlan0"),
  },
  {
    check: "direct-server-return-is-programmed",
    code: "kube-proxy-dsr-without-support",
    seen: `${NETWORK_HEALTH}: ClusterIPServiceDSR`,
    says: /kube-proxy is to use Direct Server Return, and it is missing from 1 load balancer/u,
    file: "node/kube-proxy.conf",
    change: ({ loadBalancers }) => {
      (loadBalancers[2]!["Policies"] as Json[])[0]!["IsDSR"] = false;
    },
  },
  {
    check: "networks-of-plugins-exist",
    code: "cni-network-not-found",
    seen: "Azure/azure-container-networking#283 (azure-vnet)",
    says: /the CNI configuration is of network cbr0, which HNS does not have/u,
    file: "node/cni.conflist",
    change: (documents) => replaceIn(documents, "cni.conflist", "flannel.4096", "cbr0"),
  },
  {
    check: "dns-rules-are-on-all-ports",
    code: "hns-rules-differ",
    seen: `${WCNSCRIPTS} (dnsRuleMissingMitigation)`,
    says: /the load balancer of 10\.96\.0\.10:53 has no rule on the port of 10\.244\.1\.8/u,
    file: "node/vfpOutput.txt",
    change: (documents) => {
      const port = "C3C9CB2F-7B32-4B36-9B93-0A1E38AC7C62";
      const other = rulesText([DSR_RULES[2]!, NAT_RULE]).replace(
        /^Policy for port : \S+/u,
        `Policy for port : ${port}`,
      );
      documents.rules += other;
      documents.endpoints.push({
        ...documents.endpoints[0]!,
        ID: "11111111-0000-4000-8000-000000000008",
        IPAddress: "10.244.1.8",
        Resources: { Allocators: [{ EndpointPortGuid: port, Tag: "Endpoint Port" }] },
      });
    },
  },
  {
    check: "switch-ports-are-open",
    code: "switch-port-blocked",
    seen: `${NETWORK_HEALTH}: EndpointVfpPortState`,
    says: /the switch port of 10\.244\.1\.7 is blocked/u,
    file: "node/vfpOutput.txt",
    change: (documents) => {
      documents.rules = documents.rules.replace("BlockedOnRestore : FALSE", "BlockedOnRestore : TRUE");
    },
  },
  {
    check: "node-address-is-on-an-adapter",
    code: "node-address-missing",
    seen: "microsoft/SDN#377",
    says: /no adapter of the node has its InternalIP 10\.0\.0\.11/u,
    file: "node/objects.json",
    change: (documents) => replaceIn(documents, "ip.txt", "10.0.0.11", "10.0.0.12"),
  },
  {
    check: "default-route-is-one",
    code: "default-routes-doubled",
    seen: "flannel-io/flannel#1763",
    says: /two default routes have the metric 271/u,
    file: "node/routes.txt",
    change: (documents) =>
      replaceIn(
        documents,
        "routes.txt",
        "         10.0.0.0    255.255.255.0   Auf",
        "          0.0.0.0          0.0.0.0     192.168.7.1      192.168.7.9    271\n         10.0.0.0    255.255.255.0   Auf",
      ),
  },
  {
    check: "default-route-exists",
    code: "no-route",
    seen: "kubernetes-sigs/sig-windows-tools#162",
    says: /the node has no default route/u,
    file: "node/routes.txt",
    change: (documents) =>
      replaceIn(
        documents,
        "routes.txt",
        "          0.0.0.0          0.0.0.0",
        "        10.9.0.0        255.255.0.0",
      ),
  },
  {
    check: "routes-lead-to-nodes",
    code: "flannel-route-not-programmed",
    seen: "flannel-io/flannel#801 (Linux nodes)",
    says: /the route to 10\.244\.2\.0\/24 of node linux-1 leads to 10\.0\.0\.99/u,
    file: "node/routes.txt",
    change: (documents) => {
      withHostGateway(documents);
      replaceIn(documents, "routes.txt", "10.0.0.21", "10.0.0.99");
    },
  },
  {
    check: "pods-have-an-ipv6-route",
    code: "no-route",
    seen: `${WCNSCRIPTS} (AutoMitigateIpv6RouteMissing)`,
    says: /no default route of IPv6 leads to the gateway of pods/u,
    file: "node/routes.txt",
    change: (documents) => {
      documents.networks[0]!["Name"] = "azure";
      documents.endpoints[0]!["IPv6Address"] = "fd00::7";
      replaceIn(documents, "routes.txt", "fe80::1234:5678:9abc", "fe80::1");
    },
  },
  {
    check: "adapters-of-networks-exist",
    code: "network-adapter-renamed",
    seen: "microsoft/SDN#194",
    says: /network flannel\.4096 was made on adapter Ethernet 2, which the node does not have/u,
    file: "node/network.txt",
    change: ({ networks }) => {
      networks[0]!["NetworkAdapterName"] = "Ethernet 2";
    },
  },
  {
    check: "adapters-of-networks-are-up",
    code: "interface-down",
    seen: "MicrosoftDocs/Virtualization-Documentation#1049",
    says: /adapter Ethernet of network flannel\.4096 is Disconnected/u,
    file: "node/netadapter.txt",
    change: (documents) => replaceIn(documents, "netadapter.txt", " 5 Up          ", " 5 Disconnected"),
  },
  {
    check: "tunnels-fit-their-links",
    code: "mtu-exceeded",
    seen: "flannel-io/flannel#1567 (WireGuard between Linux nodes)",
    says: /flannel\.4096 takes packets of 1500 bytes, and eth0 below it 1500/u,
    file: "node/links.txt",
    change: (documents) => replaceIn(documents, "links.txt", "mtu 1450", "mtu 1500"),
  },
  {
    check: "uplinks-have-one-mtu",
    code: "mtu-exceeded",
    seen: "microsoft/Test-NetStack#14 (two Windows hosts)",
    says: /vEthernet \(Ethernet\) of this node takes packets of 1500 bytes, and eth0 of a Linux node 9001/u,
    file: "node/mtu.txt",
    change: (documents) => replaceIn(documents, "links.txt", "mtu 1500", "mtu 9001"),
  },
  {
    check: "tunnels-use-the-port-of-windows",
    code: "flannel-vxlan-port-not-4789",
    seen: "rancher/rke2#5995",
    says: /flannel\.4096 of a Linux node sends to port 8472, and Windows takes 4789/u,
    file: "node/links.txt",
    change: (documents) => replaceIn(documents, "links.txt", "dstport 4789", "dstport 8472"),
  },
  {
    check: "tunnels-have-an-identifier-for-windows",
    code: "flannel-vni-below-4096",
    seen: "rancher/rke2#5994",
    says: /flannel\.4096 of a Linux node has the identifier 1, and Windows uses none below 4096/u,
    file: "node/links.txt",
    change: (documents) => replaceIn(documents, "links.txt", "vxlan id 4096", "vxlan id 1"),
  },
  {
    check: "vxlan-port-is-free",
    code: "vxlan-port-in-use",
    seen: NOT_PUBLIC,
    says: /process 4088 waits on UDP port 4789, which tunnels of this node need/u,
    file: "node/netstat.txt",
    change: (documents) =>
      replaceIn(documents, "netstat.txt", "*:*                                    4\n", "*:*    4088\n"),
  },
  {
    check: "ipv6-is-on",
    code: "windows-ipv6-switched-off",
    seen: "microsoft/hcsshim#151",
    says: /the registry value DisabledComponents is 0xff/u,
    file: "node/tcpip6.txt",
    change: (documents) => replaceIn(documents, "tcpip6.txt", "0x20", "0xff"),
  },
  {
    check: "load-balancers-can-be-deleted",
    code: "hns-feature-override",
    seen: `${WCNSCRIPTS} (stale-lb-dsr-rules)`,
    says: /the registry value 140377743 is 0x1/u,
    file: "node/overrides.reg",
    change: ({ texts }) => {
      texts["overrides.reg"] =
        'Windows Registry Editor Version 5.00\r\n\r\n[HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Policies\\Microsoft\\FeatureManagement\\Overrides]\r\n"140377743"=dword:00000001\r\n';
    },
  },
  {
    check: "windows-has-its-updates",
    code: "overlay-needs-windows-update",
    seen: "microsoft/SDN#273",
    says: /build 17763\.1 lacks KB4489899, which overlay networks need/u,
    file: "node/winver.txt",
    change: ({ texts }) => {
      texts["winver.txt"] = WINDOWS_2019;
    },
  },
  {
    check: "leases-have-pods",
    code: "lease-without-pod",
    seen: "Azure/azure-container-networking#218",
    says: /IPAM holds 10\.240\.0\.35, which no pod and no endpoint has/u,
    file: "node/azure-vnet-ipam.json",
    change: ({ texts }) => {
      const addresses = {
        "10.240.0.35": { ID: "4c7d704edd71", Addr: "10.240.0.35", InUse: true },
        "10.240.0.36": { ID: "", Addr: "10.240.0.36", InUse: false },
      };
      const pools = { "10.240.0.0/16": { Addresses: addresses } };
      texts["azure-vnet-ipam.json"] = JSON.stringify({
        IPAM: { AddressSpaces: { local: { Pools: pools } } },
      });
    },
  },
  {
    check: "pods-have-leases",
    code: "pod-without-lease",
    seen: "microsoft/SDN#301",
    says: /pod shop\/late has 10\.244\.1\.9, which IPAM takes for free/u,
    file: "node/objects.json",
    change: (documents) => addPod(documents, "late", { status: { phase: "Running", podIP: "10.244.1.9" } }),
  },
  {
    check: "range-has-free-addresses",
    code: "ipam-range-exhausted",
    seen: "Azure/azure-container-networking#145",
    says: /all addresses of 10\.244\.1\.0\/29 are held/u,
    file: "node/networks/10.244.1.7",
    change: (documents) => {
      objectOf(documents, "Node", "win-1")["spec"] = {
        podCIDR: "10.244.1.0/29",
        podCIDRs: ["10.244.1.0/29"],
      };
      for (const last of [3, 4, 5, 6])
        documents.texts[`networks/10.244.1.${last}`] = "0123456789abcdef0123456789abcdef\r\neth0";
    },
  },
  {
    check: "hns-does-not-hang",
    code: "hns-service-hangs",
    seen: `${NETWORK_HEALTH}: HNSPotentialDeadlock`,
    says: /HNS has 201 threads/u,
    file: "node/nodedata.json",
    change: ({ texts }) => {
      texts["nodedata.json"] = JSON.stringify({
        HNSData: { ThreadInfo: Array.from({ length: 201 }, (_, id) => ({ ThreadId: id })) },
      });
    },
  },
  {
    check: "blocks-of-ports-are-free",
    code: "load-balancer-ports-exhausted",
    seen: `${NETWORK_HEALTH}: PortExhaustion`,
    says: /3 blocks of udp ports are free/u,
    file: "node/nodedata.json",
    change: (documents) => replaceIn(documents, "nodedata.json", ":220", ":3"),
  },
  {
    check: "names-are-answered",
    code: "dns-timeout",
    seen: "Azure/acs-engine#2027",
    says: /10\.96\.0\.10 did not answer: 1 look-up timed out/u,
    file: "node/session.txt",
    change: (documents) =>
      replaceIn(
        documents,
        "session.txt",
        "Name:    kubernetes.default.svc.cluster.local\nAddress:  10.96.0.1\n",
        "*** Request to UnKnown timed-out\n",
      ),
  },
  {
    check: "connections-are-made",
    code: "no-answer",
    seen: "Azure/acs-engine#2027",
    says: /a connection to 10\.96\.7\.7:80 was not made/u,
    file: "node/session.txt",
    change: (documents) =>
      replaceIn(documents, "session.txt", "TcpTestSucceeded : True", "TcpTestSucceeded : False"),
  },
];
