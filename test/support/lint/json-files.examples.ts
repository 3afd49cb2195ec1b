/** Examples of the rules of `json-files.ts`. */
import { type ExampleTable, oneFile } from "./example-input.ts";

const GOOD = oneFile(
  "net-conf.json",
  `{
  "Network": "10.244.0.0/16",
  "Backend": { "Type": "vxlan", "VNI": 4096, "Port": 4789 }
}
`,
);

export const JSON_FILE_EXAMPLES: ExampleTable = {
  "json-no-break-space": {
    bad: oneFile(
      "net-conf.json",
      `{
«\u00a0\u00a0"Network": "10.244.0.0/16",
\u00a0\u00a0"Backend": { "Type": "host-gw" }
}
`,
    ),
    good: GOOD,
  },
  "json-byte-order-mark": {
    bad: oneFile(
      "net-conf.json",
      '\uFEFF«{ "Network": "10.244.0.0/16", "Backend": { "Type": "host-gw" } }\n',
    ),
    good: GOOD,
  },
  "json-comment": {
    bad: oneFile(
      "net-conf.json",
      `{
  «// pods
  "Network": "10.244.0.0/16",
  "Backend": { "Type": "host-gw" «/* routes */ }
}
`,
    ),
    good: GOOD,
  },
  "json-trailing-comma": {
    bad: oneFile(
      "net-conf.json",
      `{
  "Network": "10.244.0.0/16",
  "Backend": { "Type": "host-gw" }«,
}
`,
    ),
    good: GOOD,
  },
  "json-duplicate-key": {
    bad: oneFile(
      "net-conf.json",
      `{
  "Network": "10.244.0.0/16",
  "Backend": { "Type": "host-gw" },
  «"Network": "10.10.0.0/16"
}
`,
    ),
    good: GOOD,
  },
  "json-invalid": {
    bad: oneFile(
      "net-conf.json",
      `{
  "Network": "10.244.0.0/16"
  «"Backend": { "Type": "host-gw" }
}
`,
    ),
    good: GOOD,
  },
  "placeholder-left": {
    bad: oneFile(
      "net-conf.json",
      `{
  "Network": «"__POD_CIDR__",
  "Backend": { "Type": "host-gw", "Name": «"<network>" }
}
`,
    ),
    good: GOOD,
  },
  "path-with-control-character": {
    bad: oneFile(
      "10-cbr0.conf",
      String.raw`{
  "cniVersion": "0.3.1",
  "name": "cbr0",
  "type": "flannel",
  "capabilities": { "dns": true },
  "subnetFile": «"C:\run\flannel\net.env"
}
`,
    ),
    good: oneFile(
      "10-cbr0.conf",
      String.raw`{
  "cniVersion": "0.3.1",
  "name": "cbr0",
  "type": "flannel",
  "capabilities": { "dns": true },
  "subnetFile": "C:\\run\\flannel\\net.env"
}
`,
    ),
  },
};
