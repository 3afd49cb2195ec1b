// What the scripts of the field find in our output: their patterns, written again (users.md §4; dataplane.md §7.8, §7.9).
import { beforeAll, describe, expect, it } from "vitest";
import type { ControlClient } from "#cluster/api/client.ts";
import { defined } from "#core/base/assert.ts";
import { openInspectionClient } from "#test/support/cluster/inspection-client.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { serviceClusterFile, serviceManifests } from "#test/support/cluster/service-cluster.ts";
import { runVfpctrl } from "./program.ts";

let client: ControlClient;
beforeAll(async () => {
  client = await openInspectionClient(serviceClusterFile({ enableDSR: true }), serviceManifests());
});

async function vfpctrl(line: string): Promise<string> {
  const terminal = new MemoryTerminal();
  const words = [...line.split(" "), "--mullion-node", "win-1"];
  const code = await runVfpctrl(words, terminal, async () => Promise.resolve(client));
  expect({ line, code, errors: terminal.errors }).toEqual({ line, code: 0, errors: "" });
  return terminal.output;
}

interface JsonRule {
  readonly Id: string;
  readonly Name: string;
  readonly Type: string;
  readonly Conditions: readonly Readonly<Record<string, unknown>>[];
}
interface JsonLayers {
  readonly Layers: readonly {
    readonly Name: string;
    readonly Groups: readonly { readonly Name: string; readonly Rules: readonly JsonRule[] }[];
  }[];
}

async function json<T>(line: string): Promise<T> {
  return JSON.parse(await vfpctrl(`${line} /format 1`)) as T;
}

/** The GUID of the first port whose friendly name matches, found as scripts do. */
async function portGuid(pattern: RegExp): Promise<string> {
  const { Ports } = await json<{ Ports: readonly { Name: string; Id: string }[] }>("/list-vmswitch-port");
  return defined(
    Ports.find(({ Id }) => pattern.test(Id)),
    "a port",
  ).Name;
}

interface ServiceFacts {
  readonly vip: string;
  readonly id: string;
  readonly port: number;
}
async function serviceOf(vipPort: number, protocol: number): Promise<readonly ServiceFacts[]> {
  const { items } = await client.hns("loadbalancers", "win-1");
  return items.flatMap((item) => {
    const mappings = item["PortMappings"] as readonly { ExternalPort: number; Protocol: number }[];
    const vips = item["FrontendVIPs"] as readonly string[] | undefined;
    const mapping = mappings.find((each) => each.ExternalPort === vipPort && each.Protocol === protocol);
    const [vip] = vips ?? [];
    return mapping === undefined || vip === undefined ? [] : [{ vip, id: item["ID"], port: vipPort }];
  });
}

describe("networkhealth.ps1: rules of load balancers that have to be there", () => {
  async function rulesOf(port: string, layer: string, group: string): Promise<readonly JsonRule[]> {
    const { Layers } = await json<JsonLayers>(`/list-rule /port ${port}`);
    const found = Layers.find(({ Name }) => Name === layer)?.Groups.find(({ Name }) => Name === group);
    return found?.Rules ?? [];
  }

  it("LB_DSR_\\w*_{mgmtIP}_{VIP}_{ext}_{int}_{proto} on every pod's port", async () => {
    const [dns] = await serviceOf(53, 17);
    const rules = await rulesOf(await portGuid(/^Container NIC/), "LB_DSR", "LB_DSR_IPv4_OUT");
    const pattern = new RegExp(`^LB_DSR_\\w*_10\\.0\\.0\\.11_${dns?.vip ?? "?"}_53_\\d+_17$`);
    expect(rules.filter(({ Id }) => pattern.test(Id))).toHaveLength(1);
  });

  it("LB_HOST_\\w*_{VIP}_{ext}_{int}_{proto} and HairPin_ on the host's port", async () => {
    const host = await portGuid(/^vEthernet \(Ethernet\)$/);
    const balanced = await rulesOf(host, "LB", "LB_OUT");
    expect(balanced.filter(({ Id }) => /^LB_HOST_\w*_[\d.]+_80_8080_6$/.test(Id)).length).toBeGreaterThan(0);
    const hairpins = await rulesOf(host, "SLB_HAIRPIN_LAYER", "SLB_GROUP_HAIRPIN_IPv4_IN");
    expect(hairpins.filter(({ Id }) => /^HairPin_\w*_10\.0\.0\.11_30080_30080_6$/.test(Id)).length).toBe(1);
  });

  it("NAT_ and ALLOW_NAT_ on a back end's port, SNAT_TCP_OUTBOUNDNAT_ as dynnat", async () => {
    const { items } = await client.vfpPorts("win-1");
    const containers = items.filter(({ friendlyName }) => friendlyName.startsWith("Container NIC"));
    const found = await Promise.all(
      containers.map(async ({ name }) => {
        const nat = await rulesOf(name, "SLB_NAT_LAYER", "SLB_GROUP_NAT_IPv4_IN");
        const out = await rulesOf(name, "SLB_NAT_LAYER", "SLB_GROUP_NAT_IPv4_OUT");
        return { nat, out };
      }),
    );
    const backEnd = defined(
      found.find(({ nat }) => nat.some(({ Id }) => /^NAT_\w*_[\d.]+_80_6$/.test(Id))),
      "a pod of the node is a back end",
    );
    expect(backEnd.out.filter(({ Id }) => /^ALLOW_NAT_\w*_[\d.]+_80_6$/.test(Id)).length).toBeGreaterThan(0);
    for (const { out } of found) {
      const translations = out.filter(({ Name }) => Name.startsWith("SNAT_TCP_OUTBOUNDNAT_"));
      expect(translations.map(({ Type }) => Type)).toEqual(["dynnat"]);
    }
  });
});

describe("monitorDNS.ps1: the text without blanks, one line at a time", () => {
  it("two rules for the DNS service on each pod's port; the MAC leads to the port", async () => {
    const lines = (await vfpctrl("/list-vmswitch-port"))
      .split("\r\n")
      .filter((line) => line.includes(" "))
      .map((line) => line.replaceAll(" ", ""));
    const ports = new Map<string, string>();
    let port = "";
    for (const line of lines.filter((each) => /^(?:Portname|MACaddress):/i.test(each))) {
      const [name, value = ""] = line.split(":");
      if (name === "Portname") port = value;
      else ports.set(value, port);
    }
    const { items } = await client.hns("endpoints", "win-1");
    const macs = items
      .filter((item) => item["Name"] !== "cbr0_ep" && (((item["Flags"] ?? 0) as number) & 1) === 0)
      .map((item) => item["MacAddress"] as string);
    const known = macs.filter((mac) => ports.has(mac));
    expect(known.length).toBeGreaterThan(2);
    const [dns] = await serviceOf(53, 17);
    for (const mac of known) {
      const text = await vfpctrl(
        `/port ${ports.get(mac) ?? ""} /list-rule /layer LB_DSR /group LB_DSR_IPv4_OUT`,
      );
      const names = text.split("\r\n").map((line) => line.replaceAll(" ", ""));
      const wanted = new RegExp(`^RULE:LB_DSR_.*_.*_${dns?.vip ?? "?"}_53_\\d+_17$`);
      expect(names.filter((line) => wanted.test(line))).toHaveLength(1);
    }
  });
});

describe("cleanup-orphan-rules.ps1: the id with the load balancer's part last", () => {
  it("LB_DSR_<node>_<VIP>_<ext>_<int>_<protocol>_<five of the id>", async () => {
    const port = await portGuid(/^Container NIC/);
    const [dns] = await serviceOf(53, 17);
    const line = `/port ${port} /layer LB_DSR /group LB_DSR_IPv4_OUT /list-rule --mullion-lb-dsr tag-last`;
    const { Rules } = await json<{ Rules: readonly JsonRule[] }>(line);
    const expected = `LB_DSR_10.0.0.11_${dns?.vip ?? ""}_53_5353_17_${(dns?.id ?? "").slice(0, 5).toUpperCase()}`;
    const rule = Rules.find(({ Id }) => Id === expected);
    expect(Rules.map(({ Id }) => Id)).toContain(expected);
    // What the script looks at next.
    const info = await json<{ Rules: readonly JsonRule[] }>(
      `/get-rule-info /port ${port} /layer LB_DSR /group LB_DSR_IPv4_OUT /rule ${expected} --mullion-lb-dsr tag-last`,
    );
    expect(info.Rules).toEqual([rule]);
    const byName = await json<{ Rules: readonly JsonRule[] }>(
      `/get-rule-info /port ${port} /layer LB_DSR /group LB_DSR_IPv4_OUT /rule ${rule?.Name ?? ""} --mullion-lb-dsr tag-last`,
    );
    expect(byName.Rules).toContainEqual(rule);
    const conditions = Object.assign({}, ...(rule?.Conditions ?? [])) as Readonly<
      Record<string, readonly unknown[]>
    >;
    expect(conditions["ProtocolList"]?.[0]).toBe(17);
    expect(conditions["DestinationIPv4RangeList"]?.[0]).toMatchObject({ H: dns?.vip });
    expect(conditions["DestinationPortList"]?.[0]).toBe(53);
  });
});

describe("VFP.psm1: patterns over whole texts", () => {
  it("ports end with an empty line, layers and groups too", async () => {
    const ports = await vfpctrl("/list-vmswitch-port");
    const { items } = await client.vfpPorts("win-1");
    expect([...ports.matchAll(/(^Port name.*?: .*?\r\n\r\n)/gms)]).toHaveLength(items.length);
    const guid = await portGuid(/^Container NIC/);
    const layers = [...(await vfpctrl(`/list-layer /port ${guid}`)).matchAll(/(^LAYER : .*?\r\n\r\n?$)/gms)];
    expect(layers).toHaveLength(7);
    const groups = [
      ...(await vfpctrl(`/list-group /port ${guid} /layer ACL_ENDPOINT_LAYER`)).matchAll(
        /(^ {2}GROUP : .*?)\r\n\r\n/gms,
      ),
    ];
    expect(groups).toHaveLength(4);
    const rules = [
      ...(
        await vfpctrl(`/list-rule /port ${guid} /layer ACL_ENDPOINT_LAYER /group ACL_ENDPOINT_GROUP_IPV4_OUT`)
      ).matchAll(/(RULE : .*?)\r\n\r\n/gms),
    ];
    expect(rules).toHaveLength(1);
  });

  it("colons of a port: the first eight lines, and the five behind the ninth", async () => {
    const [first = ""] = (await vfpctrl("/list-vmswitch-port")).split(/(?=^Port name)/m).slice(1);
    const matches = [...first.matchAll(/(.*?): (.*?)\r\n/gms)].map(([, name = "", value = ""]) => [
      name.trim(),
      value.trim(),
    ]);
    expect(matches.slice(0, 8).map(([name]) => name)).toEqual([
      "Port name",
      "Port Friendly name",
      "Switch name",
      "Switch Friendly name",
      "PortId",
      "VMQ Weight",
      "VMQ Usage",
      "SR-IOV Weight",
    ]);
    // The type has a second colon; the sentences behind it run into the next name.
    expect(matches[9]).toEqual(["Port type", ": External"]);
    expect(matches[13]?.[0]).toBe("MAC address");
  });
});

describe("Retina: /get-port-counter without blanks", () => {
  it("OUT before IN, and a number behind every colon", async () => {
    const text = (await vfpctrl(`/port ${await portGuid(/^Container NIC/)} /get-port-counter`)).replaceAll(
      " ",
      "",
    );
    const sides = text.split("Direction-IN");
    expect(sides).toHaveLength(2);
    for (const side of sides) {
      const fields = side
        .split("\r\n")
        .map((line) => line.split(":"))
        .filter((parts) => parts.length === 2);
      for (const [, value = ""] of fields) expect(value).toMatch(/^\d+$/);
      const labels = fields.map(([label]) => label);
      for (const label of [
        "SYNpackets",
        "SYN-ACKpackets",
        "FINpackets",
        "RSTpackets",
        "TCPConnectionsVerified",
        "TCPConnectionsTimedOut",
        "TCPConnectionsReset",
        "TCPConnectionsResetbySYN",
        "TCPConnectionsClosedbyFIN",
        "TCPHalfOpenTimeouts",
        "TCPConnectionsExpiredtoTimeWait",
        "DroppedACLpackets",
      ])
        expect(labels).toContain(label);
    }
  });
});

it("networkhealth.ps1: no port is blocked", async () => {
  const text = await vfpctrl(`/get-port-state /port ${await portGuid(/^Container NIC/)}`);
  expect(text.replaceAll(/\s+/g, " ")).toContain("Blocked : FALSE");
  expect(text).toContain("PORT STATE\r\n  Enabled : TRUE\r\n");
});
