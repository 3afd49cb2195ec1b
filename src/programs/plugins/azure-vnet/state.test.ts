// The state file as Go writes it (cni.md §5.8).
import { describe, expect, it } from "vitest";
import { defined } from "#core/base/assert.ts";
import { parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { decodeBase64, encodeBase64 } from "#contracts/cni/go-json.ts";
import { formatState, parseState, type AzureState } from "./state.ts";

const address = (text: string) => defined(parseInterfaceAddress(text), text);
const ip = (text: string) => defined(parseIp(text), text);

const STATE: AzureState = new Map([
  [
    "Ethernet",
    {
      name: "Ethernet",
      mac: "00-0D-3A-01-02-03",
      subnets: ["10.240.0.0/16"],
      networks: new Map([
        [
          "azure",
          {
            id: "azure",
            hnsId: "0fb28d70-306c-469d-9690-3245a82d8899",
            mode: "tunnel",
            vlanId: 0,
            enablesSnatOnHost: false,
            subnets: [{ prefix: address("10.240.0.0/12"), gateway: ip("10.240.0.1") }],
            netns: "7cb720c0-ac4c-4266-92e1-dc277b2a9b94",
            endpoints: new Map([
              [
                "7c5e1f0a-eth0",
                {
                  id: "7c5e1f0a-eth0",
                  hnsId: "0fb28d70-306c-469d-9690-3245a82d88aa",
                  ifName: "eth0",
                  mac: "00-15-5D-AA-BB-CC",
                  addresses: [address("10.240.0.35/12"), address("fd12:1::6/61")],
                  gateways: [ip("10.240.0.1")],
                  dns: { suffix: "default.svc.cluster.local", servers: ["10.0.0.10"], options: [] },
                  routes: [{ destination: address("0.0.0.0/0"), gateway: ip("10.240.0.1") }],
                  containerId: "7c5e1f0a9b3d4e6f",
                  netns: "7cb720c0-ac4c-4266-92e1-dc277b2a9b94",
                  podName: "web-0",
                  nicType: "InfraNIC" as const,
                  vlanId: 0,
                  hnsNetworkId: "",
                  networkContainerId: "",
                  allowsHostToContainer: false,
                  allowsContainerToHost: false,
                  podNamespace: "default",
                },
              ],
            ]),
          },
        ],
      ]),
    },
  ],
]);

describe("azure-vnet.json", () => {
  const text = formatState(STATE, { version: "v", time: "2026-11-22T00:00:00Z" });

  it("reads what it writes", () => {
    expect(parseState(text)).toEqual(STATE);
  });

  it("is indented with tabs and has Go's forms of masks and MAC addresses", () => {
    expect(text.startsWith('{\n\t"Network": {\n\t\t"Version": "v",')).toBe(true);
    const { Network } = JSON.parse(text) as { Network: { ExternalInterfaces: object } };
    expect(Network.ExternalInterfaces).toMatchObject({
      Ethernet: {
        MacAddress: "AA06AQID",
        Networks: {
          azure: {
            Subnets: [{ Prefix: { IP: "10.240.0.0", Mask: "//AAAA==" }, Gateway: "10.240.0.1" }],
            Endpoints: {
              "7c5e1f0a-eth0": {
                IPAddresses: [
                  { IP: "10.240.0.35", Mask: "//AAAA==" },
                  // 61 ones: seven bytes of 255, then 248.
                  { IP: "fd12:1::6", Mask: "//////////gAAAAAAAAAAA==" },
                ],
                NICType: "InfraNIC",
              },
            },
          },
        },
      },
    });
  });

  it("an address with a mask of another family is refused", () => {
    expect(() => parseState(text.replace("//AAAA==", "//////////gAAAAAAAAAAA=="))).toThrowError(/Mask/);
  });
});

it.each([
  [[], ""],
  [[0], "AA=="],
  [[255, 240], "//A="],
  [[0, 13, 58], "AA06"],
  [[255, 255, 0, 0], "//8AAA=="],
])("base64 of %j is %j", (bytes, text) => {
  expect(encodeBase64(bytes)).toBe(text);
  expect(decodeBase64(text)).toEqual(bytes);
});

it.each(["A", "AA=", "AA*=", "=AAA"])("%j is no base64", (text) => {
  expect(decodeBase64(text)).toBeUndefined();
});
