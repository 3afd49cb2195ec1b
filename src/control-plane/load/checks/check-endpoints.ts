/** EndpointSlices and Endpoints (k8s.io/kubernetes, `pkg/apis/discovery/validation`, `ValidateEndpoints`). */
import { notSpecial } from "./check-service.ts";
import { parseIp } from "#core/net/ip.ts";
import {
  type Check,
  PORT,
  all,
  anyText,
  flag,
  list,
  mappingOf,
  mappingsOf,
  object,
  oneOf,
  required,
  text,
} from "./field-check.ts";
import { below } from "#contracts/kubernetes/text/field-path.ts";
import { DNS_LABEL, DNS_SUBDOMAIN, IP_ADDRESS } from "./names.ts";

const TARGET: Check = object({ kind: anyText, name: anyText, namespace: anyText, uid: anyText });

const SLICE: Check = object({
  addressType: required(oneOf("IPv4", "IPv6", "FQDN"), "Write addressType: IPv4."),
  endpoints: list(
    object({
      addresses: required(list(anyText), "Write the address of the endpoint."),
      conditions: object({ ready: flag, serving: flag, terminating: flag }),
      hostname: text(DNS_LABEL, true),
      nodeName: text(DNS_SUBDOMAIN, true),
      targetRef: TARGET,
      zone: anyText,
    }),
  ),
  ports: list(
    object({
      name: text(DNS_LABEL, true),
      port: PORT,
      protocol: oneOf("TCP", "UDP", "SCTP"),
      appProtocol: anyText,
    }),
  ),
});

/** The API takes at most so many endpoints in one slice. */
const ENDPOINTS_MAX = 1_000;
const ADDRESSES_MAX = 100;

const addressesAreOfType: Check = (value, path, faults) => {
  const { addressType, endpoints } = mappingOf(value);
  const items = mappingsOf(endpoints);
  if (items.length > ENDPOINTS_MAX) {
    const detail = `must have at most ${ENDPOINTS_MAX} items`;
    faults.invalid(below(path, "endpoints"), items.length, detail, "Make several slices of them.");
  }
  for (const [index, { addresses }] of items.entries()) {
    const at = below(path, "endpoints", index, "addresses");
    const texts: readonly unknown[] = Array.isArray(addresses) ? addresses : [];
    if (texts.length > ADDRESSES_MAX) {
      faults.invalid(at, texts.length, `must have at most ${ADDRESSES_MAX} items`, "Leave some out.");
    }
    for (const [position, address] of texts.entries()) {
      if (typeof address !== "string") continue;
      const place = below(at, position);
      if (addressType === "FQDN") {
        text(DNS_SUBDOMAIN)(address, place, faults);
        continue;
      }
      const ip = parseIp(address);
      const isRight = addressType === "IPv6" ? typeof ip === "bigint" : typeof ip === "number";
      const noun = addressType === "IPv6" ? "IPv6" : "IPv4";
      if (isRight) notSpecial(address, place, faults);
      else faults.invalid(place, address, `must be a valid ${noun} address`, `Write an ${noun} address.`);
    }
  }
};

export const ENDPOINT_SLICE: Check = all(SLICE, addressesAreOfType);

const ADDRESS: Check = object({
  ip: required(all(text(IP_ADDRESS), notSpecial), "Write the address."),
  hostname: text(DNS_LABEL, true),
  nodeName: anyText,
  targetRef: TARGET,
});

export const ENDPOINTS: Check = object({
  subsets: list(
    object({
      addresses: list(ADDRESS),
      notReadyAddresses: list(ADDRESS),
      ports: list(
        object({
          name: text(DNS_LABEL, true),
          port: required(PORT, "Write the port."),
          protocol: oneOf("TCP", "UDP", "SCTP"),
        }),
      ),
    }),
  ),
});
