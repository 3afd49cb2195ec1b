/** Examples of the rules of `cni-structure.ts`. */
import { type ExampleTable, oneFile } from "../example-input.ts";

const POLICIES = `"policies": [
    {
      "name": "EndpointPolicy",
      "value": {
        "Type": "OutBoundNAT",
        "Settings": { "Exceptions": ["10.244.0.0/16", "10.96.0.0/12"] }
      }
    }
  ]`;

const OVERLAY = `{
  "cniVersion": "1.0.0",
  "name": "vxlan0",
  "type": "win-overlay",
  "apiVersion": 2,
  "ipMasq": true,
  "endpointMacPrefix": "0E-2A",
  "capabilities": { "dns": true },
  ${POLICIES},
  "ipam": { "type": "host-local", "subnet": "10.244.5.0/24" }
}
`;

const NAT = `{
  "cniVersion": "1.0.0",
  "name": "nat",
  "type": "nat",
  "capabilities": { "portMappings": true, "dns": true },
  "ipam": { "subnet": "172.24.32.0/20", "routes": [{ "GW": "172.24.32.1" }] }
}
`;

function list(...plugins: readonly string[]): string {
  return `{
  "cniVersion": "1.0.0",
  "name": "nat",
  "plugins": [
    { "type": "nat", "capabilities": { "portMappings": true, "dns": true } }${plugins.join("")}
  ]
}
`;
}

export const CNI_STRUCTURE_EXAMPLES: ExampleTable = {
  "cni-conf-folder-order": {
    bad: {
      files: [
        { name: "cni/conf/0-containerd-nat.conf", text: NAT },
        { name: "cni/conf/10-vxlan0.conf", text: OVERLAY.replace('"name": "vxlan0"', '«"name": "vxlan0"') },
      ],
    },
    good: {
      files: [
        { name: "cni/conf/10-vxlan0.conf", text: OVERLAY },
        { name: "docker/cni/backup/0-containerd-nat.conf", text: NAT },
      ],
    },
  },
  "cni-file-ending-mismatch": {
    bad: {
      files: [
        { name: "a/10-nat.conf", text: list().replace('"plugins"', '«"plugins"') },
        { name: "b/10-nat.conflist", text: NAT.replace('"type"', '«"type"') },
      ],
    },
    good: oneFile("10-nat.conflist", list()),
  },
  "cni-name-invalid": {
    bad: {
      files: [
        { name: "a/nat.conf", text: NAT.replace('"name": "nat"', '"name": «"my nat"') },
        { name: "b/nat.conf", text: `«${NAT.replace('  "name": "nat",\n', "")}` },
      ],
    },
    good: oneFile("nat.conf", NAT),
  },
  "cni-version-not-supported": {
    bad: {
      files: [
        { name: "a/nat.conf", text: NAT.replace('"1.0.0"', '«"1.1.0"') },
        { name: "b/nat.conf", text: `«${NAT.replace('  "cniVersion": "1.0.0",\n', "")}` },
        { name: "c/vxlan0.conf", text: OVERLAY.replace('"1.0.0"', '«"0.3.2"') },
      ],
    },
    good: oneFile("vxlan0.conf", OVERLAY.replace('"1.0.0"', '"1.1.0"')),
  },
  "cni-plugin-name-outdated": {
    bad: oneFile("l2.conf", NAT.replace('"type": "nat"', '"type": «"wincni.exe"')),
    good: oneFile("nat.conf", NAT),
  },
  "cni-linux-plugin-on-windows": {
    bad: oneFile("10-nat.conflist", list(',\n    { "type": «"portmap" }')),
    good: oneFile("10-nat.conflist", list()),
  },
  "cni-capability-unknown": {
    bad: oneFile("nat.conf", NAT.replace('"dns": true', '«"dnsCapabilities": true')),
    good: oneFile("nat.conf", NAT),
  },
  "cni-field-ignored": {
    bad: {
      files: [
        { name: "a/nat.conf", text: NAT.replace('"ipam"', '«"policies": [],\n  "ipam"') },
        { name: "b/vxlan0.conf", text: OVERLAY.replace('"ipam"', '«"AdditionalArgs": [],\n  "ipam"') },
      ],
    },
    good: oneFile("vxlan0.conf", OVERLAY),
  },
  "cni-api-version-missing": {
    bad: oneFile("vxlan0.conf", `«${OVERLAY.replace('  "apiVersion": 2,\n', "")}`),
    good: oneFile("vxlan0.conf", OVERLAY),
  },
  "cni-endpoint-mac-prefix-invalid": {
    bad: oneFile("vxlan0.conf", OVERLAY.replace('"0E-2A"', '«"0E:2A"')),
    good: oneFile("vxlan0.conf", OVERLAY),
  },
};
