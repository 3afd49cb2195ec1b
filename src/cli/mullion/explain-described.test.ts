// What `kubectl describe` prints of pods and Services, with the template files and folders that people bring along.
import { expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { lint } from "./lint.ts";
import { runMullion } from "./program.ts";

async function run(
  line: string,
  files: Readonly<Record<string, string>>,
): Promise<{ readonly out: string; readonly code: number }> {
  const terminal = new MemoryTerminal(files, 200);
  const argv = line.split(" ");
  const code = await runMullion({ argv, verbs: { lint }, terminal, version: "0", isDebug: true });
  return { out: `${terminal.output}${terminal.errors}`, code };
}

const POD = `[kubeuser@knmaster ~]$ kubectl describe pod iis-6c559f5868-vscxm
Name:               iis-6c559f5868-vscxm
Namespace:          default
Node:               knnode3w/10.244.2.2
Labels:             app=iis
Annotations:        <none>
Status:             Running
IP:
Containers:
  iis:
    Port:           80/TCP
    Host Port:      0/TCP
Events:
  Warning  FailedCreatePodSandBox  40m  kubelet  hcnCreateNetwork failed in Win32: A network with this name already exists. (0x803b0010)
`;

const SERVICE = `Name:                     web
Namespace:                shop
Labels:                   <none>
Selector:                 app=web
Type:                     NodePort
IP:                       10.96.7.7
Port:                     http  80/TCP
TargetPort:               8080/TCP
NodePort:                 http  30080/TCP
Endpoints:                <none>
Session Affinity:         None
`;

it("explain --log says of a described pod where it is and that it has no address", async () => {
  const { out } = await run("explain --log pod.txt", { "pod.txt": POD });
  expect(out).toContain(
    "Pod default/iis-6c559f5868-vscxm on node knnode3w (10.244.2.2): no address; ports 80/TCP; Running",
  );
  expect(out).toContain("0x803b0010");
});

it("explain --log says of a described Service what it leads to", async () => {
  const { out } = await run("explain --log service.txt -o json", { "service.txt": SERVICE });
  expect(JSON.parse(out)).toMatchObject({
    described: [
      {
        kind: "Service",
        namespace: "shop",
        name: "web",
        type: "NodePort",
        addresses: ["10.96.7.7"],
        ports: ["80/TCP", "node port 30080/TCP"],
        endpoints: [],
      },
    ],
  });
  const full = SERVICE.replace("<none>\nSession", "10.244.1.5:8080,10.244.2.9:8080\nSession");
  const { out: text } = await run("explain --log service.txt", { "service.txt": full });
  expect(text).toContain("endpoints 10.244.1.5:8080, 10.244.2.9:8080; NodePort");
});

const CALICO_TEMPLATE = `{
  "name": "Calico",
  "windows_use_single_network": true,
  "cniVersion": "0.3.1",
  "type": "calico",
  "mode": "__MODE__",
  "vxlan_vni": __VNI__,
  "windows_loopback_DSR": __DSR_SUPPORT__,
  "DNS": { "Nameservers": [__DNS_NAME_SERVERS__], "Search": ["svc.cluster.local"] }
}
`;
const HYBRID_TEMPLATE = `{
  "CniVersion": "0.2.0",
  "Name": "OVNKubernetesHybridOverlayNetwork",
  "Type": "win-overlay",
  "apiVersion": 2,
  "Ipam": { "Type": "host-local", "Subnet": "{{ .OvnHostSubnet }}" },
  "Policies": [{ "Name": "EndpointPolicy", "Value": { "Type": "OutBoundNAT", "Settings": { "Exceptions": ["{{ .ServiceNetworkCIDR }}"] } } }]
}
`;

it.each([
  ["cni.conf.template", CALICO_TEMPLATE],
  ["10-calico.conf.template", CALICO_TEMPLATE.replace("__MODE__", "vxlan")],
  ["cni.template", HYBRID_TEMPLATE],
])("lint finds no broken JSON in the template %s", async (name, text) => {
  const { out } = await run(`lint ${name}`, { [name]: text });
  expect(out).not.toMatch(/json-invalid|manifest-invalid-yaml/u);
});
