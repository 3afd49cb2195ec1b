// `mullion lint` over parts of documents, as people keep and paste them.
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";

async function run(file: string, text: string): Promise<{ readonly code: number; readonly out: string }> {
  return runAll({ [file]: text });
}

async function runAll(
  files: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly out: string }> {
  const terminal = new MemoryTerminal(files, 200);
  const argv = ["lint", ...Object.keys(files)];
  const code = await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output + terminal.errors };
}

describe("a list of HNS policies", () => {
  it.each([
    [
      "one of v1",
      '{"Type":"ACL","Action":"Block","Direction":"Out","LocalAddresses":"Any","RuleType":"Switch"}',
      "1:67: error: hns-acl-invalid (an HNS policy)",
    ],
    [
      "several, with the bracket before the brace",
      '[{"Type": "OutBoundNAT", "ExceptionList": ["10.96.0.0/12"]},\n {"Type": "ACL", "Action": "Block", "Direction": "In", "RemoteAddresses": "Any"}]',
      "2:75: error: hns-acl-invalid (a list of HNS policies)",
    ],
    [
      "of v2",
      '[{"Type": "OutBoundNAT", "Settings": {"Exceptions": ["172.17.0.1/16"]}}]',
      "1:54: error: hns-prefix-host-bits (a list of HNS policies)",
    ],
  ])("%s", async (_, text, finding) => {
    expect((await run("policies.json", text)).out).toContain(`policies.json:${finding}`);
  });

  it("that is right draws nothing", async () => {
    const text =
      '[{"Type": "OutBoundNAT", "ExceptionList": ["10.96.0.0/12", "192.168.0.0/16"]}, {"Type": "ROUTE", "DestinationPrefix": "10.96.0.0/12", "NeedEncap": true}, {"Type": "PA", "PA": "10.1.0.5"}]';
    expect((await run("policies.json", text)).out).toContain("1 document in 1 file checked: nothing found");
  });
});

describe("a spec without its object", () => {
  it.each([
    [
      "of a pod",
      "pod.yaml",
      "nodeSelector: { kubernetes.io/os: windows }\nhostNetwork: true\ncontainers:\n  - name: web\n    image: registry.example/web:1\n",
      "pod.yaml:2:1: error: host-network-unsupported (spec of a Pod)",
    ],
    [
      "of a Deployment",
      "deployment.yaml",
      "selector: { matchLabels: { app: web } }\ntemplate:\n  metadata: { labels: { app: web } }\n  spec:\n    nodeSelector: { kubernetes.io/os: windows }\n    hostNetwork: true\n    containers: [{ name: web, image: registry.example/web:1 }]\n",
      "deployment.yaml:6:5: error: host-network-unsupported (spec of a Deployment)",
    ],
  ])("%s", async (_, file, text, finding) => {
    expect((await run(file, text)).out).toContain(finding);
  });

  it.each([
    ["a Service", "svc.json", '{"selector": {"app": "web"}, "ports": [{"port": 80}]}'],
    ["a Node", "node.json", '{"podCIDR": "10.244.1.0/24"}'],
    [
      "an operator's network",
      "net.json",
      '{"type": "OVNKubernetes", "ovnKubernetesConfig": {"mtu": 1400, "hybridOverlayConfig": {"hybridOverlayVXLANPort": 9898}}}',
    ],
    ["Calico's operator", "calico.json", '{"calicoNetwork": {"bgp": "Disabled"}}'],
    [
      "annotations of a Node",
      "annotation.json",
      'flannel.alpha.coreos.com/backend-data: {"VNI":4096,"VtepMAC":"00:15:5d:d5:db:a5"}\n',
    ],
  ])("of %s is read", async (_, file, text) => {
    expect((await run(file, text)).out).toContain("1 document in 1 file checked");
  });

  const HYBRID =
    "spec:\n  defaultNetwork:\n    ovnKubernetesConfig:\n      hybridOverlayConfig: { hybridOverlayVXLANPort: 9898 }\n";
  it.each([
    ["of oc patch, with its name", "patch.yaml", HYBRID],
    [
      "off a screen, with what was typed",
      "svc.txt",
      'PS C:\\> k get svc web -o=jsonpath=\'{.spec}\'\n{"selector": {"app": "web"}, "ports": [{"port": 80}]}\nPS C:\\>\n',
    ],
    [
      "of annotations, with their name",
      "node.yaml",
      '  annotations:\n    flannel.alpha.coreos.com/backend-type: vxlan\n    flannel.alpha.coreos.com/kube-subnet-manager: "true"\n',
    ],
    [
      "of a CNI configuration",
      "part.json",
      '"policies": [{"Name": "EndpointPolicy", "Value": {"Type": "OutBoundNAT", "ExceptionList": ["10.42.0.0/16"]}}]\n',
    ],
  ])("%s is read", async (_, file, text) => {
    expect((await run(file, text)).out).toContain("1 document in 1 file checked: nothing found");
  });

  it("a fault in a part that stands under a name is shown at its line", async () => {
    const text = "spec:\n  calicoNetwork:\n    windowsDataplane: HNS\n    bgp: Disabled\n";
    expect((await run("installation.yaml", text)).out).toContain(
      "installation.yaml:3:5: error: calico-service-ranges-missing (spec of an Installation)",
    );
  });

  it("an encapsulation that Calico's operator does not carry out on Windows is found", async () => {
    const pools = "ipPools: [{ cidr: 192.168.0.0/16, encapsulation: VXLANCrossSubnet }]";
    const text = `calicoNetwork:\n  windowsDataplane: HNS\n  ${pools}\nserviceCIDRs: [10.96.0.0/12]\n`;
    expect((await run("installation.yaml", text)).out).toContain("calico-encapsulation-unsupported");
  });

  it("other YAML stays what it is", async () => {
    const { code, out } = await run("compose.yaml", "services:\n  web: { image: web, ports: ['80:80'] }\n");
    expect(code).toBe(2);
    expect(out).toContain("not a document that lint reads");
  });

  it("what a chart and a kustomization are rendered from says how", async () => {
    const chart = await run("Chart.yaml", "apiVersion: v2\nname: shop\nversion: 0.1.0\n");
    expect(chart.out).toMatch(/a part of a Helm chart: helm template \S+ \| mullion lint -/);
    const overlay = await run("kustomization.yaml", "resources: [../base]\n");
    expect(overlay.out).toMatch(/a kustomization: kubectl kustomize \S+ \| mullion lint -/);
  });
});

const LISTED = `
ActivityId             : 0481DD58-698B-4829-8FF7-02407876752E
ID                     : 777F0851-EF37-4D73-BAE3-8F3464294CCB
Name                   : nat
Policies               : {}
State                  : 1
Subnets                : {@{AddressPrefix=172.27.16.0/20; GatewayAddress=172.27.16.1}}
Type                   : nat

ActivityId             : 0481DD58-698B-4829-8FF7-02407876752F
ID                     : 777F0851-EF37-4D73-BAE3-8F3464294CCC
Name                   : azure
Policies               : {}
State                  : 1
Subnets                : {@{AddressPrefix=10.240.0.0/12; GatewayAddress=10.240.0.1}}
Type                   : l2bridge
`;

const DESCRIBED = `Name:               win-1
Roles:              <none>
Labels:             kubernetes.io/os=windows
                    kubernetes.io/hostname=win-1
Annotations:        flannel.alpha.coreos.com/backend-data: {"VNI":1,"VtepMAC":"00:15:5d:d5:db:a5"}
                    flannel.alpha.coreos.com/backend-type: vxlan
System Info:
  OS Image:                   Windows Server 2019 Datacenter
  Kernel Version:             10.0.17763.6293
  Operating System:           windows
  Kubelet Version:            v1.28.3
  Kube-Proxy Version:         v1.28.3
PodCIDR:                      10.244.1.0/24
`;

const POD = `Name:             web
Namespace:        shop
Priority:         0
Service Account:  default
Node:             win-1/10.0.0.4
Start Time:       Thu, 13 Apr 2023 21:25:29 +0800
Labels:           app=web
                  pod-template-hash=bb44b9dff
Annotations:      <none>
Status:           Pending
IP:               10.244.1.7
IPs:
  IP:           10.244.1.7
Controlled By:  ReplicaSet/web-bb44b9dff
Containers:
  web:
    Container ID:   containerd://db6de88836b083e7f3f8cbe1d0e6e8ca
    Image:          mcr.microsoft.com/windows/servercore/iis:windowsservercore-ltsc2019
    Ports:          80/TCP, 443/TCP (tls)
    Host Ports:     8080/TCP, 0/TCP (tls)
    State:          Running
      Started:      Thu, 13 Apr 2023 21:55:01 +0800
    Ready:          True
    Environment:    <none>
  side:
    Container ID:
    Image:          busybox:1.36
    Port:           <none>
    Host Port:      <none>
    State:          Waiting
      Reason:       ErrImagePull
    Ready:          False
Conditions:
  Type              Status
  Initialized       True
Node-Selectors:  kubernetes.io/os=windows
Tolerations:     node.kubernetes.io/not-ready:NoExecute op=Exists for 300s
Events:
  Type     Reason  Age  From     Message
  Warning  Failed  1s   kubelet  Error: ErrImagePull
`;

describe("what a command shows on a screen", () => {
  it("PowerShell's list of networks is read, one document each", async () => {
    expect((await run("networks.txt", LISTED)).out).toContain("2 documents in 1 file checked: nothing found");
  });

  it("PowerShell's table of networks is read, and a column that was not asked for is no fault", async () => {
    const text = [
      "PS C:\\k> Get-HnsNetwork | ft Name, Type, ID",
      "",
      "Name         Type    ID",
      "----         ----    --",
      "vxlan0       Overlay 777F0851-EF37-4D73-BAE3-8F3464294CCD",
      "nat          nat     777F0851-EF37-4D73-BAE3-8F3464294CCE",
    ].join("\n");
    expect((await run("networks.txt", text)).out).toContain("2 documents in 1 file checked: nothing found");
  });

  it.each([
    "$ kubectl describe node win-1",
    "[kube@master ~]$ kubectl describe node win-1",
    "D:\\kubernetes>kubectl describe node win-1",
    "~ $ oc describe node/win-1",
    "kubectl describe node win-1",
  ])("kubectl describe node below %s gives the Node", async (typed) => {
    expect((await run("node.txt", `${typed}\n${DESCRIBED}`)).out).toContain("Kubernetes 1.28");
  });

  it("kubectl describe node gives the Node, with its build and its version", async () => {
    const { out } = await run("node.txt", DESCRIBED);
    expect(out).toContain("1 document in 1 file checked");
    expect(out).toContain("Windows Server 2019");
    expect(out).toContain("Kubernetes 1.28");
  });

  it("kubectl describe service gives the Service, with the lines of its fields", async () => {
    const text = `$ kubectl describe service web -n shop
Name:                     web
Namespace:                shop
Labels:                   <none>
Selector:                 app=web,tier=front
Type:                     NodePort
IP:                       10.96.7.7
Port:                     http  80/TCP
TargetPort:               8080/TCP
NodePort:                 http  30080/TCP
Port:                     <unset>  5060/SCTP
TargetPort:               sip/SCTP
Endpoints:                <none>
Session Affinity:         ClientIP
External Traffic Policy:  Cluster
`;
    const { out } = await runAll({ "node.txt": DESCRIBED, "service.txt": text });
    expect(out).toContain("2 documents in 2 files checked");
    expect(out).toContain("service.txt:14:1: warning: session-affinity-unsupported (Service web as kubectl");
    expect(out).toContain("service.txt:8:1: warning: service-sctp-unsupported");
    expect(out).toContain("no connection to port 5060");
  });

  const WIN_OVERLAY =
    '{"cniVersion":"0.2.0","name":"vxlan0","type":"win-overlay","ipam":{"type":"host-local","subnet":"10.244.1.0/24"},"dns":{"nameservers":["10.96.0.10"]},"capabilities":{"dns":true}}';

  it("kubectl describe pod gives the Pod, with the lines of its containers", async () => {
    const { out } = await runAll({ "pod.txt": POD, "node.txt": DESCRIBED, "cni.conf": WIN_OVERLAY });
    expect(out).toContain("3 documents in 3 files checked");
    expect(out).toContain("pod.txt:20:1: warning: host-port-ignored (Pod web as kubectl describes it)");
    expect(out).toContain("hostPort 8080 stays closed");
    expect(out).toContain("pod.txt:27:1: error: linux-image-on-windows-node");
  });

  it("a pod that runs is not judged by its image, and one that waits not by what nodes there are", async () => {
    const running = POD.replace(
      "State:          Waiting\n      Reason:       ErrImagePull",
      "State:          Running",
    );
    expect((await runAll({ "pod.txt": running, "node.txt": DESCRIBED })).out).not.toContain("linux-image");
    const waiting = POD.replace("win-1/10.0.0.4", "<none>").replace(
      /^Node-Selectors.*$/mu,
      "Node-Selectors:  disk=ssd",
    );
    expect((await runAll({ "pod.txt": waiting, "node.txt": DESCRIBED })).out).not.toMatch(
      /unschedulable|selector/u,
    );
  });

  it("several pods and nodes below each other are as many objects", async () => {
    const { out } = await run("all.txt", `${DESCRIBED}\n\n${POD}\n\n${POD.replace("web", "api")}`);
    expect(out).toContain("3 documents in 1 file checked");
    expect(out).toContain("all.txt:77:1: error: host-port-conflict (Pod api");
    expect(out).toContain("belongs to Pod web as kubectl describes it already");
  });

  // A HostProcess pod, or one with hostNetwork: the description says neither.
  it("a pod with the address of its node is not judged", async () => {
    const { code, out } = await run("pod.txt", POD.replace("10.244.1.7", "10.0.0.4"));
    expect(code).toBe(2);
    expect(out).toContain("a pod with its node's address");
  });

  it("kubectl describe of another kind is named for what it is", async () => {
    const text =
      "Name:         web\nNamespace:    default\nLabels:       app=web\nReplicas:     1\nEvents:\n";
    const { code, out } = await run("deployment.txt", text);
    expect(code).toBe(2);
    expect(out).toContain("kubectl describe");
    expect(out).toContain("explain --log");
  });
});
