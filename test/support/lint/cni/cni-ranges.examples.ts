/** Examples of the rules of `cni-ranges.ts`. */
import type { ExampleTable } from "../example-input.ts";

const KUBEADM = `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
networking:
  podSubnet: 10.244.0.0/16
  serviceSubnet: 10.96.0.0/12
`;

function overlay(exceptions: string, route = "10.96.0.0/12", needEncap = "true", mark = ""): string {
  return `{
  "cniVersion": "1.0.0",
  "name": "vxlan0",
  "type": "win-overlay",
  "apiVersion": 2,
  "capabilities": { "dns": true },
  ${mark}"policies": [
    {
      "Name": "EndpointPolicy",
      "Value": {
        "Type": "OutBoundNAT",
        "Settings": { ${exceptions} }
      }
    },
    {
      "Name": "EndpointPolicy",
      "Value": {
        "Type": "SDNRoute",
        "Settings": { "DestinationPrefix": "${route}", "NeedEncap": ${needEncap} }
      }
    }
  ],
  "ipam": { "type": "host-local", "subnet": "10.244.5.0/24" }
}
`;
}

function both(cni: string): { files: readonly { name: string; text: string }[] } {
  return {
    files: [
      { name: "vxlan0.conf", text: cni },
      { name: "kubeadm.yaml", text: KUBEADM },
    ],
  };
}

const GOOD = both(overlay('"Exceptions": ["10.244.0.0/16", "10.96.0.0/12"]'));

const WITH_NODE = `{
      "Name": "EndpointPolicy",
      "Value": {
        "Type": "SDNRoute",
        "Settings": { "DestinationPrefix": "10.127.130.38/32", "NeedEncap": true }
      }
    },
    {
      "Name": "EndpointPolicy",
      "Value": {
        "Type": "OutBoundNAT",`;

export const CNI_RANGE_EXAMPLES: ExampleTable = {
  "cni-exception-list-without-services": {
    bad: both(overlay('«"Exceptions": ["10.244.0.0/16"]')),
    good: GOOD,
  },
  "cni-exception-list-without-pods": {
    bad: both(overlay('«"Exceptions": ["10.96.0.0/12"]')),
    good: GOOD,
  },
  "cni-exception-list-external": {
    bad: both(overlay('"Exceptions": ["10.244.0.0/16", "10.96.0.0/12", «"8.8.8.8/32", «"0.0.0.0/0"]')),
    good: GOOD,
  },
  "cni-exception-list-lan": {
    bad: both(
      overlay('"Exceptions": ["10.244.0.0/16", "10.96.0.0/12", «"10.127.130.0/24"]').replace(
        /\{\s+"Name": "EndpointPolicy",\s+"Value": \{\s+"Type": "OutBoundNAT",/,
        WITH_NODE,
      ),
    ),
    good: GOOD,
  },
  "cni-service-route-missing": {
    bad: both(overlay('"Exceptions": ["10.244.0.0/16", "10.96.0.0/12"]', "10.0.0.7/32", "true", "«")),
    good: GOOD,
  },
  "cni-route-need-encap": {
    bad: both(overlay('"Exceptions": ["10.244.0.0/16", "10.96.0.0/12"]', "10.96.0.0/12", '«"true"')),
    good: GOOD,
  },
};
