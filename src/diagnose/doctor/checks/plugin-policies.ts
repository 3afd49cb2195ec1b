/** What the CNI configuration tells of the ranges of the cluster, beside what the cluster has. */
import { listOf, mappingOf, textOf } from "#core/base/json.ts";
import {
  type Ip,
  type Prefix,
  formatIp,
  parseIp,
  parsePrefix,
  prefixContains,
  prefixesOverlap,
} from "#core/net/ip.ts";
import { type NodeCheck, check, shows } from "../check.ts";
import { addressesOfNode } from "../evidence.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** All objects of a document with a `Type`, however its plugins nest them. */
function* policiesIn(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (Array.isArray(value)) for (const each of listOf(value)) yield* policiesIn(each);
  else if (typeof value === "object" && value !== null) {
    const fields = mappingOf(value);
    if (typeof fields["Type"] === "string") yield { ...fields, ...mappingOf(fields["Settings"]) };
    for (const each of Object.values(fields)) yield* policiesIn(each);
  }
}

interface Ranges {
  readonly exceptions: readonly string[];
  /** Of routes into the tunnel. */
  readonly routes: readonly string[];
}

function rangesIn(value: unknown): Ranges {
  const policies = [...policiesIn(value)];
  const ofType = (type: RegExp) => policies.filter((each) => type.test(textOf(each["Type"])));
  return {
    exceptions: ofType(/^OutBoundNAT$/iu).flatMap((each) =>
      listOf(each["ExceptionList"] ?? each["Exceptions"]).map(textOf),
    ),
    routes: ofType(/^(?:SDN)?ROUTE$/iu).map((each) => textOf(each["DestinationPrefix"])),
  };
}

function prefixesOf(texts: readonly string[]): readonly Prefix[] {
  return texts.flatMap((text) => parsePrefix(text) ?? []);
}

const SERVICE_RANGES = check("plugins-know-the-range-of-services", function* ({ cni }, { services }) {
  const own = services.flatMap((each) => {
    const ip = parseIp(each.object.spec?.clusterIP ?? "");
    return typeof ip === "number" ? [{ each, ip }] : [];
  });
  for (const { value, place } of cni) {
    const { exceptions, routes } = rangesIn(value);
    const prefixes = [...prefixesOf(exceptions), ...prefixesOf(routes)];
    // Who writes no routes does not tell ranges of Services, and one list alone may leave them out.
    if (prefixesOf(exceptions).length === 0 || prefixesOf(routes).length === 0) continue;
    const [missed] = own;
    const isKnown = own.some(({ ip }) => prefixes.some((prefix) => prefixContains(prefix, ip)));
    if (missed === undefined || isKnown) continue;
    const { metadata } = missed.each.object;
    const name = `${metadata.namespace}/${metadata.name}`;
    const address = formatIp(missed.ip);
    yield {
      name: place.file,
      certainty: "likely",
      message: WORDS.pluginWithoutServices({ name, address }),
      evidence: [
        shows(place, `exceptions ${exceptions.join(", ")}; routes ${routes.join(", ")}`),
        shows(missed.each.place, `Service ${name} has ${address}`),
      ],
      breaks: WORDS.breaksPluginWithoutServices,
    };
  }
});

/** Routes to one address: start.ps1 writes the node's own, to be reached through its tunnel. */
function hostRoutesOf(routes: readonly string[]): readonly Ip[] {
  return prefixesOf(routes)
    .filter(({ address, length }) => length === (typeof address === "number" ? 32 : 128))
    .map(({ address }) => address);
}

const OWN_CONFIGURATION = check(
  "plugins-have-this-nodes-routes",
  function* ({ cni, node, host }, { services }) {
    if (node === undefined) return;
    const own = new Set<Ip>([
      ...addressesOfNode(node),
      ...host.interfaces.flatMap(({ addresses }) => addresses),
    ]);
    const range = parsePrefix(node.object.spec?.podCIDR ?? "");
    const vips = services.flatMap(({ object: { spec } }) => parseIp(spec?.clusterIP ?? "") ?? []);
    for (const { value, place } of cni) {
      const { exceptions, routes } = rangesIn(value);
      const toHosts = hostRoutesOf(routes);
      const prefixes = prefixesOf([...exceptions, ...routes]);
      const isHostOther = toHosts.length > 0 && own.size > 0 && !toHosts.some((each) => own.has(each));
      const isClusterOther =
        prefixesOf(exceptions).length > 0 &&
        prefixesOf(routes).length > 0 &&
        range !== undefined &&
        vips.length > 0 &&
        !prefixes.some((prefix) => prefixesOverlap(prefix, range)) &&
        !vips.some((ip) => prefixes.some((prefix) => prefixContains(prefix, ip)));
      if (!isHostOther && !isClusterOther) continue;
      const route = toHosts.map(formatIp).join(", ");
      yield {
        name: place.file,
        certainty: "likely",
        message: isHostOther
          ? WORDS.cniOfOtherNode({ route })
          : WORDS.cniOfOtherCluster({ range: node.object.spec?.podCIDR ?? "" }),
        evidence: [
          shows(place, `exceptions ${exceptions.join(", ")}; routes ${routes.join(", ")}`),
          shows(
            node.place,
            WORDS.nodeWithRange({
              name: node.object.metadata.name,
              address: addressesOfNode(node).map(formatIp).join(", "),
              range: node.object.spec?.podCIDR ?? "none",
            }),
          ),
        ],
        breaks: WORDS.breaksCniOfOther,
      };
    }
  },
);

export const PLUGIN_POLICY_CHECKS: readonly NodeCheck[] = [OWN_CONFIGURATION, SERVICE_RANGES];
