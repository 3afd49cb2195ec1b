/** Policies with any settings: a canonical value or a refusal with a code, and nothing else. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseEndpointPolicy } from "./endpoint-policy.ts";
import { HcnError } from "../error.ts";
import { parseNetworkPolicy, parseSubnetPolicy } from "./network-policy.ts";
import { ENDPOINT_POLICY_TYPES, NETWORK_POLICY_TYPES, SUBNET_POLICY_TYPES } from "./policy-type.ts";

const FIELDS = [
  "Protocol",
  "InternalPort",
  "ExternalPort",
  "VIP",
  "Flags",
  "Id",
  "Protocols",
  "Action",
  "Direction",
  "LocalAddresses",
  "RemotePorts",
  "RuleType",
  "Priority",
  "Exceptions",
  "DestinationPrefix",
  "NextHop",
  "NeedEncap",
  "Port",
  "FilterTuple",
  "InboundExceptions",
  "IsolationId",
  "Mtu",
  "InterruptModeration",
  "TierAclRules",
  "VmType",
  "FirewallPolicyFlags",
  "PolicyType",
  "Values",
  "DistributedRouterMacAddress",
  "ProviderAddress",
  "AuthenticationMethods",
  "InterfaceLuid",
  "Overhead",
  "Name",
] as const;

const VALUE = fc.oneof(
  fc.constantFrom(
    "6",
    "80,443",
    "10.0.0.0/8",
    "Allow",
    "In",
    "true",
    "",
    "0",
    "set-1",
    "00-15-5D-01-02-03",
    "\ud800",
  ),
  fc.integer(),
  fc.nat({ max: 70_000 }),
  fc.jsonValue(),
  fc.array(fc.dictionary(fc.constantFrom(...FIELDS), fc.constantFrom(6, "80", "Allow", 1, null))),
);

const SETTINGS = fc.dictionary(fc.constantFrom(...FIELDS), VALUE, { maxKeys: 8 });

type Parse = (policy: { Type: string; Settings: never }, where: string) => { Settings: object };

/** The settings as they come back; undefined when they are refused. Anything but a refusal with a code is a bug. */
function parsed(parse: Parse, type: string, settings: object): object | undefined {
  try {
    return parse({ Type: type, Settings: settings as never }, "Policies[0]").Settings;
  } catch (error) {
    if (error instanceof HcnError && error.code !== "unknown") return undefined;
    throw error;
  }
}

describe.each<[string, Parse, readonly (string | undefined)[]]>([
  ["endpoint", parseEndpointPolicy, ENDPOINT_POLICY_TYPES],
  ["network", parseNetworkPolicy, NETWORK_POLICY_TYPES],
  ["subnet", parseSubnetPolicy, SUBNET_POLICY_TYPES],
])("any policy of a %s", (_owner, parse, types) => {
  it("is refused with a code or comes back, and then comes back the same", () => {
    const type = fc.constantFrom(...types.filter((each) => each !== undefined));
    fc.assert(
      fc.property(type, SETTINGS, (name, settings) => {
        const once = parsed(parse, name, settings);
        if (once !== undefined) expect(parsed(parse, name, once)).toEqual(once);
      }),
      { seed: 20_251_121, numRuns: 2_000 },
    );
  });
});
