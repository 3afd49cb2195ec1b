/** Examples of the rules of `cni-policies.ts`. */
import { type ExampleTable, oneFile } from "../example-input.ts";

function overlay(policies: string, apiVersion = '"apiVersion": 2,'): string {
  return `{
  "cniVersion": "1.0.0",
  "name": "vxlan0",
  "type": "win-overlay",
  ${apiVersion}
  "capabilities": { "dns": true },
  "policies": [
    ${policies}
  ],
  "ipam": { "type": "host-local", "subnet": "10.244.5.0/24" }
}
`;
}

const NAT = `{
      "Name": "EndpointPolicy",
      "Value": {
        "Type": "OutBoundNAT",
        "Settings": { "Exceptions": ["10.244.0.0/16", "10.96.0.0/12"] }
      }
    }`;

const FLAT = `{
      "Name": "EndpointPolicy",
      "Value": {
        "Type": "OutBoundNAT",
        «"ExceptionList": ["10.244.0.0/16", "10.96.0.0/12"]
      }
    }`;

export const CNI_POLICY_EXAMPLES: ExampleTable = {
  "cni-policy-shape-mismatch": {
    bad: {
      files: [
        { name: "a/vxlan0.conf", text: overlay(FLAT) },
        { name: "b/vxlan0.conf", text: overlay(NAT.replace('"Settings"', '«"Settings"'), "") },
        { name: "c/vxlan0.conf", text: overlay(NAT.replace('"Exceptions"', '«"ExceptionList"')) },
      ],
    },
    good: oneFile("vxlan0.conf", overlay(NAT)),
  },
  "cni-policy-unknown": {
    bad: {
      files: [
        { name: "a/vxlan0.conf", text: overlay(NAT.replace('"OutBoundNAT"', '«"OutboundSNAT"')) },
        {
          name: "b/vxlan0.conf",
          text: overlay(NAT.replace('"Name": "EndpointPolicy"', '«"Name": "Policy"')),
        },
      ],
    },
    good: oneFile("vxlan0.conf", overlay(NAT)),
  },
  "hns-prefix-host-bits": {
    bad: {
      files: [
        {
          name: "vxlan0.conf",
          text: overlay(NAT.replace('"10.244.0.0/16"', '«"10.244.5.1/16"')),
        },
        {
          name: "network.json",
          text: `{
  "Type": "L2Bridge",
  "Name": "cbr0",
  "Subnets": [{ "AddressPrefix": «"10.244.5.1/24", "GatewayAddress": "10.244.5.1" }]
}
`,
        },
      ],
      profile: "ws2022",
    },
    good: oneFile("vxlan0.conf", overlay(NAT), { profile: "ws2022" }),
  },
  "cni-address-invalid": {
    bad: {
      files: [
        { name: "a/vxlan0.conf", text: overlay(NAT.replace('"10.96.0.0/12"', '«"10.96.0.0/33"')) },
        {
          name: "b/vxlan0.conf",
          text: overlay(`{
      "Name": "EndpointPolicy",
      "Value": {
        "Type": "ProviderAddress",
        "Settings": { "ProviderAddress": «"address of the host" }
      }
    }`),
        },
      ],
    },
    good: oneFile("vxlan0.conf", overlay(NAT)),
  },
  "cni-exception-list-mixed-families": {
    bad: oneFile("vxlan0.conf", overlay(NAT.replace('"10.96.0.0/12"', '«"fd00:10:96::/112"'))),
    good: oneFile("vxlan0.conf", overlay(NAT)),
  },
};
