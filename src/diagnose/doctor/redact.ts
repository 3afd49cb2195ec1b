/**
 * A report without what tells whose cluster it is: addresses, names of nodes, pods, Services and namespaces, folders. What
 * was the same stays the same, so that lines still belong together; what belongs to Kubernetes itself keeps its name.
 */
import { isFields } from "#core/base/json.ts";
import { parseIp } from "#core/net/ip.ts";
import type { ClusterEvidence } from "./evidence.ts";

/** Names that every cluster has. */
const COMMON: ReadonlySet<string> = new Set([
  "default",
  "kube-system",
  "kube-public",
  "kube-dns",
  "kubernetes",
  "coredns",
]);
/** Addresses that say nothing of a network. */
const PLAIN = /^(?:0\.0\.0\.0|127\.|255\.255\.|169\.254\.|::$|::1$)/u;
const IPV4 = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/gu;
const IPV6 = /(?<![\w:])[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?![\w:])/giu;
/** What a report says in words of its own. */
const KEPT: ReadonlySet<string> = new Set([
  "apiVersion",
  "kind",
  "code",
  "certainty",
  "remedy",
  "check",
  "asks",
  "missing",
  "collect",
  "holds",
  "observed",
]);

/** What may be a name, with the dots of a domain in it. */
const TOKEN = /[\w-]+(?:\.[\w-]+)*/gu;

const OF_DOCUMENTATION = 254;

/** The address with this number: of documentation (RFC 5737), and as these are few, of tests (RFC 2544). */
function standIn(number: number): string {
  if (number <= OF_DOCUMENTATION) return `192.0.2.${number}`;
  const further = number - OF_DOCUMENTATION;
  return `198.${18 + (further >> 16)}.${(further >> 8) & 255}.${further & 255}`;
}

class Redactor {
  private readonly addresses = new Map<string, string>();
  private readonly names = new Map<string, string>();

  constructor({ nodes, pods, services }: ClusterEvidence) {
    this.nameAll(
      "node",
      nodes.map(({ object }) => object.metadata.name),
    );
    this.nameAll(
      "namespace",
      [...pods, ...services].map(({ object }) => object.metadata.namespace),
    );
    this.nameAll(
      "service",
      services.map(({ object }) => object.metadata.name),
    );
    this.nameAll(
      "pod",
      pods.map(({ object }) => object.metadata.name),
    );
  }

  private nameAll(kind: string, names: readonly string[]): void {
    let count = 0;
    for (const name of new Set(names))
      if (name !== "" && !COMMON.has(name) && !this.names.has(name))
        this.names.set(name, `${kind}-${++count}`);
  }

  private address(text: string): string {
    if (PLAIN.test(text) || parseIp(text) === undefined) return text;
    const known = this.addresses.get(text);
    if (known !== undefined) return known;
    const number = this.addresses.size + 1;
    const given = text.includes(":") ? `2001:db8::${number.toString(16)}` : standIn(number);
    this.addresses.set(text, given);
    return given;
  }

  /** Of a name with dots, each part by itself where the whole is not known. */
  private name(token: string): string {
    const known = this.names.get(token);
    if (known !== undefined || !token.includes(".")) return known ?? token;
    return token
      .split(".")
      .map((part) => this.names.get(part) ?? part)
      .join(".");
  }

  private text(text: string): string {
    return text
      .replace(TOKEN, (token) => this.name(token))
      .replace(IPV4, (each) => this.address(each))
      .replace(IPV6, (each) => this.address(each));
  }

  /** Folders may tell a user's name; a path of an API server tells what it is of. */
  private file(text: string): string {
    const isOfServer = text.startsWith("/api") || text.startsWith("https://");
    return this.text(isOfServer ? text : (text.split(/[\\/]/u).at(-1) ?? text));
  }

  value(value: unknown): unknown {
    if (typeof value === "string") return this.text(value);
    if (Array.isArray(value)) return value.map((each) => this.value(each));
    if (!isFields(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([field, each]) => {
        if (KEPT.has(field)) return [field, each];
        return [field, field === "file" && typeof each === "string" ? this.file(each) : this.value(each)];
      }),
    );
  }
}

/** A report without addresses and names of its cluster, in the same shape. */
export function redact<Report>(report: Report, cluster: ClusterEvidence): Report {
  return new Redactor(cluster).value(report) as Report;
}
