/**
 * Records of DNS as `Resolve-DnsName` shows them: addresses and aliases as in containernetworking/plugins#229 and on Microsoft's
 * pages of file shares, SOA as on Microsoft's page about verifying DNSSEC, SRV as on Cloudflare's page of connectivity checks, MX,
 * TXT and the lists of them as in public transcripts of Windows 10 and 11.
 */
import { decodeUtf8 } from "#core/base/encodings.ts";
import { type Ip, formatIp } from "#core/net/ip.ts";
import type { DnsRecord } from "#core/wire/dns/dns.ts";
import {
  type Column,
  type Enumerated,
  type ObjectKind,
  type Property,
  type PsObject,
  type Value,
  makeObject,
} from "../powershell/objects.ts";

/** Part of a message: its number is that of .NET's enumeration. */
export const SECTIONS = {
  answer: { text: "Answer", number: 1 },
  authority: { text: "Authority", number: 2 },
  additional: { text: "Additional", number: 3 },
} as const;
export type Section = keyof typeof SECTIONS;

/** Numbers of RFC 1035, RFC 3596 and RFC 2782. */
const TYPE_NUMBERS = { A: 1, NS: 2, CNAME: 5, SOA: 6, PTR: 12, MX: 15, TXT: 16, AAAA: 28, SRV: 33 } as const;
type ShownType = keyof typeof TYPE_NUMBERS;

interface Shown {
  readonly name: string;
  readonly type: ShownType;
  readonly ttl: number;
  readonly section: Section;
  /** Bytes of what Windows holds of the record. */
  readonly dataLength: number;
  /** What only this type has, by the names of the properties. */
  readonly data: Readonly<Record<string, Value>>;
  /** Where the list shows other properties than the object has. */
  readonly listed?: Readonly<Record<string, Value>>;
}

const typeOf = ({ type }: Shown): Enumerated => ({ text: type, number: TYPE_NUMBERS[type] });

const HEAD: readonly Property<Shown>[] = [
  { name: "Name", read: ({ name }) => name },
  { name: "Type", read: typeOf },
  { name: "CharacterSet", read: () => ({ text: "Unicode", number: 1 }) },
  { name: "Section", read: ({ section }) => SECTIONS[section] },
  { name: "DataLength", read: ({ dataLength }) => dataLength },
  { name: "TTL", read: ({ ttl }) => ttl },
];
const LIST_HEAD: readonly Property<Shown>[] = [
  { name: "Name", read: ({ name }) => name },
  { name: "QueryType", read: typeOf },
  { name: "TTL", read: ({ ttl }) => ttl },
  { name: "Section", read: ({ section }) => SECTIONS[section] },
];

function tableOf(nameWidth: number, last: readonly Column[], typeWidth = 6): readonly Column[] {
  return [
    { name: "Name", width: nameWidth, fit: "wrap" },
    { name: "Type", width: typeWidth },
    { name: "TTL", width: 5 },
    { name: "Section", width: 10 },
    ...last,
  ];
}

function kindOf(
  table: readonly Column[],
  names: readonly string[],
  listed: readonly string[] = names,
): ObjectKind<Shown> {
  return {
    properties: [...HEAD, ...names.map((name) => ({ name, read: ({ data }: Shown) => data[name] }))],
    table,
    list: [
      ...LIST_HEAD,
      ...listed.map((name) => ({ name, read: ({ data, listed: own }: Shown) => (own ?? data)[name] })),
    ],
  };
}

/** Two tables are one where their columns are the same list. */
const ADDRESS = kindOf(tableOf(46, [{ name: "IPAddress" }]), ["IPAddress"], ["IP4Address", "IP6Address"]);
const NAME_HOST = kindOf(tableOf(30, [{ name: "NameHost" }]), ["NameHost"]);
const SOA = kindOf(
  [
    { name: "Name", width: 27 },
    { name: "Type", width: 4 },
    { name: "TTL", width: 5 },
    { name: "Section", width: 10 },
    { name: "PrimaryServer", width: 27 },
    { name: "NameAdministrator", width: 27 },
    { name: "SerialNumber" },
  ],
  [
    "PrimaryServer",
    "NameAdministrator",
    "SerialNumber",
    "TimeToZoneRefresh",
    "TimeToZoneFailureRetry",
    "TimeToExpiration",
    "DefaultTTL",
  ],
  [
    "NameAdministrator",
    "SerialNumber",
    "TimeToZoneRefresh",
    "TimeToZoneFailureRetry",
    "TimeToExpiration",
    "DefaultTTL",
  ],
);
const MX = kindOf(tableOf(40, [{ name: "NameExchange", width: 41 }, { name: "Preference" }]), [
  "NameExchange",
  "Preference",
]);
const SRV = kindOf(
  tableOf(40, [
    { name: "NameTarget", width: 30, fit: "wrap" },
    { name: "Priority", width: 8 },
    { name: "Weight", width: 6 },
    { name: "Port" },
  ]),
  ["NameTarget", "Priority", "Weight", "Port"],
);
const TXT = kindOf(tableOf(40, [{ name: "Strings" }]), ["Strings"]);

/** An address that the system's resolver found. */
export function addressObject(name: string, ip: Ip, ttl: number, section: Section = "answer"): PsObject {
  const isIpv4 = typeof ip === "number";
  const text = formatIp(ip);
  return makeObject(ADDRESS, {
    name,
    type: isIpv4 ? "A" : "AAAA",
    ttl,
    section,
    dataLength: isIpv4 ? 4 : 16,
    data: { IPAddress: text },
    listed: isIpv4 ? { IP4Address: text } : { IP6Address: text },
  });
}

/** An alias, the owner of an address, or a name server. */
export function nameObject(
  type: "CNAME" | "PTR" | "NS",
  { name, target, ttl, section = "answer" }: { name: string; target: string; ttl: number; section?: Section },
): PsObject {
  return makeObject(NAME_HOST, { name, type, ttl, section, dataLength: 8, data: { NameHost: target } });
}

/**
 * A record of a message; undefined for types that are not shown. Inferred: lengths are those of Windows' structures
 * (`DNS_RECORDW` in windns.h, 64 bits), not those on the wire.
 */
export function recordObject(record: DnsRecord, section: Section): PsObject | undefined {
  if (record.type === "OPT" || record.type === "OTHER") return undefined;
  const { name, ttlSeconds: ttl } = record;
  const base = { name, ttl, section };
  switch (record.type) {
    case "A":
    case "AAAA":
      return addressObject(name, record.ip, ttl, section);
    case "CNAME":
    case "PTR":
    case "NS":
      return nameObject(record.type, { ...base, target: record.target });
    case "MX": {
      const data = { NameExchange: record.target, Preference: record.preference };
      return makeObject(MX, { ...base, type: "MX", dataLength: 16, data });
    }
    case "SRV": {
      const { target, priority, weight, port } = record;
      const data = { NameTarget: target, Priority: priority, Weight: weight, Port: port };
      return makeObject(SRV, { ...base, type: "SRV", dataLength: 16, data });
    }
    case "TXT": {
      const strings = record.strings.map((each) => decodeUtf8(each));
      const dataLength = 8 + 8 * strings.length;
      return makeObject(TXT, { ...base, type: "TXT", dataLength, data: { Strings: strings } });
    }
    case "SOA": {
      const data = {
        PrimaryServer: record.server,
        NameAdministrator: record.mailbox,
        SerialNumber: record.serial,
        TimeToZoneRefresh: record.refreshSeconds,
        TimeToZoneFailureRetry: record.retrySeconds,
        TimeToExpiration: record.expireSeconds,
        DefaultTTL: record.minimumSeconds,
      };
      return makeObject(SOA, { ...base, type: "SOA", dataLength: 40, data });
    }
  }
}
