/** The rules for names, labels and ports of k8s.io/apimachinery, `util/validation`, with its sentences. */
import { stripEnd } from "#core/base/text-edges.ts";
import { parseInterfaceAddress, parseIp } from "#core/net/ip.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

/** A rule for a text: what is wrong with it, and what to write instead. */
export interface TextRule {
  /** The API server's sentence; undefined when the text is good. */
  fault(text: string): string | undefined;
  readonly advice: string;
}

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

function tooLong(text: string, lengthMax: number): string | undefined {
  return text.length > lengthMax ? `must be no more than ${lengthMax} characters` : undefined;
}

/** Names of namespaces, containers, ports of Services. */
export const DNS_LABEL: TextRule = Object.freeze({
  fault(text: string): string | undefined {
    if (text.length > 63) return tooLong(text, 63);
    return LABEL.test(text) ? undefined : WORDS.dnsLabelInvalid;
  },
  advice: WORDS.adviceDnsLabel,
});

/** Names of most objects. */
export const DNS_SUBDOMAIN: TextRule = Object.freeze({
  fault(text: string): string | undefined {
    if (text.length > 253) return tooLong(text, 253);
    return SUBDOMAIN.test(text) ? undefined : WORDS.dnsSubdomainInvalid;
  },
  advice: WORDS.adviceDnsSubdomain,
});

const SEARCH = /^[a-z0-9_]([-a-z0-9_]*[a-z0-9])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9])?)*$/;

/** Suffixes of a resolver: names of a domain, which may have underscores; or the root alone. */
export const DNS_SEARCH: TextRule = Object.freeze({
  fault(text: string): string | undefined {
    if (text === ".") return undefined;
    if (text.length > 253) return tooLong(text, 253);
    return SEARCH.test(text.replace(/\.$/, "")) ? undefined : WORDS.dnsSubdomainInvalid;
  },
  advice: WORDS.adviceDnsSubdomain,
});

/** Names of Services. */
export const SERVICE_NAME: TextRule = Object.freeze({
  fault(text: string): string | undefined {
    if (text.length > 63) return tooLong(text, 63);
    return /^[a-z]([-a-z0-9]*[a-z0-9])?$/.test(text) ? undefined : WORDS.dns1035LabelInvalid;
  },
  advice: "Use small letters, digits and hyphens, with a letter first: my-service.",
});

/** `generateName`: a name may be cut off at a hyphen. */
export function prefixOfName(rule: TextRule): TextRule {
  return { fault: (text) => rule.fault(stripEnd(text, /-/)), advice: rule.advice };
}

/** Keys of labels, annotations, taints: a name, after a domain and a slash or not. */
export const QUALIFIED_NAME: TextRule = Object.freeze({
  fault(text: string): string | undefined {
    const slash = text.indexOf("/");
    const name = text.slice(slash + 1);
    const domain = slash < 0 ? undefined : text.slice(0, slash);
    if (name === "") return "name part must be non-empty";
    if (domain === "") return "prefix part must be non-empty";
    const domainFault = domain === undefined ? undefined : DNS_SUBDOMAIN.fault(domain);
    if (domainFault !== undefined) return `prefix part ${domainFault}`;
    if (name.length > 63) return `name part ${tooLong(name, 63)}`;
    return QUALIFIED.test(name) ? undefined : WORDS.qualifiedNameInvalid;
  },
  advice: "Write a key such as app, or example.com/app.",
});

/** Keys of annotations may have capitals in their domain. */
export const ANNOTATION_KEY: TextRule = Object.freeze({
  fault: (text: string) => QUALIFIED_NAME.fault(text.toLowerCase()),
  advice: QUALIFIED_NAME.advice,
});

export const LABEL_VALUE: TextRule = Object.freeze({
  fault(text: string): string | undefined {
    if (text.length > 63) return tooLong(text, 63);
    return text === "" || QUALIFIED.test(text) ? undefined : WORDS.labelValueInvalid;
  },
  advice: "Use letters, digits, hyphens, underscores and dots, at most 63: my-value.",
});

/** Names of container ports (RFC 6335 §5.1). */
export const PORT_NAME: TextRule = Object.freeze({
  fault(text: string): string | undefined {
    if (text.length > 15) return tooLong(text, 15);
    if (!/^[-a-z0-9]+$/.test(text)) {
      return "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)";
    }
    if (!/[a-z]/.test(text)) return "must contain at least one letter (a-z)";
    if (text.includes("--")) return "must not contain consecutive hyphens";
    return text.startsWith("-") || text.endsWith("-") ? "must not begin or end with a hyphen" : undefined;
  },
  advice: "Use at most 15 small letters, digits and hyphens, such as http.",
});

export const IP_ADDRESS: TextRule = Object.freeze({
  fault: (text: string) =>
    parseIp(text) === undefined ? "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)" : undefined,
  advice: "Write an address such as 10.9.8.7, without a length.",
});

export const CIDR: TextRule = Object.freeze({
  fault: (text: string) =>
    parseInterfaceAddress(text) === undefined
      ? "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
      : undefined,
  advice: "Write the first address and the length, such as 10.9.8.0/24.",
});

/** Any text of bounded length. */
export function textUpTo(lengthMax: number): TextRule {
  return { fault: (text) => tooLong(text, lengthMax), advice: `Write at most ${lengthMax} characters.` };
}

/** Keys of ConfigMaps and Secrets are file names. */
export const CONFIG_KEY: TextRule = Object.freeze({
  fault: (key: string) =>
    /^[-._a-zA-Z0-9]{1,253}$/.test(key) && key !== "." && !key.startsWith("..")
      ? undefined
      : "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
  advice: QUALIFIED_NAME.advice,
});
