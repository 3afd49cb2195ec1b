/**
 * The files of a node on which every check can be made and nothing is wrong: an overlay network of flannel, written by hand
 * in the forms of the commands that print them. Each fault is a change of one of them.
 */

type Json = Record<string, unknown>;

/** Documents of a node, to be changed before they are written. */
export interface NodeDocuments {
  readonly kubernetes: Json[];
  readonly networks: Json[];
  readonly endpoints: Json[];
  readonly namespaces: Json[];
  readonly loadBalancers: Json[];
  /** Lines of `vfpctrl` for the port of the pod. */
  rules: string;
  services: string;
  excluded: string;
  dynamic: string;
  /** What further commands print, and files that programs keep, by the names of files. */
  readonly texts: Record<string, string>;
}

const PORT = "B3C9CB2F-7B32-4B36-9B93-0A1E38AC7C61";
const NETWORK = "8e68213e-9443-4395-a50c-3977cb7bdba7";
const NAMESPACE = "2c094b9e-af3a-4dc1-97d8-821b68603d23";
const POD = "11111111-0000-4000-8000-000000000001";
const DNS_POD = "11111111-0000-4000-8000-000000000002";
const SOURCE = "11111111-0000-4000-8000-000000000003";

export const IDS: Readonly<Record<"DNS_POD" | "SOURCE", string>> = { DNS_POD, SOURCE };

function node(name: string, os: string, address: string, range: string, mac: string): Json {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: {
      name,
      labels: { "kubernetes.io/os": os },
      annotations: {
        "flannel.alpha.coreos.com/backend-data": JSON.stringify({ VNI: 4096, VtepMAC: mac }),
        "flannel.alpha.coreos.com/backend-type": "vxlan",
        "flannel.alpha.coreos.com/kube-subnet-manager": "true",
        "flannel.alpha.coreos.com/public-ip": address,
      },
    },
    spec: { podCIDR: range, podCIDRs: [range] },
    status: {
      addresses: [
        { type: "InternalIP", address },
        { type: "Hostname", address: name },
      ],
      conditions: [{ type: "Ready", status: "True" }],
      nodeInfo: {
        operatingSystem: os,
        kernelVersion: os === "windows" ? "10.0.20348.4171" : "5.15.0",
        kubeletVersion: "v1.34.2",
      },
    },
  };
}

interface PodSketch {
  readonly namespace: string;
  readonly name: string;
  readonly node: string;
  readonly address: string;
  readonly labels: Json;
  readonly ports: readonly Json[];
}

function pod({ namespace, name, node: nodeName, address, labels, ports }: PodSketch): Json {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace, name, labels },
    spec: { nodeName, containers: [{ name: "c", image: "registry.example/c:1", ports }] },
    status: { phase: "Running", podIP: address, podIPs: [{ ip: address }] },
  };
}

const CREATED: Readonly<Record<string, string>> = { web: "2026-02-01T00:00:00Z" };
const SELECTORS: Readonly<Record<string, Json>> = {
  web: { app: "web" },
  "kube-dns": { "k8s-app": "kube-dns" },
};

function service(namespace: string, name: string, address: string, ports: readonly Json[]): Json {
  const selector = SELECTORS[name];
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      namespace,
      name,
      creationTimestamp: CREATED[name] ?? "2026-01-01T00:00:00Z",
      ...(name === "kube-dns" && { labels: { "k8s-app": "kube-dns" } }),
    },
    spec: { clusterIP: address, clusterIPs: [address], ports, ...(selector && { selector }) },
  };
}

function slice(namespace: string, name: string, address: string, ports: readonly Json[]): Json {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { namespace, name: `${name}-1`, labels: { "kubernetes.io/service-name": name } },
    addressType: "IPv4",
    ports,
    endpoints: [{ addresses: [address], conditions: { ready: true } }],
  };
}

function loadBalancer(
  id: string,
  vip: string,
  protocol: number,
  [external, internal]: readonly [number, number],
  backEnd: string,
): Json {
  return {
    ID: id,
    References: [`/endpoints/${backEnd}`],
    State: 2,
    Policies: [
      {
        Type: "ELB",
        VIPs: [vip],
        Protocol: protocol,
        ExternalPort: external,
        InternalPort: internal,
        IsDSR: true,
        SourceVIP: "10.244.1.2",
      },
    ],
  };
}

function endpoint(id: string, address: string, fields: Json): Json {
  return {
    ID: id,
    Name: "Ethernet",
    VirtualNetwork: NETWORK,
    VirtualNetworkName: "flannel.4096",
    IPAddress: address,
    PrefixLength: 24,
    MacAddress: `00-15-5D-24-50-${id.slice(-2)}`,
    ...fields,
  };
}

function rule(id: string): string {
  return `    RULE : ${id}
      Friendly name : ${id}
      Priority : 100
      Flags : 1 terminating
      Type : ${id.startsWith("SNAT") ? "dynnat" : "lbnat"}
      Conditions:
        Protocols : 6
      Flow TTL: 240
      FlagsEx : 0
`;
}

export const DSR_RULES: readonly string[] = [
  "LB_DSR_10.0.0.11_10.96.0.10_53_53_17",
  "LB_DSR_10.0.0.11_10.96.0.10_53_53_6",
  "LB_DSR_10.0.0.11_10.96.7.7_80_8080_6",
];
export const NAT_RULE = "SNAT_TCP_OUTBOUNDNAT_10.244.1.7";

/** As in flannel-io/flannel#1394, which lacks it. */
function tunnelRule(first: string, last: string): string {
  return `    RULE : REMOTESUBNETROUTE_${first}
      Friendly name : REMOTESUBNETROUTE_${first}
      Priority : 100
      Flags : 1 terminating
      Type : routeencap
      Conditions:
        Destination IP : ${first}-${last}
      Flow TTL: 0
      Rule Data:
      Encap Type: VXLAN
      Fixing inner MAC
      FlagsEx : 0
`;
}

/** The first and the last address of the other node's pods. */
const TUNNELS = [["10.244.2.0", "10.244.2.255"]] as const;

/** As `vfpctrl` prints the rule of an ACL (a public note on agents of RKE2, https://github.com/rancherlabs). */
function aclRule(name: string, priority: number, type: string, condition: string): string {
  return `    RULE : A2CFF68C-B5F4-4988-841F-0F6F77AF${priority}
      Friendly name : ${name}
      Priority : ${priority}
      Flags : 8195 terminating stateful
      Type : ${type}
      Conditions:
        ${condition}
      Flow TTL: 240
      FlagsEx : 0

`;
}

export const BLOCK_RULE: string = aclRule(
  "policy-kns.shop-0",
  2000,
  "block",
  "Protocols : 6\n        Destination IP : 10.244.2.0-10.244.2.255",
);

function aclGroup(direction: "IN" | "OUT", rules: string): string {
  return `  GROUP : ACL_ENDPOINT_GROUP_IPV4_${direction}
    Friendly name : ACL_ENDPOINT_GROUP_IPV4_${direction}
    Priority : 1
    Direction : ${direction}
    Type : IPv4
    Conditions:
      <none>
    Match type : Priority-based match

${rules}`;
}

/** Of the ACLs of the pod's endpoint, between two that HNS programs by itself. */
const ACL_LAYER = `
LAYER : ACL_ENDPOINT_LAYER
  Friendly name : ACL_ENDPOINT_LAYER
  Priority : 15

${aclGroup("OUT", `${BLOCK_RULE}${aclRule("profile-kns.shop-0", 3000, "allow", "<none>")}`)}
${aclGroup("IN", aclRule("allow-host-to-endpoint", 9000, "allow", "Source IP : 10.0.0.11"))}`;

/** Policies of an endpoint as Calico gives them to HNS. */
function acl(name: string, priority: number, fields: Json): Json {
  return {
    Type: "ACL",
    Id: name,
    Protocol: 256,
    Priority: priority,
    RuleType: "Switch",
    InternalPort: 0,
    LocalAddresses: "",
    LocalPort: 0,
    RemotePort: 0,
    Scope: 0,
    ServiceName: "",
    ...fields,
  };
}

const ACLS: readonly Json[] = [
  acl("allow-host-to-endpoint", 9000, { Action: "Allow", Direction: "In", RemoteAddresses: "10.0.0.11/32" }),
  acl("policy-kns.shop-0", 2000, {
    Action: "Block",
    Direction: "Out",
    Protocol: 6,
    RemoteAddresses: "10.244.2.0/24",
  }),
  acl("profile-kns.shop-0", 3000, { Action: "Allow", Direction: "Out", RemoteAddresses: "" }),
];

/** What `vfpctrl /list-rule` prints of the pod's port. */
export function rulesText(
  rules: readonly string[],
  tunnels: readonly (readonly [first: string, last: string])[] = TUNNELS,
): string {
  return `Policy for port : ${PORT}
  Enabled : TRUE
  Blocked : FALSE
  BlockedOnRestore : FALSE

LAYER : LB_DSR
  Friendly name : LB_DSR
  Priority : 600

  GROUP : LB_DSR_IPv4_OUT
    Friendly name : LB_DSR_IPv4_OUT
    Priority : 100
    Direction : OUT
    Type : IPv4
    Conditions:
      <none>
    Match type : Priority-based match

${rules.map(rule).join("\n")}

LAYER : VNET_ENCAP_LAYER
  Friendly name : VNET_ENCAP_LAYER
  Flags : 0x4 Clear TNI
  Priority : 40

  GROUP : VNET_GROUP_ENCAP_IPV4_OUT
    Friendly name : VNET_GROUP_ENCAP_IPV4_OUT
    Priority : 100
    Direction : OUT
    Type : IPv4
    Conditions:
      <none>
    Match type : Longest prefix match on Destination IP

${tunnels.map(([first, last]) => tunnelRule(first, last)).join("\n")}
${ACL_LAYER}`;
}

/** The table of `Get-Service`. */
export function servicesText(states: Readonly<Record<string, string>>): string {
  const rows = Object.entries(states).map(
    ([name, state]) => `${state.padEnd(8)} ${name.padEnd(18)} ${name} service`,
  );
  return `\nStatus   Name               DisplayName\n------   ----               -----------\n${rows.join("\n")}\n`;
}

/** `netsh int ipv4 show excludedportrange tcp`. */
export function excludedText(ranges: readonly (readonly [number, number])[]): string {
  const rows = ranges.map(
    ([first, last]) => `${String(first).padStart(10)}  ${String(last).padStart(10)}      `,
  );
  return `\nProtocol tcp Port Exclusion Ranges\n\nStart Port    End Port      \n----------    --------      \n${rows.join("\n")}\n\n* - Administered port exclusions.\n`;
}

/** In the language of the node, where the commands have one. */
const TEXTS: Readonly<Record<string, string>> = {
  "ip.txt": `
Windows-IP-Konfiguration

   Hostname  . . . . . . . . . . . . : win-1
   Primäres DNS-Suffix . . . . . . . :
   Knotentyp . . . . . . . . . . . . : Hybrid
   IP-Routing aktiviert  . . . . . . : Nein

Ethernet-Adapter vEthernet (Ethernet):

   Verbindungsspezifisches DNS-Suffix:
   Beschreibung. . . . . . . . . . . : Hyper-V Virtual Ethernet Adapter
   Physische Adresse . . . . . . . . : 00-15-5D-00-09-7A
   DHCP aktiviert. . . . . . . . . . : Ja
   Verbindungslokale IPv6-Adresse  . : fe80::8193:c234:bebb:93db%27(Bevorzugt)
   IPv4-Adresse  . . . . . . . . . . : 10.0.0.11(Bevorzugt)
   Subnetzmaske  . . . . . . . . . . : 255.255.255.0
   Lease erhalten. . . . . . . . . . : Samstag, 28. November 2026 01:00:00
   Standardgateway . . . . . . . . . : 10.0.0.1
   DHCP-Server . . . . . . . . . . . : 10.0.0.2
   DNS-Server  . . . . . . . . . . . : 10.0.0.53
                                       10.0.0.54
`,
  "routes.txt": `
===========================================================================
Schnittstellenliste
 14...00 15 5d 00 09 7a ......Hyper-V Virtual Ethernet Adapter
===========================================================================

IPv4-Routentabelle
===========================================================================
Aktive Routen:
     Netzwerkziel    Netzwerkmaske          Gateway    Schnittstelle Metrik
          0.0.0.0          0.0.0.0         10.0.0.1        10.0.0.11    271
         10.0.0.0    255.255.255.0   Auf Verbindung        10.0.0.11    271
       10.244.2.0    255.255.255.0        10.0.0.21        10.0.0.11    271
===========================================================================

IPv6-Routentabelle
===========================================================================
 If Metrik Netzwerkziel             Gateway
 14    271 ::/0                     fe80::1234:5678:9abc
===========================================================================
`,
  "netadapter.txt": `
Name                      InterfaceDescription                    ifIndex Status       MacAddress             LinkSpeed
----                      --------------------                    ------- ------       ----------             ---------
vEthernet (Ethernet)      Hyper-V Virtual Ethernet Adapter             14 Up           00-15-5D-00-09-7A        10 Gbps
Ethernet                  Microsoft Hyper-V Network Adapter             5 Up           00-15-5D-00-09-7A        10 Gbps
`,
  "mtu.txt": `
Idx     Met         MTU          State                Name
---  ----------  ----------  ------------  ---------------------------
  1          75  4294967295  connected     Loopback Pseudo-Interface 1
 14          25        1500  connected     vEthernet (Ethernet)
`,
  "links.txt": `2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000
    link/ether 02:42:ac:11:00:02 brd ff:ff:ff:ff:ff:ff promiscuity 0
5: flannel.4096: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1450 qdisc noqueue state UNKNOWN mode DEFAULT group default
    link/ether ba:c1:6f:91:17:c7 brd ff:ff:ff:ff:ff:ff promiscuity 0
    vxlan id 4096 local 10.0.0.21 dev eth0 srcport 0 0 dstport 4789 nolearning ttl auto ageing 300
`,
  "tcpip6.txt": String.raw`
HKEY_LOCAL_MACHINE\SYSTEM\CurrentControlSet\Services\Tcpip6\Parameters
    DisabledComponents    REG_DWORD    0x20

`,
  "transcript.txt": String.raw`PS C:\k> .\start.ps1
VERBOSE: Invoke-HNSRequest Method[POST] Path[/networks] Data[{
    "Name":  "External",
    "Type":  "Overlay"
}]
VERBOSE: Result : {"Output":{"Name":"External"},"Success":true}
`,
  "processes.txt":
    "\nProcessId   : 3120\nCommandLine : c:\\k\\kubelet.exe --v=6 --node-ip=10.0.0.11 --cluster-domain=cluster.local\n",
  "winver.txt": "Microsoft Windows [Version 10.0.20348.4171]\n",
  "netstat.txt": `
  Proto  Lokale Adresse         Remoteadresse          Status           PID
  TCP    0.0.0.0:10250          0.0.0.0:0              ABHÖREN         3120
  UDP    0.0.0.0:4789           *:*                                    4
`,
  "networks/10.244.1.7": "4a625a2b10a33b0dea96fe8743fb8e13504481ee9f481d179f8e75b8c98611d2\r\neth0",
  "networks/10.244.1.2": "0123456789abcdef0123456789abcdef\r\neth0",
  "sourceVip.json": '{"cniVersion":"0.2.0","ip4":{"ip":"10.244.1.2/24","gateway":"10.244.1.1"},"dns":{}}\n',
  "nodedata.json": JSON.stringify({
    HNSData: { ProcessId: 2212, MemoryUsage: 60, ThreadInfo: [{ ThreadId: 1, ThreadState: "Wait" }] },
    AvailableTCPDynamicPortRanges: 210,
    AvailableUDPDynamicPortRanges: 220,
  }),
  "kubectl.txt": `
NAME      STATUS   ROLES           AGE   VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE                         KERNEL-VERSION    CONTAINER-RUNTIME
linux-1   Ready    control-plane   90d   v1.34.2   10.0.0.10     <none>        Ubuntu 24.04.3 LTS               6.8.0-88          containerd://2.1.5
win-1     Ready    <none>          90d   v1.34.2   10.0.0.11     <none>        Windows Server 2022 Datacenter   10.0.20348.4171   containerd://2.1.5

NAMESPACE      NAME                    READY   STATUS    RESTARTS      AGE   IP           NODE    NOMINATED NODE   READINESS GATES
kube-flannel   kube-flannel-ds-7xk2p   1/1     Running   2 (31d ago)   90d   10.0.0.11    win-1   <none>           <none>
shop           web-1                   1/1     Running   0             90d   10.244.1.7   win-1   <none>           <none>
`,
  "compartments.txt": `
CompartmentId          : 1
CompartmentDescription : Default Compartment

CompartmentId          : 3
CompartmentDescription : \\Container_1
`,
  "w32tm.txt": `
Tracking time.windows.com [20.101.57.9:123].
Collecting 2 samples.
The current time is 11/28/2026 1:00:00 AM.
01:00:00, d:+00.0312500s o:+00.0013862s  [                  *                  ]
01:00:02, d:+00.0312500s o:-00.0001251s  [                  *                  ]
`,
  "session.txt": String.raw`
PS C:\> nslookup kubernetes.default.svc.cluster.local
DNS request timed out.
    timeout was 2 seconds.
Server:  kube-dns.kube-system.svc.cluster.local
Address:  10.96.0.10

Name:    kubernetes.default.svc.cluster.local
Address:  10.96.0.1

PS C:\> Test-NetConnection 10.96.7.7 -Port 80

ComputerName     : 10.96.7.7
RemoteAddress    : 10.96.7.7
RemotePort       : 80
InterfaceAlias   : vEthernet (Ethernet)
PingSucceeded    : False
TcpTestSucceeded : True
`,
  "cni.conflist": JSON.stringify({
    cniVersion: "0.3.1",
    name: "flannel.4096",
    plugins: [
      { type: "flannel", delegate: { type: "win-overlay", apiVersion: 2 }, capabilities: { dns: true } },
    ],
  }),
  "kube-proxy.conf": `apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: kernelspace
winkernel:
  networkName: flannel.4096
  sourceVip: 10.244.1.2
  enableDSR: true
featureGates:
  WinDSR: true
  WinOverlay: true
`,
};

export function healthyNode(): NodeDocuments {
  const dns = [
    { name: "dns", port: 53, protocol: "UDP" },
    { name: "dns-tcp", port: 53, protocol: "TCP" },
  ];
  return {
    kubernetes: [
      node("win-1", "windows", "10.0.0.11", "10.244.1.0/24", "00:15:5d:fb:cb:0d"),
      node("linux-1", "linux", "10.0.0.21", "10.244.2.0/24", "ba:c1:6f:91:17:c7"),
      pod({
        namespace: "shop",
        name: "web-1",
        node: "win-1",
        address: "10.244.1.7",
        labels: { app: "web" },
        ports: [{ containerPort: 8080 }],
      }),
      pod({
        namespace: "kube-system",
        name: "coredns-1",
        node: "linux-1",
        address: "10.244.2.5",
        labels: { "k8s-app": "kube-dns" },
        ports: ["UDP", "TCP"].map((protocol) => ({ containerPort: 53, protocol })),
      }),
      service("kube-system", "kube-dns", "10.96.0.10", dns),
      slice("kube-system", "kube-dns", "10.244.2.5", dns),
      service("shop", "web", "10.96.7.7", [{ name: "http", port: 80, targetPort: 8080 }]),
      slice("shop", "web", "10.244.1.7", [{ name: "http", port: 8080, protocol: "TCP" }]),
      service("default", "kubernetes", "10.96.0.1", [{ name: "https", port: 443 }]),
    ],
    networks: [
      {
        ID: NETWORK,
        Name: "flannel.4096",
        Type: "Overlay",
        ManagementIP: "10.0.0.11",
        NetworkAdapterName: "Ethernet",
        DrMacAddress: "00-15-5D-FB-CB-0D",
        Health: { LastErrorCode: 0 },
        Extensions: [
          {
            Id: "F74F241B-440F-4433-BB28-00F89EAD20D8",
            IsEnabled: true,
            Name: "Microsoft Azure VFP Switch Extension",
          },
        ],
        Subnets: [
          {
            AddressPrefix: "10.244.1.0/24",
            GatewayAddress: "10.244.1.1",
            Policies: [{ Type: "VSID", VSID: 4096 }],
          },
        ],
        Policies: [
          { Type: "HostRoute" },
          {
            Type: "RemoteSubnetRoute",
            DestinationPrefix: "10.244.2.0/24",
            IsolationId: 4096,
            ProviderAddress: "10.0.0.21",
            DistributedRouterMacAddress: "BA-C1-6F-91-17-C7",
          },
        ],
      },
    ],
    endpoints: [
      endpoint(POD, "10.244.1.7", {
        State: 3,
        Namespace: { ID: NAMESPACE },
        Policies: [
          { Type: "OutBoundNAT", ExceptionList: ["10.244.0.0/16", "10.96.0.0/12"] },
          ...structuredClone(ACLS),
        ],
        Resources: { Allocators: [{ CompartmendId: 3, EndpointPortGuid: PORT, Tag: "Endpoint Port" }] },
        DNSServerList: "10.96.0.10",
        DNSSuffix: "shop.svc.cluster.local,svc.cluster.local,cluster.local",
      }),
      endpoint(DNS_POD, "10.244.2.5", { IsRemoteEndpoint: true, State: 1 }),
      endpoint(SOURCE, "10.244.1.2", { State: 1 }),
    ],
    namespaces: [
      {
        ID: NAMESPACE,
        CompartmentId: 3,
        IsDefault: false,
        ResourceList: [{ Type: "Endpoint", Data: { Id: POD } }],
      },
    ],
    loadBalancers: [
      loadBalancer("22222222-0000-4000-8000-000000000001", "10.96.0.10", 17, [53, 53], DNS_POD),
      loadBalancer("22222222-0000-4000-8000-000000000002", "10.96.0.10", 6, [53, 53], DNS_POD),
      loadBalancer("22222222-0000-4000-8000-000000000003", "10.96.7.7", 6, [80, 8080], POD),
    ],
    rules: rulesText([...DSR_RULES, NAT_RULE]),
    services: servicesText({ hns: "Running", kubeproxy: "Running", kubelet: "Running", vfpext: "Running" }),
    excluded: excludedText([[50_000, 50_059]]),
    dynamic:
      "\nProtocol tcp Dynamic Port Range\n---------------------------------\nStart Port      : 49152\nNumber of Ports : 16384\n",
    texts: { ...TEXTS },
  };
}

/** The files of a collector. */
export function filesOf(documents: NodeDocuments): Readonly<Record<string, string>> {
  const json = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
  return {
    "node/objects.json": json({ apiVersion: "v1", kind: "List", items: documents.kubernetes }),
    "node/network.txt": json(documents.networks),
    "node/endpoint.txt": json(documents.endpoints),
    "node/namespaces.txt": json(documents.namespaces),
    "node/policy.txt": json(documents.loadBalancers),
    "node/vfpOutput.txt": documents.rules,
    "node/windowsServices.txt": documents.services,
    "node/excludedportrange.txt": documents.excluded,
    "node/dynamicportrange.txt": documents.dynamic,
    ...Object.fromEntries(Object.entries(documents.texts).map(([name, text]) => [`node/${name}`, text])),
  };
}
