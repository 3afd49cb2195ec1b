import { beforeEach, describe, expect, it } from "vitest";
import { fork } from "#core/base/fork.ts";
import { formatIp } from "#core/net/ip.ts";
import { ip } from "#test/support/dataplane/engine-kit.ts";
import { namespaceObject, serviceObject, sliceObject } from "#test/support/cluster/kube-objects.ts";
import { type DnsRecord, dnsRcodeName } from "#core/wire/dns/dns.ts";
import type { NameAnswer } from "./answer.ts";
import { ClusterZone } from "./cluster-zone.ts";

/** A record as a zone file has it, without its class. */
function line(record: DnsRecord): string {
  if (record.type === "OPT") return "OPT";
  const start = `${record.name} ${record.ttlSeconds} ${record.type}`;
  switch (record.type) {
    case "A":
    case "AAAA":
      return `${start} ${formatIp(record.ip)}`;
    case "CNAME":
    case "NS":
    case "PTR":
      return `${start} ${record.target}`;
    case "SRV":
      return `${start} ${record.priority} ${record.weight} ${record.port} ${record.target}`;
    case "TXT":
      return `${start} ${record.strings.map((bytes) => String.fromCharCode(...bytes)).join("|")}`;
    case "SOA":
      return `${start} ${record.server} ${record.mailbox} ${record.minimumSeconds}`;
    case "MX":
    case "OTHER":
      return start;
  }
}

function lines(answer: NameAnswer | undefined): string[] {
  return answer?.answers.map(line) ?? [];
}

let zone: ClusterZone;

/** A pod of CoreDNS. */
const SERVER = ip("10.244.3.10");

const ask = (name: string, type: string, servers = [SERVER]): NameAnswer | undefined =>
  zone.servedAt(servers).answer({ name, type, class: "IN" });

/** `NXDOMAIN`; `NODATA` for a name without such a record; `NOERROR`; `elsewhere`. */
function outcome(name: string, type: string): string {
  const answer = ask(name, type);
  if (answer === undefined) return "elsewhere";
  const isEmpty = answer.rcode === 0 && answer.answers.length === 0;
  return isEmpty ? "NODATA" : dnsRcodeName(answer.rcode);
}

beforeEach(() => {
  zone = new ClusterZone();
  const tcp = (
    name: string | undefined,
    port: number,
  ): { name?: string; port: number; protocol: string } => ({
    ...(name === undefined ? {} : { name }),
    port,
    protocol: "TCP",
  });
  for (const object of [
    namespaceObject("default"),
    namespaceObject("empty"),
    serviceObject("default/kubernetes", { clusterIP: "10.96.0.1", ports: [tcp("https", 443)] }),
    serviceObject("default/web", {
      clusterIPs: ["10.96.0.20"],
      ports: [tcp("http", 80), tcp("metrics", 9090)],
    }),
    serviceObject("default/plain", { clusterIP: "10.96.0.21", ports: [tcp(undefined, 80)] }),
    serviceObject("default/dual", { clusterIPs: ["10.96.0.22", "fd00:10:96::22"], ports: [tcp("http", 80)] }),
    serviceObject("shop/db", { clusterIP: "None", ports: [tcp("sql", 5432)] }),
    serviceObject("shop/idle", { clusterIP: "None", ports: [tcp("sql", 5432)] }),
    serviceObject("shop/bare", { clusterIP: "None" }),
    serviceObject("shop/out", { type: "ExternalName", externalName: "www.example.com" }),
    serviceObject("shop/in", { type: "ExternalName", externalName: "web.default.svc.cluster.local" }),
    serviceObject("shop/self", { type: "ExternalName", externalName: "self.shop.svc.cluster.local" }),
    serviceObject("shop/address", { type: "ExternalName", externalName: "192.0.2.9" }),
    serviceObject("shop/nonsense", { type: "ExternalName", externalName: "no name at all" }),
    serviceObject("kube-system/kube-dns", {
      clusterIP: "10.96.0.10",
      ports: [{ name: "dns", port: 53, protocol: "UDP" }],
    }),
    sliceObject("kube-system/kube-dns", [{ address: "10.244.3.10" }, { address: "10.244.3.11" }]),
    sliceObject("default/web", [{ address: "10.244.1.5", ready: true }]),
    sliceObject(
      "shop/db",
      [
        { address: "10.244.1.7", hostname: "db-0", ready: true },
        { address: "10.244.2.7", hostname: "db-1" },
        { address: "10.244.2.8", ready: true },
        { address: "10.244.2.9", hostname: "db-2", ready: false },
      ],
      { ports: ["sql/TCP/5432"] },
    ),
    sliceObject("shop/idle", [{ address: "10.244.1.8", ready: false }], { ports: ["sql/TCP/5432"] }),
    sliceObject("shop/bare", [{ address: "10.244.1.9", hostname: "one" }], { ports: [] }),
  ])
    zone.apply(object);
});

describe("the specification", () => {
  it.each<[string, string, string, string[]]>([
    [
      "§2.2 the version of the schema",
      "dns-version.cluster.local",
      "TXT",
      ["dns-version.cluster.local 28800 TXT 1.1.0"],
    ],
    [
      "§2.3.1 the address of a Service",
      "web.default.svc.cluster.local",
      "A",
      ["web.default.svc.cluster.local 30 A 10.96.0.20"],
    ],
    [
      "§2.3.1 both families",
      "dual.default.svc.cluster.local",
      "AAAA",
      ["dual.default.svc.cluster.local 30 AAAA fd00:10:96::22"],
    ],
    [
      "§2.3.2 a named port",
      "_http._tcp.web.default.svc.cluster.local",
      "SRV",
      ["_http._tcp.web.default.svc.cluster.local 30 SRV 0 100 80 web.default.svc.cluster.local"],
    ],
    [
      "§2.3.3 who has a Service's address",
      "1.0.96.10.in-addr.arpa",
      "PTR",
      ["1.0.96.10.in-addr.arpa 30 PTR kubernetes.default.svc.cluster.local"],
    ],
    [
      "§2.3.3 who has a Service's IPv6 address",
      "2.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.9.0.0.0.1.0.0.0.0.d.f.ip6.arpa",
      "PTR",
      [
        "2.2.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.6.9.0.0.0.1.0.0.0.0.d.f.ip6.arpa 30 PTR dual.default.svc.cluster.local",
      ],
    ],
    [
      "§2.4.1 the ready endpoints of a headless Service",
      "db.shop.svc.cluster.local",
      "A",
      [
        "db.shop.svc.cluster.local 30 A 10.244.1.7",
        "db.shop.svc.cluster.local 30 A 10.244.2.7",
        "db.shop.svc.cluster.local 30 A 10.244.2.8",
      ],
    ],
    [
      "§2.4.1 an endpoint by its host name",
      "db-0.db.shop.svc.cluster.local",
      "A",
      ["db-0.db.shop.svc.cluster.local 30 A 10.244.1.7"],
    ],
    [
      "§2.4.1 an endpoint without one",
      "10-244-2-8.db.shop.svc.cluster.local",
      "A",
      ["10-244-2-8.db.shop.svc.cluster.local 30 A 10.244.2.8"],
    ],
    [
      "§2.4.1 without ports",
      "bare.shop.svc.cluster.local",
      "A",
      ["bare.shop.svc.cluster.local 30 A 10.244.1.9"],
    ],
    [
      "§2.4.2 one record for each endpoint",
      "_sql._tcp.db.shop.svc.cluster.local",
      "SRV",
      [
        "_sql._tcp.db.shop.svc.cluster.local 30 SRV 0 33 5432 db-0.db.shop.svc.cluster.local",
        "_sql._tcp.db.shop.svc.cluster.local 30 SRV 0 33 5432 db-1.db.shop.svc.cluster.local",
        "_sql._tcp.db.shop.svc.cluster.local 30 SRV 0 33 5432 10-244-2-8.db.shop.svc.cluster.local",
      ],
    ],
    [
      "§2.4.3 who has an endpoint's address",
      "7.1.244.10.in-addr.arpa",
      "PTR",
      ["7.1.244.10.in-addr.arpa 30 PTR db-0.db.shop.svc.cluster.local"],
    ],
    [
      "§2.5 an alias",
      "out.shop.svc.cluster.local",
      "CNAME",
      ["out.shop.svc.cluster.local 30 CNAME www.example.com"],
    ],
    [
      "§2.6 a pod by its address",
      "10-244-1-5.default.pod.cluster.local",
      "A",
      ["10-244-1-5.default.pod.cluster.local 30 A 10.244.1.5"],
    ],
    [
      "§2.6 any address, pod or not",
      "203-0-113-9.default.pod.cluster.local",
      "A",
      ["203-0-113-9.default.pod.cluster.local 30 A 203.0.113.9"],
    ],
    [
      "names in any case, answered as they were asked",
      "WEB.Default.svc.Cluster.LOCAL",
      "A",
      ["WEB.Default.svc.Cluster.LOCAL 30 A 10.96.0.20"],
    ],
    [
      "the zone's own SOA",
      "cluster.local",
      "SOA",
      ["cluster.local 30 SOA ns.dns.cluster.local hostmaster.cluster.local 30"],
    ],
    [
      "the zone's servers",
      "cluster.local",
      "NS",
      ["cluster.local 30 NS kube-dns.kube-system.svc.cluster.local"],
    ],
    ["the server's own name", "ns.dns.cluster.local", "A", ["ns.dns.cluster.local 30 A 10.96.0.10"]],
  ])("%s: %s %s", (_title, name, type, expected) => {
    expect(lines(ask(name, type))).toEqual(expected);
  });

  it("adds the addresses of an SRV record's target", () => {
    expect(ask("_sql._tcp.db.shop.svc.cluster.local", "SRV")?.additionals.map(line)).toEqual([
      "db-0.db.shop.svc.cluster.local 30 A 10.244.1.7",
      "db-1.db.shop.svc.cluster.local 30 A 10.244.2.7",
      "10-244-2-8.db.shop.svc.cluster.local 30 A 10.244.2.8",
    ]);
  });

  it("§2.5 follows an alias inside the cluster, and says where one leads out", () => {
    expect(lines(ask("in.shop.svc.cluster.local", "A"))).toEqual([
      "in.shop.svc.cluster.local 30 CNAME web.default.svc.cluster.local",
      "web.default.svc.cluster.local 30 A 10.96.0.20",
    ]);
    const out = ask("out.shop.svc.cluster.local", "A");
    expect(out?.continuesAt).toBe("www.example.com");
    expect(lines(out)).toEqual(["out.shop.svc.cluster.local 30 CNAME www.example.com"]);
  });
});

// plugin/kubernetes/ns.go: a server looks for its own address among the endpoints, whatever its Service is called.
describe("the servers of the zone", () => {
  const ports = [{ name: "dns", port: 53, protocol: "UDP" }];
  const servers = (addresses = [SERVER]): readonly string[] => {
    const answer = ask("cluster.local", "NS", addresses);
    return [...lines(answer), ...(answer?.additionals.map(line) ?? [])];
  };
  /** `ns.dns`, by addresses of both families. */
  const self = (addresses = [SERVER]): readonly string[] =>
    ["A", "AAAA"].flatMap((type) => lines(ask("ns.dns.cluster.local", type, addresses)));

  it.each([
    ["RKE2", "kube-system/rke2-coredns-rke2-coredns", "rke2-coredns-rke2-coredns.kube-system"],
    ["OpenShift", "openshift-dns/dns-default", "dns-default.openshift-dns"],
  ])("are the Service that leads to the one that is asked: %s", (_who, reference, name) => {
    zone.remove(sliceObject("kube-system/kube-dns", []));
    zone.apply(serviceObject(reference, { clusterIP: "10.43.0.10", ports }));
    zone.apply(sliceObject(reference, [{ address: "10.244.3.10", ready: true }]));
    expect(servers()).toEqual([
      `cluster.local 30 NS ${name}.svc.cluster.local`,
      `${name}.svc.cluster.local 30 A 10.43.0.10`,
    ]);
    expect(self()).toEqual(["ns.dns.cluster.local 30 A 10.43.0.10"]);
  });

  it("are all such Services; a headless one is each of its endpoints, as that of the Prometheus charts", () => {
    zone.apply(serviceObject("kube-system/prometheus-coredns", { clusterIP: "None", ports }));
    zone.apply(
      sliceObject("kube-system/prometheus-coredns", [{ address: "10.244.3.10" }, { address: "10.244.3.11" }]),
    );
    const headless = "prometheus-coredns.kube-system.svc.cluster.local";
    expect(servers()).toEqual([
      "cluster.local 30 NS kube-dns.kube-system.svc.cluster.local",
      `cluster.local 30 NS 10-244-3-10.${headless}`,
      `cluster.local 30 NS 10-244-3-11.${headless}`,
      "kube-dns.kube-system.svc.cluster.local 30 A 10.96.0.10",
      `10-244-3-10.${headless} 30 A 10.244.3.10`,
      `10-244-3-11.${headless} 30 A 10.244.3.11`,
    ]);
  });

  it("are asked by both families: the addresses come once for each of the server's own", () => {
    zone.apply(serviceObject("kube-system/kube-dns", { clusterIPs: ["10.96.0.10", "fd00:10:96::a"], ports }));
    zone.apply(
      sliceObject("kube-system/kube-dns", [{ address: "fd00:10:244:3::10" }], {
        slice: "kube-dns-v6",
        addressType: "IPv6",
      }),
    );
    const both = [SERVER, ip("fd00:10:244:3::10")];
    const name = "kube-dns.kube-system.svc.cluster.local";
    const addresses = [`${name} 30 A 10.96.0.10`, `${name} 30 AAAA fd00:10:96::a`];
    expect(servers(both)).toEqual([`cluster.local 30 NS ${name}`, ...addresses, ...addresses]);
    expect(self(both)).toEqual([
      "ns.dns.cluster.local 30 A 10.96.0.10",
      "ns.dns.cluster.local 30 AAAA fd00:10:96::a",
    ]);
  });

  it.each([
    ["in no slice", "10.244.9.9", []],
    ["not ready", "10.244.3.12", [{ address: "10.244.3.12", ready: false }]],
  ])("%s: the one that is asked, by its own address", (_what, address, endpoints) => {
    zone.apply(sliceObject("kube-system/kube-dns", endpoints, { slice: "kube-dns-late" }));
    expect(servers([ip(address)])).toEqual([
      "cluster.local 30 NS ns.dns.cluster.local",
      `ns.dns.cluster.local 30 A ${address}`,
    ]);
    expect(self([ip(address)])).toEqual([`ns.dns.cluster.local 30 A ${address}`]);
  });

  it("are none while the slice has a Service no more", () => {
    zone.remove(serviceObject("kube-system/kube-dns", {}));
    expect(servers()).toEqual([]);
    expect(outcome("cluster.local", "NS")).toBe("NODATA");
    expect(outcome("ns.dns.cluster.local", "A")).toBe("NODATA");
  });
});

describe("names that are not there", () => {
  it.each<[string, string, string, string]>([
    ["no such Service", "nobody.default.svc.cluster.local", "A", "NXDOMAIN"],
    ["no such namespace", "web.nowhere.svc.cluster.local", "A", "NXDOMAIN"],
    ["a Service of another namespace", "web.shop.svc.cluster.local", "A", "NXDOMAIN"],
    ["what Windows makes of kubernetes.default", "kubernetes.default", "A", "elsewhere"],
    ["a headless Service without a ready endpoint (§2.4.1)", "idle.shop.svc.cluster.local", "A", "NXDOMAIN"],
    ["an endpoint that is not ready", "db-2.db.shop.svc.cluster.local", "A", "NXDOMAIN"],
    ["the address of an endpoint that is not ready", "9.2.244.10.in-addr.arpa", "PTR", "elsewhere"],
    ["the address of an endpoint without a host name", "8.2.244.10.in-addr.arpa", "PTR", "elsewhere"],
    ["half an address", "244.10.in-addr.arpa", "PTR", "elsewhere"],
    ["a port without a name (§2.3.2)", "_http._tcp.plain.default.svc.cluster.local", "SRV", "NXDOMAIN"],
    ["another protocol", "_http._udp.web.default.svc.cluster.local", "SRV", "NXDOMAIN"],
    ["no SRV without a port", "bare.shop.svc.cluster.local", "SRV", "NODATA"],
    ["no SRV of an alias", "out.shop.svc.cluster.local", "SRV", "NODATA"],
    ["the other family", "web.default.svc.cluster.local", "AAAA", "NODATA"],
    ["another type", "web.default.svc.cluster.local", "MX", "NODATA"],
    ["another type of no name", "nobody.default.svc.cluster.local", "MX", "NXDOMAIN"],
    ["a text of a Service", "web.default.svc.cluster.local", "TXT", "NODATA"],
    ["the zone", "cluster.local", "A", "NODATA"],
    ["the branch of Services", "svc.cluster.local", "A", "NODATA"],
    ["a namespace", "default.svc.cluster.local", "A", "NODATA"],
    ["a namespace without Services", "empty.svc.cluster.local", "A", "NODATA"],
    ["a namespace that is not there", "nowhere.svc.cluster.local", "A", "NXDOMAIN"],
    ["a branch of nothing", "web.default.cluster.local", "A", "NXDOMAIN"],
    ["too many labels", "a.b.c.web.default.svc.cluster.local", "A", "NXDOMAIN"],
    ["a pod in no namespace", "10-244-1-5.nowhere.pod.cluster.local", "A", "NXDOMAIN"],
    ["a pod without an address", "db-0.default.pod.cluster.local", "A", "NXDOMAIN"],
    ["a pod by half an address", "10-244-1.default.pod.cluster.local", "A", "NXDOMAIN"],
    ["an alias that leads to itself", "self.shop.svc.cluster.local", "A", "NODATA"],
    ["an alias to an address", "address.shop.svc.cluster.local", "A", "NXDOMAIN"],
    ["an alias to nonsense", "nonsense.shop.svc.cluster.local", "A", "NXDOMAIN"],
    ["an endpoint of an alias", "x.out.shop.svc.cluster.local", "A", "NXDOMAIN"],
    ["a name of the world", "www.example.com", "A", "elsewhere"],
    ["a zone that only ends alike", "web.default.svc.mycluster.local", "A", "elsewhere"],
    ["the root", ".", "NS", "elsewhere"],
  ])("%s: %s %s is %s", (_title, name, type, expected) => {
    expect(outcome(name, type)).toBe(expected);
  });

  it("says how long to remember that", () => {
    expect(ask("nobody.default.svc.cluster.local", "A")?.authorities.map(line)).toEqual([
      "cluster.local 30 SOA ns.dns.cluster.local hostmaster.cluster.local 30",
    ]);
  });
});

describe("changes", () => {
  it("follow a Service, with its old address", () => {
    zone.apply(serviceObject("default/web", { clusterIP: "10.96.0.99", ports: [{ port: 80 }] }));
    expect(lines(ask("web.default.svc.cluster.local", "A"))).toEqual([
      "web.default.svc.cluster.local 30 A 10.96.0.99",
    ]);
    expect(outcome("20.0.96.10.in-addr.arpa", "PTR")).toBe("elsewhere");
    expect(outcome("99.0.96.10.in-addr.arpa", "PTR")).toBe("NOERROR");
  });

  it("follow a slice: endpoints that become ready, and those that go", () => {
    zone.apply(sliceObject("shop/idle", [{ address: "10.244.1.8", ready: true }]));
    expect(outcome("idle.shop.svc.cluster.local", "A")).toBe("NOERROR");
    zone.apply(sliceObject("shop/db", [{ address: "10.244.3.3", hostname: "db-9" }]));
    expect(lines(ask("db.shop.svc.cluster.local", "A"))).toEqual([
      "db.shop.svc.cluster.local 30 A 10.244.3.3",
    ]);
    expect(outcome("db-0.db.shop.svc.cluster.local", "A")).toBe("NXDOMAIN");
    expect(outcome("7.1.244.10.in-addr.arpa", "PTR")).toBe("elsewhere");
    expect(outcome("3.3.244.10.in-addr.arpa", "PTR")).toBe("NOERROR");
  });

  it("of one Service with ten thousand slices cost what each costs, and copies keep their own", () => {
    const large = new ClusterZone();
    large.apply(serviceObject("default/web", { clusterIP: "None", ports: [{ port: 80 }] }));
    const sliceOf = (index: number) =>
      sliceObject("default/web", [{ address: "10.244.1.8", hostname: "web" }], { slice: `web-${index}` });
    const before = process.cpuUsage();
    for (let index = 0; index < 10_000; index++) large.apply(sliceOf(index));
    expect(process.cpuUsage(before).user).toBeLessThan(1_000_000);
    const copy = fork(large);
    copy.apply(sliceOf(10_000));
    copy.remove(sliceOf(0));
    copy.remove(sliceOf(1));
    const counts = [large, copy].map((each) => each.listSlices(each.getService("default", "web")!).length);
    expect(counts).toEqual([10_000, 9_999]);
  });

  it("add the slices of one Service up", () => {
    zone.apply(sliceObject("shop/db", [{ address: "10.244.4.4", hostname: "db-0" }], { slice: "db-second" }));
    expect(lines(ask("db-0.db.shop.svc.cluster.local", "A"))).toEqual([
      "db-0.db.shop.svc.cluster.local 30 A 10.244.1.7",
      "db-0.db.shop.svc.cluster.local 30 A 10.244.4.4",
    ]);
  });

  it("take an object out, and leave nothing of it", () => {
    zone.remove(serviceObject("default/web", undefined));
    expect(outcome("web.default.svc.cluster.local", "A")).toBe("NXDOMAIN");
    expect(outcome("20.0.96.10.in-addr.arpa", "PTR")).toBe("elsewhere");
    zone.remove(sliceObject("shop/db", []));
    expect(outcome("db.shop.svc.cluster.local", "A")).toBe("NXDOMAIN");
    zone.remove(namespaceObject("empty"));
    expect(outcome("empty.svc.cluster.local", "A")).toBe("NXDOMAIN");
    // A namespace without an object of its own is there as long as it has a Service.
    expect(outcome("shop.svc.cluster.local", "A")).toBe("NODATA");
  });

  it("do not reach a copy", () => {
    const copy = fork(zone);
    zone.remove(serviceObject("default/web", undefined));
    expect(
      lines(copy.answer({ name: "web.default.svc.cluster.local", type: "A", class: "IN" })),
    ).toHaveLength(1);
  });

  it("are objects that were never there", () => {
    zone.remove(serviceObject("default/ghost", undefined));
    zone.remove(sliceObject("nowhere/ghost", []));
    zone.remove(namespaceObject("ghost"));
    expect(outcome("web.default.svc.cluster.local", "A")).toBe("NOERROR");
  });
});

describe("objects that have no names", () => {
  it("are slices of names, slices of nobody, and names that DNS cannot hold", () => {
    zone.apply(
      sliceObject("shop/db", [{ address: "backend.example.com" }], { slice: "fqdn", addressType: "FQDN" }),
    );
    const { labels: _labels, ...metadata } = sliceObject("shop/db", [{ address: "10.9.9.9" }]).metadata;
    zone.apply({
      ...sliceObject("shop/db", [{ address: "10.9.9.9" }], { slice: "lone" }),
      metadata: { ...metadata, name: "lone" },
    });
    zone.apply(serviceObject("shop/two.labels", { clusterIP: "10.96.0.77" }));
    zone.apply(serviceObject(`shop/${"x".repeat(64)}`, { clusterIP: "10.96.0.78" }));
    zone.apply(
      sliceObject("shop/db", [{ address: "10.244.9.1", hostname: "not a label" }], { slice: "odd" }),
    );
    expect(lines(ask("db.shop.svc.cluster.local", "A")).map((text) => text.split(" ")[3])).toEqual([
      "10.244.1.7",
      "10.244.2.7",
      "10.244.2.8",
      "10.244.9.1",
    ]);
    expect(outcome("10-244-9-1.db.shop.svc.cluster.local", "A")).toBe("NOERROR");
    expect(outcome("77.0.96.10.in-addr.arpa", "PTR")).toBe("elsewhere");
    expect(outcome("78.0.96.10.in-addr.arpa", "PTR")).toBe("elsewhere");
  });
});

describe("the cluster's domain", () => {
  it("may be another one", () => {
    const other = new ClusterZone({ zone: "Corp.Example.", ttlSeconds: 5 });
    other.apply(serviceObject("default/web", { clusterIP: "10.96.0.20" }));
    const answer = other.answer({ name: "web.default.svc.corp.example", type: "A", class: "IN" });
    expect(lines(answer)).toEqual(["web.default.svc.corp.example 5 A 10.96.0.20"]);
  });
});

describe("15 000 pods", () => {
  it("cost a change what the change costs", () => {
    const large = new ClusterZone();
    const slices = Array.from({ length: 150 }, (_, index) => {
      const endpoints = Array.from({ length: 100 }, (_each, last) => ({
        address: `10.${index}.1.${last}`,
        hostname: `pod-${index}-${last}`,
      }));
      return sliceObject(`ns-${index % 30}/svc-${index}`, endpoints);
    });
    for (let index = 0; index < 150; index++)
      large.apply(
        serviceObject(`ns-${index % 30}/svc-${index}`, { clusterIP: "None", ports: [{ port: 80 }] }),
      );
    for (const slice of slices) large.apply(slice);
    const others = large.listSlices(large.getService("ns-1", "svc-31")!);
    large.apply(slices[0]!);
    // What did not change is the same object as before.
    expect(large.listSlices(large.getService("ns-1", "svc-31")!)[0]).toBe(others[0]);
    const found = large.answer({
      name: "pod-149-99.svc-149.ns-29.svc.cluster.local",
      type: "A",
      class: "IN",
    });
    expect(lines(found)).toEqual(["pod-149-99.svc-149.ns-29.svc.cluster.local 30 A 10.149.1.99"]);
  });
});
