/** Examples of the rules of `hns.ts` and `hns-policies.ts`. */
import { type ExampleInput, type ExampleTable, oneFile } from "./example-input.ts";

function request(value: string): ExampleInput {
  return oneFile("request.json", value);
}

function overlay(isolation: string, type = '"Overlay"', more = ""): string {
  return `{
  "Name": "vxlan0",
  "Type": ${type},
  "SchemaVersion": { "Major": 2, "Minor": 0 },${more}
  "Ipams": [{
    "Type": "Static",
    "Subnets": [{
      "IpAddressPrefix": "10.244.3.0/24",
      "Policies": [${isolation}],
      "Routes": [{ "DestinationPrefix": "0.0.0.0/0", "NextHop": "10.244.3.1" }]
    }]
  }]
}
`;
}

const VSID = '{ "Type": "VSID", "Settings": { "IsolationId": 4096 } }';
const NETWORK = request(overlay(VSID));

function endpoint(...policies: readonly string[]): string {
  return `{
  "HostComputeNetwork": "9b2c7e5a-4d1f-4a3e-8c66-2f0d1b7a9e10",
  "SchemaVersion": { "Major": 2, "Minor": 0 },
  "Policies": [
    ${policies.join(",\n    ")}
  ]
}
`;
}

const OUTBOUND = '{ "Type": "OutBoundNAT", "Settings": { "Exceptions": ["10.244.0.0/16"] } }';
const ENDPOINT = request(endpoint(OUTBOUND));

function balancer(endpoints: string, ports: string): string {
  return `{
  "SchemaVersion": { "Major": 2, "Minor": 0 },
  "HostComputeEndpoints": ${endpoints},
  "FrontendVIPs": ["10.96.0.10"],
  "PortMappings": ${ports}
}
`;
}

const ONE = '["5f3c0f7e-1a2b-4c3d-8e4f-5a6b7c8d9e0f"]';
const MANY = JSON.stringify(
  Array.from({ length: 65 }, (_, index) => `5f3c0f7e-1a2b-4c3d-8e4f-0000000000${index + 10}`),
);
const HTTP = '[{ "Protocol": 6, "InternalPort": 80, "ExternalPort": 80 }]';
const BALANCER = request(balancer(ONE, HTTP));

const REMOTE = `{
    "Type": "RemoteSubnetRoute",
    "Settings": {
      "DestinationPrefix": "10.244.1.0/24",
      "IsolationId": 4096,
      "ProviderAddress": "10.0.0.6",
      "DistributedRouterMacAddress": "00-15-5D-7B-82-55"
    }
  }`;

const POD = `apiVersion: v1
kind: Pod
metadata: { name: web }
spec:
  os: { name: windows }
  containers: [{ name: web, image: "registry.example/web:1" }]
`;

export const HNS_EXAMPLES: ExampleTable = {
  "hns-network-type-unknown": {
    bad: request(overlay(VSID, '«"L3Bridge"')),
    good: NETWORK,
  },
  "hns-network-without-subnet": {
    bad: request('{ «"Type": "L2Bridge", "Name": "cbr0" }\n'),
    good: NETWORK,
  },
  "hns-network-without-gateway": {
    bad: request(
      '{\n  "Type": "L2Bridge",\n  "Name": "cbr0",\n  "Subnets": [{ «"AddressPrefix": "10.244.3.0/24" }]\n}\n',
    ),
    good: request(
      '{\n  "Type": "L2Bridge",\n  "Name": "cbr0",\n  "Subnets": [{ "AddressPrefix": "10.244.3.0/24", "GatewayAddress": "10.244.3.1" }]\n}\n',
    ),
  },
  "hns-prefix-invalid": {
    bad: request(overlay(VSID).replace('"10.244.3.0/24"', '«"10.244.3.0"')),
    good: NETWORK,
  },
  "hns-vsid-invalid": {
    bad: {
      files: [
        { name: "a.json", text: overlay(VSID.replace("4096", "«1")) },
        { name: "b.json", text: overlay("").replace('"IpAddressPrefix"', '«"IpAddressPrefix"') },
      ],
    },
    good: NETWORK,
  },
  "hns-load-balancer-without-endpoints": {
    bad: request(balancer("[]", HTTP).replace('"HostComputeEndpoints"', '«"HostComputeEndpoints"')),
    good: BALANCER,
  },
  "too-many-back-ends": {
    bad: oneFile(
      "request.json",
      balancer(MANY, HTTP).replace('"HostComputeEndpoints"', '«"HostComputeEndpoints"'),
      { profile: "ws2019.1000" },
    ),
    good: oneFile("request.json", balancer(MANY, HTTP), { profile: "ws2022" }),
  },
  "hns-port-mapping-invalid": {
    bad: request(balancer(ONE, '[{ "Protocol": «1, "InternalPort": «0, "ExternalPort": «70000 }]')),
    good: BALANCER,
  },
  "hns-nat-not-for-kubernetes": {
    bad: {
      files: [
        { name: "network.json", text: '{ "Type": «"nat", "Name": "nat" }\n' },
        { name: "pod.yaml", text: POD },
      ],
    },
    good: request('{ "Type": "nat", "Name": "nat" }\n'),
  },
  "hns-policy-type-unknown": {
    bad: request(endpoint('{ "Type": «"OutBoundSNAT", "Settings": {} }')),
    good: ENDPOINT,
  },
  "hns-policy-scope": {
    bad: {
      files: [
        { name: "a.json", text: endpoint('{ "Type": «"HostRoute", "Settings": {} }') },
        {
          name: "b.json",
          text: overlay(
            VSID,
            undefined,
            '\n  "Policies": [{ "Type": «"SDNRoute", "Settings": { "DestinationPrefix": "10.96.0.0/12" } }],',
          ),
        },
      ],
    },
    good: ENDPOINT,
  },
  "hns-policy-shape-mismatch": {
    bad: {
      files: [
        {
          name: "a.json",
          text: endpoint('{ "Type": "OutBoundNAT", «"ExceptionList": ["10.244.0.0/16"] }'),
        },
        {
          name: "b.json",
          text: '{\n  "VirtualNetworkName": "cbr0",\n  "Policies": [{ "Type": "OutBoundNAT", «"Settings": {} }]\n}\n',
        },
      ],
    },
    good: ENDPOINT,
  },
  "hns-acl-invalid": {
    bad: request(
      endpoint(
        '{ "Type": "ACL", "Settings": { "Action": «"Deny", "Direction": "In", "RemoteAddresses": «"Any", "Protocols": "256", «"LocalPorts": "80" } }',
      ),
    ),
    good: request(
      endpoint(
        '{ "Type": "ACL", "Settings": { "Action": "Allow", "Direction": "In", "Protocols": "6", "LocalPorts": "80", "Priority": 1000 } }',
      ),
    ),
  },
  "hns-acl-blocks-direction": {
    bad: oneFile(
      "policies.json",
      `[{ "Type": "PA", "PA": "10.1.0.5" },
 { "Type": "ACL", "Action": "Block", "Direction": «"In", "Priority": 65500, "Protocols": "256", "RuleType": "Switch", "Scope": 0 },
 { "Type": "ACL", "Action": "Block", "Direction": «"Out", "Priority": 200, "RemoteAddresses": "10.0.0.25/32", "RuleType": "Switch" }]
`,
    ),
    good: oneFile(
      "policies.json",
      `[{ "Type": "ACL", "Action": "Allow", "Direction": "Out", "Priority": 65500 },
 { "Type": "ACL", "Action": "Allow", "Direction": "In", "Priority": 1000, "Protocols": "6", "LocalPorts": "80" },
 { "Type": "ACL", "Action": "Block", "Direction": "Out", "Priority": 200, "Protocols": "6", "RemoteAddresses": "168.63.129.16/32" },
 { "Type": "ACL", "Action": "Block", "Direction": "In", "Priority": 65500, "Protocols": "256" }]
`,
    ),
  },
  "hns-remote-subnet-route-invalid": {
    bad: request(
      overlay(
        VSID,
        undefined,
        `\n  "Policies": [${REMOTE.replace('"00-15-5D-7B-82-55"', '«"00155D7B8255"')}],`,
      ),
    ),
    good: request(overlay(VSID, undefined, `\n  "Policies": [${REMOTE}],`)),
  },
  "hns-dns-shape-mismatch": {
    bad: request('{\n  "VirtualNetworkName": "cbr0",\n  "DNSServerList": «["10.96.0.10"]\n}\n'),
    good: request('{\n  "VirtualNetworkName": "cbr0",\n  "DNSServerList": "10.96.0.10,10.96.0.11"\n}\n'),
  },
};
