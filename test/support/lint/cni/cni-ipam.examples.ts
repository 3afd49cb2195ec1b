/** Examples of the rules of `cni-ipam.ts`. */
import { type ExampleTable, oneFile } from "../example-input.ts";

function cni(type: string, ipam: string): string {
  const api = type.startsWith("win") ? '"apiVersion": 2,\n  ' : "";
  return `{
  "cniVersion": "1.0.0",
  "name": "network",
  "type": "${type}",
  ${api}"capabilities": { "dns": true },
  "ipam": { ${ipam} }
}
`;
}

const HOST_LOCAL = '"type": "host-local",';
const GOOD = oneFile(
  "bridge.conf",
  cni("win-bridge", `${HOST_LOCAL} "subnet": "10.244.5.0/24", "rangeStart": "10.244.5.3"`),
);

export const CNI_IPAM_EXAMPLES: ExampleTable = {
  "ipam-range-invalid": {
    bad: {
      files: [
        { name: "a.conf", text: cni("win-overlay", `${HOST_LOCAL} "subnet": «"10.244.5.1/24"`) },
        {
          name: "b.conf",
          text: cni(
            "win-overlay",
            `${HOST_LOCAL} "ranges": [[{ "subnet": "10.244.5.0/24", "rangeStart": «"10.244.6.3" }]]`,
          ),
        },
        { name: "c.conf", text: cni("win-overlay", `${HOST_LOCAL} "subnet": «"10.244.5.0/31"`) },
        {
          name: "d.conf",
          text: cni(
            "win-overlay",
            `${HOST_LOCAL} "subnet": "10.244.5.0/24", "rangeStart": «"10.244.5.99", "rangeEnd": "10.244.5.9"`,
          ),
        },
      ],
    },
    good: GOOD,
  },
  "cni-ipam-subnet-missing": {
    bad: oneFile("bridge.conf", cni("win-bridge", '"type": "host-local"').replace('"ipam"', '«"ipam"')),
    good: GOOD,
  },
  "cni-gateway-is-network-plus-two": {
    bad: {
      files: [
        { name: "a.conf", text: cni("win-bridge", `${HOST_LOCAL} «"subnet": "10.244.5.0/24"`) },
        {
          name: "b.conf",
          text: cni("win-bridge", `${HOST_LOCAL} "subnet": "10.244.5.0/24", "rangeStart": «"10.244.5.2"`),
        },
      ],
    },
    good: GOOD,
  },
  "cni-ipam-fields-lost": {
    bad: oneFile(
      "bridge.conf",
      cni(
        "sdnbridge",
        `${HOST_LOCAL} «"ranges": [[{ "subnet": "10.244.5.0/24" }]], «"dataDir": "C:\\\\ipam"`,
      ),
    ),
    good: oneFile("bridge.conf", cni("sdnbridge", `${HOST_LOCAL} "subnet": "10.244.5.0/24"`)),
  },
  "cni-ipam-route-gateway-ignored": {
    bad: oneFile(
      "nat.conf",
      cni("nat", '"subnet": "172.24.32.0/20", "routes": [{ «"gateway": "172.24.32.2" }]'),
    ),
    good: oneFile(
      "nat.conf",
      cni(
        "nat",
        '"subnet": "172.24.32.0/20", "routes": [{ "GW": "172.24.32.2" }, { "gateway": "172.24.32.1" }]',
      ),
    ),
  },
  "cni-overlay-ipv6": {
    bad: oneFile(
      "overlay.conf",
      cni(
        "win-overlay",
        `${HOST_LOCAL} "ranges": [[{ "subnet": "10.244.5.0/24" }], [{ "subnet": «"fd00:10::/64" }]]`,
      ),
    ),
    good: oneFile("overlay.conf", cni("win-overlay", `${HOST_LOCAL} "subnet": "10.244.5.0/24"`)),
  },
};
