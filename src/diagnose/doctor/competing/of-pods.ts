/** What else would take its traffic from a pod, or its way out of the cluster. */
import { textOf } from "#core/base/json.ts";
import { type Ip, formatIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { parseMac } from "#core/net/mac.ts";
import { plural } from "#core/base/text-layout.ts";
import { isDefault } from "../checks/host.ts";
import { shows } from "../check.ts";
import { type EndpointRecord, addressesOfNode, networkOf, subnetsOf } from "../evidence.ts";
import type { NodeBooks } from "./node-books.ts";
import { type CompetingCause, shownState, showsIf } from "./competing-cause.ts";

/** Attached, and shared between the containers of a pod (hcn.md §2.10). */
const ATTACHED: readonly unknown[] = [2, 3];

function localAt(books: NodeBooks, address: Ip): readonly EndpointRecord[] {
  return books.endpointsAt(address).filter(({ isRemote }) => !isRemote);
}

function countOf({ node: { endpoints } }: NodeBooks): string {
  return plural(endpoints.length, "endpoint");
}

const WITHOUT: CompetingCause<Ip> = {
  code: "pod-without-endpoint",
  excludes: (books, address) =>
    showsIf(localAt(books, address)[0], ({ name, id }) => `endpoint ${name || id} has ${formatIp(address)}`),
};

const NOT_ATTACHED: CompetingCause<Ip> = {
  code: "endpoint-not-attached",
  excludes: (books, address) =>
    showsIf(
      localAt(books, address).find((each) => ATTACHED.includes(shownState(each))),
      (each) => `the endpoint of ${formatIp(address)} has State ${shownState(each) ?? ""}: attached`,
    ),
};

const TWICE: CompetingCause<Ip> = {
  code: "hns-duplicate-local-address",
  excludes(books, address) {
    const [one, other] = localAt(books, address);
    if (other !== undefined || !books.hasAll("endpoints")) return [];
    return showsIf(
      one,
      ({ name, id }) => `${countOf(books)}, and ${name || id} alone has ${formatIp(address)}`,
    );
  },
};

const SHADOWED: CompetingCause<Ip> = {
  code: "hns-remote-endpoint-left",
  excludes(books, address) {
    const found = books.endpointsAt(address);
    if (found.some(({ isRemote }) => isRemote) || !books.hasAll("endpoints")) return [];
    return showsIf(found[0], () => `${countOf(books)}, no remote one with ${formatIp(address)}`);
  },
};

const OUTSIDE_SUBNET: CompetingCause<Ip> = {
  code: "endpoint-outside-subnet",
  excludes(books, address) {
    const [own] = localAt(books, address);
    const network = networkOf(books.node, own);
    const subnet = (network === undefined ? [] : subnetsOf(network)).find((text) => {
      const prefix = parsePrefix(text);
      return prefix !== undefined && prefixContains(prefix, address);
    });
    if (network === undefined || subnet === undefined) return [];
    return [shows(network.place, `network ${network.name} has ${subnet}, and ${formatIp(address)} is of it`)];
  },
};

const NAMESPACE: CompetingCause<Ip> = {
  code: "endpoint-namespace-missing",
  excludes(books, address) {
    const [own] = localAt(books, address);
    const id = textOf(own?.document["HostComputeNamespace"]).toLowerCase();
    return showsIf(
      books.node.namespaces.find((each) => each.id.toLowerCase() === id),
      (each) => `HNS has the namespace ${each.id} of its endpoint`,
    );
  },
};

const MAC: CompetingCause<Ip> = {
  code: "endpoint-mac-doubled",
  excludes(books, address) {
    const [own] = localAt(books, address);
    const mac = parseMac(textOf(own?.document["MacAddress"]));
    if (own === undefined || mac === undefined || !books.hasAll("endpoints")) return [];
    const others = books.node.endpoints.filter(
      (each) =>
        each.id !== own.id &&
        each.network === own.network &&
        parseMac(textOf(each.document["MacAddress"])) === mac,
    );
    if (others.length > 0) return [];
    return [
      shows(own.place, `${countOf(books)}, and this one alone has ${textOf(own.document["MacAddress"])}`),
    ];
  },
};

const BLOCKED: CompetingCause<Ip> = {
  code: "switch-port-blocked",
  excludes(books, address) {
    const said = localAt(books, address).map((each) =>
      JSON.stringify([each.v1, each.document]).toLowerCase(),
    );
    return showsIf(
      books.node.host["port states"].find(
        ({ port, isBlocked }) => !isBlocked && said.some((text) => text.includes(port)),
      ),
      ({ port }) => `port ${port} of ${formatIp(address)} is not blocked`,
    );
  },
};

export const OF_PODS: readonly CompetingCause<Ip>[] = [
  WITHOUT,
  NOT_ATTACHED,
  TWICE,
  SHADOWED,
  OUTSIDE_SUBNET,
  NAMESPACE,
  MAC,
  BLOCKED,
];

const NO_ROUTE: CompetingCause<Ip> = {
  code: "no-route",
  excludes({ node }) {
    const own = node.node === undefined ? [] : addressesOfNode(node.node);
    return showsIf(
      node.host.routes.find((route) => isDefault(route) && own.some((each) => each === route.adapter)),
      ({ nextHop }) =>
        `the node has a default route${nextHop === undefined ? "" : ` by ${formatIp(nextHop)}`}`,
    );
  },
};

/** Of connections to outside of the cluster. */
export const OF_OUTSIDE: readonly CompetingCause<Ip>[] = [NO_ROUTE, ...OF_PODS];
