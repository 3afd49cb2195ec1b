/** What the CNI configuration tells of the ranges of the cluster, beside what the cluster has. */
import { type Prefix, formatIp, parseIp, parsePrefix, prefixContains } from "#core/net/ip.ts";
import { type Found, type NodeCheck, shows, together } from "../check.ts";
import { fieldsOf, listOf, textOf } from "../evidence.ts";
import { doctor } from "#data/words.js";

const WORDS = doctor();

/** All objects of a document with a `Type`, however its plugins nest them. */
function* policiesIn(value: unknown): Generator<Readonly<Record<string, unknown>>> {
  if (Array.isArray(value)) for (const each of listOf(value)) yield* policiesIn(each);
  else if (typeof value === "object" && value !== null) {
    const fields = fieldsOf(value);
    if (typeof fields["Type"] === "string") yield { ...fields, ...fieldsOf(fields["Settings"]) };
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

const SERVICE_RANGES: NodeCheck = {
  id: "plugins-know-the-range-of-services",
  code: "cni-exception-list-without-services",
  asks: "the CNI configuration has the range of Services",
  needs: ["services", "cni configuration"],
  find: ({ cni }, { services }) => {
    const own = services.flatMap((each) => {
      const ip = parseIp(each.object.spec?.clusterIP ?? "");
      return typeof ip === "number" ? [{ each, ip }] : [];
    });
    return together(
      cni.flatMap(({ value, place }): readonly Found[] => {
        const { exceptions, routes } = rangesIn(value);
        const prefixes = [...prefixesOf(exceptions), ...prefixesOf(routes)];
        // Who writes no routes does not tell ranges of Services, and one list alone may leave them out.
        if (prefixesOf(exceptions).length === 0 || prefixesOf(routes).length === 0) return [];
        const [missed] = own;
        const isKnown = own.some(({ ip }) => prefixes.some((prefix) => prefixContains(prefix, ip)));
        if (missed === undefined || isKnown) return [];
        const { metadata } = missed.each.object;
        const name = `${metadata.namespace}/${metadata.name}`;
        const address = formatIp(missed.ip);
        return [
          {
            name: place.file,
            finding: {
              certainty: "likely",
              message: WORDS.pluginWithoutServices({ name, address }),
              evidence: [
                shows(place, `exceptions ${exceptions.join(", ")}; routes ${routes.join(", ")}`),
                shows(missed.each.place, `Service ${name} has ${address}`),
              ],
              breaks: WORDS.breaksPluginWithoutServices,
            },
          },
        ];
      }),
    );
  },
};

export const PLUGIN_POLICY_CHECKS: readonly NodeCheck[] = [SERVICE_RANGES];
