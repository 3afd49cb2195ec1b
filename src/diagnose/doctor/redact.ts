/**
 * A report without what tells whose cluster it is: addresses, names of machines, nodes, pods, Services and namespaces, domains,
 * users, folders and ids. What was the same stays the same, so that lines still belong together; what belongs to Kubernetes
 * and Windows themselves keeps its name.
 */
import { isFields } from "#core/base/json.ts";
import { parseIp } from "#core/net/ip.ts";
import type { Evidence } from "./evidence.ts";
import { isPathOfServer } from "./place.ts";

/** Names that many clusters have. */
const COMMON: ReadonlySet<string> = new Set([
  "default",
  "kube-system",
  "kube-public",
  "kube-node-lease",
  "kube-flannel",
  "kube-proxy",
  "calico-system",
  "kube-dns",
  "kubernetes",
  "coredns",
  "localhost",
  "windows",
  "linux",
]);
/** Domains that say nothing of a cluster; of names below them each part is looked at by itself. */
const COMMON_DOMAIN =
  /(?:^|\.)(?:cluster\.local|in-addr\.arpa|ip6\.arpa|k8s\.io|kubernetes\.io|microsoft\.com|windows\.com|aka\.ms|coreos\.com|docker\.io|docker\.com|quay\.io|gcr\.io|github\.com|golang\.org|projectcalico\.org|tigera\.io|antrea\.io|rancher\.io|cattle\.io)$/iu;
/** How names of machines and domains end; a country whose letters are those of a file or a word is not among them. */
const OF_DOMAIN =
  /\.(?:com|net|org|edu|gov|io|dev|cloud|local|internal|lan|corp|intra|intranet|home|biz|ms|de|fr|eu|uk|nl|ch|se|dk|fi|cz|jp|cn|br|au|ca|ru)$/u;
/** Addresses that say nothing of a network. */
const PLAIN = /^(?:0\.0\.0\.0|127\.|255\.255\.|169\.254\.|::$|::1$)/u;
const IPV4 = /(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])/gu;
const IPV6 = /(?<![\w:])[\da-f]{0,4}(?::[\da-f]{0,4}){2,7}(?![\w:])/giu;
/** EC2 names machines after their addresses. */
const IPV4_IN_NAME = /^ip-\d{1,3}(?:-\d{1,3}){3}$/u;
const MAC = /(?<![\w:-])[\da-f]{2}(?:([-:])[\da-f]{2})(?:\1[\da-f]{2}){4}(?![\w:-])/giu;
/** Of no machine, of all, and the gateway of pods that Azure's and Calico's plugins make up. */
const PLAIN_MAC = /^(?:0{12}|f{12}|123456789abc)$/iu;
const GUID = /(?<![\da-f-])[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}(?![\da-f-])/giu;
/** Nothing, and the extensions of the switch, which are the same on all machines. */
const PLAIN_GUID = /^(?:[0-]{36}|e7c3b2f0-|f74f241b-|e9b59cfa-)/iu;
/** What Azure's ARM calls a thing: the subscription, and names. */
const RESOURCE = /\/subscriptions\/[^\s"'\\,;)\]]{1,400}/giu;
const MAIL = /(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,6}/gu;
/** A folder that is named after its user. */
const USER_FOLDER = /((?:[\\/]Users|\/home)[\\/]{1,4})([^\\/\s"'<>|:]{1,64})/giu;
const COMMON_USER =
  /^(?:administrator|public|default|containeradministrator|containeruser|runneradmin|vagrant)$/iu;
/** `CONTOSO\alice`; those of Windows and of the registry are the same everywhere. */
const ACCOUNT =
  /(?<![\w\\:.-])(?!HK|AUTHORITY|BUILTIN|SERVICE|SYSTEM)[A-Z][A-Z\d-]{1,14}\\{1,2}[\w.$-]{1,64}/gu;
/** Tokens, certificates, and whatever else has names in it that are not seen. */
const ENCODED =
  /(?<![\w+/=-])(?:eyJ[\w-]{16,8000}(?:\.[\w-]{1,8000}){0,2}|[\w+/-]{64,8000}={0,2})(?![\w+/=-])/gu;
const HEXADECIMAL = /^[\da-f]+$/iu;

/** What a report says in words of its own. */
const KEPT: ReadonlySet<string> = new Set([
  "apiVersion",
  "kind",
  "code",
  "certainty",
  "check",
  "asks",
  "missing",
  "collect",
  "holds",
  "observed",
]);

/** What may be a name, with the dots of a domain in it. */
const TOKEN = /[\w-]+(?:\.[\w-]+)*/gu;

type KindOfName = "node" | "namespace" | "service" | "pod" | "host" | "user";

/** How programs write names: klog's fields, errors of the API server, flags, and `ipconfig`. */
const NAMES_IN_TEXT: readonly (readonly [KindOfName, RegExp])[] = [
  ["node", /\bnode(?:Name)?=\\{0,3}"?([\w.-]{3,253})/gu],
  ["node", /\bnodes? \\{0,3}"([\w.-]{3,253})\\{0,3}"/gu],
  ["node", /--(?:hostname-override|nodename)[= ]\\{0,3}"?([\w.-]{3,253})/gu],
  ["node", /\bHost Name(?: \.){1,20} : ([\w.-]{1,253})/gu],
  ["host", /\b(?:host|hostname)[=:] ?\\{0,3}"([\w.-]{3,253})/giu],
  ["namespace", /\bnamespaces? ?[=:]? ?\\{0,3}"([\w-]{3,63})\\{0,3}"/giu],
  ["namespace", /\b(?:pod|service|servicePortName)=\\{0,3}"([\w-]{3,63})\//gu],
  ["service", /\b(?:service|servicePortName)=\\{0,3}"[\w-]{1,63}\/([\w.-]{3,253})/gu],
  ["service", /\b(?:services|endpoints) \\{0,3}"([\w.-]{3,253})\\{0,3}"/gu],
  ["pod", /\bpod=\\{0,3}"[\w-]{1,63}\/([\w.-]{3,253})/gu],
  ["pod", /\bpods? \\{0,3}"(?:[\w-]{1,63}\/)?([\w.-]{3,253})\\{0,3}"/gu],
  ["pod", /\bfor \\{0,7}"([\w.-]{3,253})_[\w-]{1,63}\([\da-f-]{36}\)/gu],
  ["namespace", /\bfor \\{0,7}"[\w.-]{3,253}_([\w-]{3,63})\([\da-f-]{36}\)/gu],
];

const OF_DOCUMENTATION = 254;

/** The address with this number: of documentation (RFC 5737), and as these are few, of tests (RFC 2544). */
function standIn(number: number): string {
  if (number <= OF_DOCUMENTATION) return `192.0.2.${number}`;
  const further = number - OF_DOCUMENTATION;
  return `198.${18 + (further >> 16)}.${(further >> 8) & 255}.${further & 255}`;
}

/** A MAC that somebody made up (RFC 7042, section 2.1), written as the one it stands for. */
function standInMac(number: number, sign: string): string {
  const digits = `02${number.toString(16).padStart(10, "0")}`;
  return (digits.match(/../gu) ?? []).join(sign);
}

/** All texts of a report that are not its own words. */
function* textsIn(value: unknown): Generator<string> {
  if (typeof value === "string") yield value;
  else if (Array.isArray(value)) for (const each of value) yield* textsIn(each);
  else if (isFields(value))
    for (const [field, each] of Object.entries(value)) if (!KEPT.has(field)) yield* textsIn(each);
}

/** A name that part of a longer one may be: an ordinary word is not replaced within others. */
function isTelling(name: string): boolean {
  return name.length >= 4 && /[\d-]/u.test(name);
}

/** What a cluster and its machines are called. */
type Named = Pick<Evidence, "cluster" | "nodes">;

class Redactor {
  private readonly given = new Map<string, string>();
  private readonly counts = new Map<string, number>();
  private readonly names = new Map<string, string>();
  /** By their names in small letters: Windows calls a machine by the same name in capitals. */
  private readonly machines = new Map<string, string>();
  /** Names of nodes that are folders. */
  private readonly folders = new Map<string, string>();

  constructor({ cluster: { nodes, pods, services, listed }, nodes: examined }: Named) {
    for (const { object } of nodes) this.learn("node", object.metadata.name);
    for (const { name } of listed.nodes) this.learn("node", name);
    for (const { node } of listed.pods) this.learn("node", node);
    for (const { object } of [...pods, ...services]) this.learn("namespace", object.metadata.namespace);
    for (const { object } of services) this.learn("service", object.metadata.name);
    for (const { object } of pods) this.learn("pod", object.metadata.name);
    for (const { name: written } of listed.pods) {
      const [name = "", namespace = ""] = written.split("/").toReversed();
      this.learn("pod", name);
      this.learn("namespace", namespace);
    }
    for (const { name, host } of examined) {
      if (/[\\/]/u.test(name)) this.folders.set(name, this.next("node"));
      for (const { host: machine } of host.interfaces) this.learn("node", machine);
    }
  }

  private next(kind: string): string {
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    return `${kind}-${count}`;
  }

  private learn(kind: KindOfName, name: string): void {
    const key = name.endsWith(".") ? name.slice(0, -1) : name;
    if (key === "" || COMMON.has(key) || parseIp(key) !== undefined || this.known(key) !== undefined) return;
    if (kind === "node") this.machines.set(key.toLowerCase(), this.next(kind));
    else this.names.set(key, this.next(kind));
  }

  /** Learns the names that logs show. */
  learnFrom(value: unknown): void {
    for (const text of textsIn(value))
      for (const [kind, pattern] of NAMES_IN_TEXT)
        for (const [, name = ""] of text.matchAll(pattern)) this.learn(kind, name);
  }

  /** What stands for a text of a kind: the same for the same. */
  private instead(kind: string, text: string, make: (number: number) => string): string {
    const key = `${kind} ${text.toLowerCase()}`;
    const known = this.given.get(key);
    if (known !== undefined) return known;
    const count = (this.counts.get(kind) ?? 0) + 1;
    this.counts.set(kind, count);
    const stand = make(count);
    this.given.set(key, stand);
    return stand;
  }

  private address(text: string): string {
    if (PLAIN.test(text) || parseIp(text) === undefined) return text;
    return this.instead("address", text, (number) =>
      text.includes(":") ? `2001:db8::${number.toString(16)}` : standIn(number),
    );
  }

  private mac(text: string, sign: string): string {
    const digits = text.replaceAll(sign, "");
    if (PLAIN_MAC.test(digits)) return text;
    const made = this.instead("mac", digits, (number) => standInMac(number, "-"));
    return made.replaceAll("-", sign);
  }

  private guid(text: string): string {
    if (PLAIN_GUID.test(text)) return text;
    return this.instead(
      "guid",
      text,
      (number) => `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
    );
  }

  private encoded(text: string): string {
    // The ids of containers tell nothing, and a path or a word is no code.
    const isCode = /\d/u.test(text) && /[A-Z]/u.test(text) && /[a-z]/u.test(text);
    return HEXADECIMAL.test(text) || !isCode ? text : `(${text.length} characters)`;
  }

  private known(name: string): string | undefined {
    return this.names.get(name) ?? this.machines.get(name.toLowerCase());
  }

  /** A name without dots: names of Kubernetes have no `_`, so what stands between two is one. */
  private part(name: string): string {
    const known = this.known(name);
    return (
      known ??
      name
        .split("_")
        .map((each) => this.dashed(each))
        .join("_")
    );
  }

  /** Known names between dashes: `kube-proxy-win-1`. */
  private dashed(name: string): string {
    const known = this.known(name);
    if (known !== undefined) return known;
    if (IPV4_IN_NAME.test(name)) return this.instead("machine", name, () => this.next("host"));
    const pieces = name.split(/(-)/u);
    for (let length = pieces.length - 2; length > 0; length -= 2)
      for (let from = 0; from + length <= pieces.length; from += 2) {
        const run = pieces.slice(from, from + length).join("");
        const own = isTelling(run) ? this.known(run) : undefined;
        if (own === undefined) continue;
        const before = pieces.slice(0, from).join("");
        return `${before}${own}${this.dashed(pieces.slice(from + length).join(""))}`;
      }
    return name;
  }

  private name(token: string): string {
    const known = this.known(token);
    if (known !== undefined) return known;
    if (!token.includes(".")) return this.part(token);
    if (OF_DOMAIN.test(token) && !COMMON_DOMAIN.test(token)) {
      const machine = this.known(token.slice(0, token.indexOf(".")));
      return `${machine ?? this.instead("machine", token, () => this.next("host"))}.example`;
    }
    return token
      .split(".")
      .map((part) => this.part(part))
      .join(".");
  }

  private text(given: string): string {
    let text = given;
    for (const [folder, name] of this.folders) text = text.replaceAll(folder, name);
    return text
      .replace(RESOURCE, (each) =>
        this.instead("resource", each, (number) => `/subscriptions/resource-${number}`),
      )
      .replace(ENCODED, (each) => this.encoded(each))
      .replace(MAIL, (each) => `${this.instead("mail", each, () => this.next("user"))}@example`)
      .replace(USER_FOLDER, (each, folder: string, user: string) =>
        COMMON_USER.test(user) ? each : folder + this.instead("folder", user, () => this.next("user")),
      )
      .replace(ACCOUNT, (each) => this.instead("account", each, () => this.next("user")))
      .replace(TOKEN, (token) => this.name(token))
      .replace(GUID, (each) => this.guid(each))
      .replace(MAC, (each, sign: string) => this.mac(each, sign))
      .replace(IPV4, (each) => this.address(each))
      .replace(IPV6, (each) => this.address(each));
  }

  /** Folders may tell a user's name; a path of an API server tells what it is of. */
  private file(text: string): string {
    return this.text(isPathOfServer(text) ? text : (text.split(/[\\/]/u).at(-1) ?? text));
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
export function redact<Report>(report: Report, named: Named): Report {
  const redactor = new Redactor(named);
  redactor.learnFrom(report);
  return redactor.value(report) as Report;
}
