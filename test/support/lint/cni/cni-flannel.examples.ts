/** Examples of the rules of `cni-flannel.ts`. */
import { type ExampleTable, oneFile } from "../example-input.ts";

const GOOD = `{
  "cniVersion": "0.3.1",
  "name": "flannel.4096",
  "type": "flannel",
  "capabilities": { "dns": true },
  "delegate": {
    "type": "win-overlay",
    "apiVersion": 2
  }
}
`;

const NET_CONF = `{
  "Network": "10.244.0.0/16",
  "Backend": { "Type": "vxlan", "VNI": 4096, "Port": 4789 }
}
`;

export const CNI_FLANNEL_EXAMPLES: ExampleTable = {
  "cni-flannel-field-misplaced": {
    bad: oneFile(
      "10-flannel.conf",
      GOOD.replace('"delegate"', '«"dns": { "nameservers": ["10.96.0.10"] },\n  "delegate"').replace(
        '"apiVersion": 2',
        '"apiVersion": 2,\n    «"capabilities": { "dns": true }',
      ),
    ),
    good: oneFile("10-flannel.conf", GOOD),
  },
  "cni-flannel-delegate-field-forbidden": {
    bad: oneFile(
      "10-flannel.conf",
      GOOD.replace('"apiVersion": 2', '"apiVersion": 2,\n    «"ipam": { "type": "host-local" }'),
    ),
    good: oneFile("10-flannel.conf", GOOD),
  },
  "cni-network-name-mismatch": {
    bad: {
      files: [
        { name: "10-flannel.conf", text: GOOD.replace('"flannel.4096"', '«"vxlan0"') },
        { name: "net-conf.json", text: NET_CONF },
      ],
    },
    good: {
      files: [
        { name: "10-flannel.conf", text: GOOD },
        { name: "net-conf.json", text: NET_CONF },
      ],
    },
  },
};
