/** Services on Windows nodes as a table: Service, front end, load balancer of HNS, rules. */
import type { ServiceFrontEnd } from "#cluster/views/service-view.ts";
import type { Listing } from "../table.ts";

const FRONT_END_WORDS = {
  ClusterIP: "ClusterIP",
  NodePort: "NodePort",
  ExternalIP: "ExternalIP",
  Ingress: "LoadBalancer",
  HealthCheck: "health check",
} as const;

/** A Service may have hundreds of back ends; all of them stand in the JSON. */
const BACK_ENDS_SHOWN = 3;

function backEnds({ backEnds: all }: ServiceFrontEnd): string {
  const more = all.length - BACK_ENDS_SHOWN;
  return all.slice(0, BACK_ENDS_SHOWN).join(",") + (more > 0 ? ` + ${more} more` : "");
}

function address({ vip, port, protocol }: ServiceFrontEnd): string {
  const host = vip === "" ? "node" : vip.includes(":") ? `[${vip}]` : vip;
  return `${host}:${port}/${protocol}`;
}

export function servicesListing(
  items: readonly ServiceFrontEnd[],
  hasNamespace: boolean,
): Listing<ServiceFrontEnd> {
  return {
    singular: "service",
    plural: "front ends of Services",
    rows: items,
    name: ({ name }) => name,
    data: (row) => row,
    columns: [
      { title: "NODE", text: ({ node }) => node },
      ...(hasNamespace
        ? [{ title: "NAMESPACE", text: ({ namespace }: ServiceFrontEnd): string => namespace }]
        : []),
      { title: "NAME", text: ({ name }) => name },
      {
        title: "FRONT END",
        text: ({ frontEnd }) => (frontEnd === undefined ? "" : FRONT_END_WORDS[frontEnd]),
      },
      { title: "ADDRESS", text: address },
      { title: "BACK ENDS", text: backEnds },
      { title: "STATE", text: ({ state }) => state },
      { title: "RULES", isRightAligned: true, text: ({ rules }) => String(rules) },
      { title: "LOAD BALANCER", isWide: true, text: ({ loadBalancer }) => loadBalancer ?? "" },
      {
        title: "WHY",
        isWide: true,
        text: ({ findings }) => findings.map(({ code }) => code).join(","),
      },
    ],
  };
}
