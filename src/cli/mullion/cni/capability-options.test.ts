import { describe, expect, it } from "vitest";
import { parseCapabilityJson, readCapabilityOptions } from "./capability-options.ts";

describe("options as values by capability (cni.md §1.9)", () => {
  it.each([
    [{}, undefined],
    [
      { portMapping: ["8080:80", "127.0.0.1:5353:53/udp", "[fd00::1]:443:8443/TCP"] },
      {
        portMappings: [
          { hostPort: 8080, containerPort: 80, protocol: "tcp" },
          { hostPort: 5353, containerPort: 53, protocol: "udp", hostIP: "127.0.0.1" },
          { hostPort: 443, containerPort: 8443, protocol: "tcp", hostIP: "fd00::1" },
        ],
      },
    ],
    [
      { bandwidth: "ingressRate=1000000,egressBurst=8000" },
      { bandwidth: { ingressRate: 1_000_000, egressBurst: 8_000 } },
    ],
    [
      { ipRange: ["10.1.0.0/24,rangeStart=10.1.0.9,gateway=10.1.0.1", "fd00::/64"] },
      {
        ipRanges: [
          [{ subnet: "10.1.0.0/24", rangeStart: "10.1.0.9", gateway: "10.1.0.1" }],
          [{ subnet: "fd00::/64" }],
        ],
      },
    ],
    [{ ip: ["10.1.0.9", "fd00::9/64"] }, { ips: ["10.1.0.9", "fd00::9/64"] }],
    [{ mac: "00-15-5D-00-00-0A" }, { mac: "00:15:5d:00:00:0a" }],
    [
      { dnsServer: ["10.96.0.10"], dnsSearch: ["svc.cluster.local"], dnsOption: ["ndots:5"] },
      { dns: { servers: ["10.96.0.10"], searches: ["svc.cluster.local"], options: ["ndots:5"] } },
    ],
    [{ alias: ["web", "www"] }, { aliases: ["web", "www"] }],
    [
      { capabilityArgs: '{"mac":"00:00:00:00:00:01","cgroupPath":"/x"}', mac: "00:15:5d:00:00:02" },
      { mac: "00:15:5d:00:00:02", cgroupPath: "/x" },
    ],
    [{ capabilityArgs: "{}" }, {}],
  ])("%j", (options, expected) => {
    expect(readCapabilityOptions(options)).toEqual(expected);
  });

  it.each([
    [{ portMapping: ["80"] }, "--port-mapping"],
    [{ portMapping: ["0:80"] }, "--port-mapping"],
    [{ portMapping: ["70000:80"] }, "--port-mapping"],
    [{ portMapping: ["80:80/icmp"] }, "--port-mapping"],
    [{ portMapping: ["host:80:80"] }, "--port-mapping"],
    [{ bandwidth: "rate=1" }, "--bandwidth"],
    [{ bandwidth: "ingressRate=fast" }, "--bandwidth"],
    [{ bandwidth: "ingressRate=1,ingressRate=2" }, "--bandwidth"],
    [{ ipRange: ["10.1.0.5/24"] }, "--ip-range"],
    [{ ipRange: ["10.1.0.0/24,first=10.1.0.9"] }, "--ip-range"],
    [{ ipRange: ["10.1.0.0/24,gateway=x"] }, "--ip-range"],
    [{ ip: ["10.1.0"] }, "--ip"],
    [{ mac: "00:15" }, "--mac"],
    [{ dnsServer: ["dns"] }, "--dns-server"],
    [{ capabilityArgs: "[]" }, "--capability-args"],
  ])("%j is refused by the name of its option", (options, option) => {
    expect(() => readCapabilityOptions(options)).toThrowError(
      expect.objectContaining({
        code: "bad-usage",
        message: expect.stringMatching(new RegExp(`^${option} cannot be "`)) as string,
        advice: expect.stringMatching(/^Write /) as string,
      }),
    );
  });

  it("a text that is no JSON is refused with the place", () => {
    expect(() => parseCapabilityJson("CAP_ARGS", "{“mac”:1}")).toThrowError(
      /^CAP_ARGS is not JSON: .*typographic quote/,
    );
  });
});
