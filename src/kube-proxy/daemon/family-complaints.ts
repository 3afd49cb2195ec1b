/** Settings of the wrong address family: upstream says so in its log, and goes on. */
import { type IpFamily, familyOf } from "../../net/ip.ts";
import type { KubeProxyConfiguration } from "../configuration/configuration.ts";
import { splitHostPort } from "../configuration/host-port.ts";
import { familyOfRange, parseTolerantIp } from "../configuration/validate.ts";

function familyOfText(text: string): IpFamily | undefined {
  const ip = parseTolerantIp(text);
  return ip === undefined || text === "0.0.0.0" || text === "::" ? undefined : familyOf(ip);
}

/** One sentence for each. The first of `families` is the primary one. */
export function familyComplaints(
  { clusterCIDR, winkernel, healthzBindAddress, metricsBindAddress }: KubeProxyConfiguration,
  families: readonly IpFamily[],
): readonly string[] {
  const [primary = 4] = families;
  const other: IpFamily = primary === 4 ? 6 : 4;
  const cluster = `cluster is IPv${primary}-${families.length > 1 ? "primary" : "only"}`;
  const complaints: string[] = [];
  const ranges = clusterCIDR === "" ? [] : clusterCIDR.split(",");
  if (ranges.length > 0 && ranges.every((range) => familyOfRange(range) === other))
    complaints.push(`${cluster} but clusterCIDRs contains only IPv${other} addresses`);
  if (familyOfText(winkernel.sourceVip) === other)
    complaints.push(`${cluster} but winkernel.sourceVip is IPv${other}`);
  if (families.length > 1) return complaints;
  for (const [name, address] of Object.entries({ healthzBindAddress, metricsBindAddress }))
    if (familyOfText(splitHostPort(address)?.host ?? "") === other)
      complaints.push(`${cluster} but ${name} is IPv${other}`);
  return complaints;
}
