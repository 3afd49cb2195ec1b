/** Examples of the rules of `cni-pods.ts`. */
import { type ExampleTable, oneFile } from "../example-input.ts";

function bridge(fields: string): string {
  return `{
  "cniVersion": "1.0.0",
  "name": "l2",
  "type": "win-bridge",
  "apiVersion": 2,
  ${fields}
  "ipam": { "type": "host-local", "subnet": "10.244.5.0/24", "rangeStart": "10.244.5.3" }
}
`;
}

function overlay(capabilities: string): string {
  return `{
  "cniVersion": "0.3.1",
  "name": "vxlan0",
  "type": "flannel",
  "capabilities": { ${capabilities} },
  "delegate": { "type": "win-overlay", "apiVersion": 2 }
}
`;
}

const POD = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  os: { name: windows }
  containers:
    - name: web
      image: registry.example/web:1
      ports: [{ containerPort: 80, hostPort: 8080 }]
`;

export const CNI_POD_EXAMPLES: ExampleTable = {
  "cni-dns-missing": {
    bad: oneFile("l2.conf", `«${bridge('"capabilities": { "portMappings": true },')}`),
    good: oneFile("l2.conf", bridge('"capabilities": { "dns": true },')),
  },
  "cni-dns-capability-missing": {
    bad: oneFile(
      "l2.conf",
      bridge('«"dns": { "nameservers": ["10.96.0.10"], "search": ["default.svc.cluster.local"] },'),
    ),
    good: oneFile(
      "l2.conf",
      bridge(
        '"capabilities": { "dns": true },\n  "dns": { "nameservers": ["10.96.0.10"], "search": ["svc.cluster.local"] },',
      ),
    ),
  },
  "cni-dns-invalid": {
    bad: oneFile(
      "l2.conf",
      bridge(
        '"capabilities": { "dns": true },\n  "dns": { "nameservers": [«"kube-dns"], «"searches": ["svc.cluster.local"] },',
      ),
    ),
    good: oneFile(
      "l2.conf",
      bridge(
        '"capabilities": { "dns": true },\n  "dns": { "Nameservers": ["10.96.0.10"], "Search": ["svc.cluster.local"] },',
      ),
    ),
  },
  "cni-port-mappings-ignored": {
    bad: oneFile("vxlan0.conf", overlay('"dns": true, «"portMappings": true')),
    good: oneFile("vxlan0.conf", overlay('"dns": true')),
  },
  "cni-port-mappings-missing": {
    bad: {
      files: [
        { name: "l2.conf", text: `«${bridge('"capabilities": { "dns": true },')}` },
        { name: "pod.yaml", text: POD },
      ],
    },
    good: oneFile("l2.conf", bridge('"capabilities": { "dns": true },')),
  },
};
