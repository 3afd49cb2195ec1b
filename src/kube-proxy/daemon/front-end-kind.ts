/** What a load balancer stands for, by its document: for the labels of metrics, when a call has failed. */
import type { JsonObject, JsonValue } from "../../hcn/client.ts";
import { isJsonObject } from "../../hcn/json-value.ts";
import { type IpFamily, familyOf, parseIp } from "../../net/ip.ts";
import type { Behaviour } from "../behaviour.ts";
import type { ProxyObjects } from "../proxy-objects.ts";
import type { FrontEndKind } from "./observed-client.ts";

const IPV6_FLAG = 2;

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

function numberOf(value: JsonValue | undefined): number {
  return typeof value === "number" ? value : 0;
}

/** Looks the front end's address up among Services: seldom, so all are looked through. */
export function frontEndKindOf(
  loadBalancer: JsonObject,
  objects: ProxyObjects,
  behaviour: Behaviour,
): FrontEndKind {
  const [vip] = listOf(loadBalancer["FrontendVIPs"]);
  if (typeof vip !== "string" || vip === "") {
    const family: IpFamily = (numberOf(loadBalancer["Flags"]) & IPV6_FLAG) === 0 ? 4 : 6;
    return { family, type: "nodeport" };
  }
  const ip = parseIp(vip);
  const family = ip === undefined ? 4 : familyOf(ip);
  const [mapping] = listOf(loadBalancer["PortMappings"]);
  const external = isJsonObject(mapping) ? numberOf(mapping["ExternalPort"]) : 0;
  for (const [, { ports }] of objects.tracker(family, behaviour).allServices()) {
    if (ports[0]?.clusterIp === vip) return { family, type: "clusterip" };
    if (ports[0]?.externalIps.includes(vip) === true) return { family, type: "externalip" };
    // The forwarded health check has a port that is none of the Service's.
    if (ports[0]?.ingressIps.includes(vip) === true)
      return { family, type: ports.some(({ port }) => port === external) ? "ingressip" : "healthcheck" };
  }
  return { family, type: "clusterip" };
}
