// The start scripts step by step (control-planes.md §2, rows S1 to S5 of §10.2).
import { describe, expect, it } from "vitest";
import { listLoadBalancers } from "#contracts/hcn/operations.ts";
import { parsePrefix } from "#core/net/ip.ts";
import { defined } from "#core/base/assert.ts";
import {
  bareNode,
  bringUpBy,
  codesOf,
  commandLineOf,
  fileOf,
  stepOf,
} from "#test/support/cluster/bring-up-world.ts";
import { hcnClientOf } from "../machines/windows-node.ts";
import { runScripts } from "./bring-up.ts";
import { removePolicyLists } from "./program-steps.ts";

const SOURCE_VIP = String.raw`C:\k\sourceVip.json`;
const SUBNET_ENV = String.raw`C:\run\flannel\subnet.env`;
const CNI_CONF = String.raw`C:\k\cni\config\cni.conf`;
const RAN_CONF = String.raw`C:\etc\kube-flannel\net-conf.json`;

describe("start.ps1", () => {
  it("§2.1: makes the steps in their order", async () => {
    const { steps } = await bringUpBy({ edits: ["copy-net-conf"] });
    expect(steps.map(({ script, name, outcome }) => `${script}: ${name}: ${outcome}`)).toEqual([
      String.raw`by hand: Prepare C:\k: done`,
      "install.ps1: Download files: done",
      "install.ps1: Copy net-conf.json: done",
      "install.ps1: Remove the old network: done",
      "install.ps1: Make the network External: done",
      "install.ps1: Wait: done",
      "install.ps1: Write cni.conf: done",
      "install.ps1: Write net-conf.json: done",
      "by hand: Copy net-conf.json again: done",
      "start-kubelet.ps1: Register the node: done",
      "start.ps1: Start flanneld: done",
      "start.ps1: Wait for the network: done",
      "start.ps1: Reserve the source VIP: done",
      "start-kubelet.ps1: Start kubelet: done",
      "start.ps1: Wait: done",
      "start-kubeproxy.ps1: Remove all policy lists: done",
      "start-kubeproxy.ps1: Start kube-proxy: done",
    ]);
  });

  it("is up with everything right, and says the same each time", async () => {
    const report = await bringUpBy({ edits: ["copy-net-conf"] });
    expect(report.outcome).toBe("up");
    expect(await bringUpBy({ edits: ["copy-net-conf"] })).toEqual(report);
  });

  it("shows what a step changes of the Node: flanneld says that its network is there", async () => {
    const { steps } = await bringUpBy({ edits: ["copy-net-conf"] });
    const ofNode = steps.flatMap(({ name: step, changes }) =>
      changes
        .filter(({ kind, name }) => kind === "node" || name.startsWith("condition"))
        .map(({ kind, name, change, detail }) => `${step}: ${change} ${kind} ${name}: ${detail ?? ""}`),
    );
    expect(ofNode).toEqual([
      "Register the node: created node win-1: podCIDR 10.244.1.0/24",
      "Start flanneld: created node-field condition NetworkUnavailable: False",
    ]);
  });

  it("shows endpoints that a step makes, by name and address", async () => {
    const { steps } = await bringUpBy({ edits: ["copy-net-conf"] });
    const endpoints = steps.flatMap(({ name: step, changes }) =>
      changes
        .filter(({ kind }) => kind === "endpoint")
        .map(({ name, change, detail }) => `${step}: ${change} ${name}: ${detail ?? ""}`),
    );
    // The source VIP is local; API servers, pods of kube-dns and, on an overlay, ClusterIPs are remote (kube-proxy.md §3).
    expect(endpoints).toEqual([
      "Start kube-proxy: created Ethernet 10.0.0.254: remote",
      "Start kube-proxy: created Ethernet 10.244.0.2: remote",
      "Start kube-proxy: created Ethernet 10.244.0.3: remote",
      "Start kube-proxy: created Ethernet 10.244.1.2: local",
      "Start kube-proxy: created Ethernet 10.96.0.1: remote",
      "Start kube-proxy: created Ethernet 10.96.0.10: remote",
    ]);
  });

  it("makes External to have the switch: the address moves to its vNIC (§1.10)", async () => {
    const { changes } = stepOf(await bringUpBy(), "Make the network External");
    expect(changes.map(({ kind, name, change }) => `${change} ${kind} ${name}`)).toEqual([
      "created network External",
      "deleted adapter Ethernet",
      "created adapter vEthernet (Ethernet)",
      "deleted route 0.0.0.0/0 via 10.0.0.1 on Ethernet",
      "created route 0.0.0.0/0 via 10.0.0.1 on vEthernet (Ethernet)",
      "created firewall-rule OverlayTraffic4789UDP",
    ]);
    expect(changes[0]?.detail).toContain("Overlay, 192.168.255.0/30");
  });

  it("writes cni.conf for host-gw with the node's subnet and address (§2.4)", async () => {
    const report = await bringUpBy({ backend: "host-gw" });
    expect(report.outcome).toBe("up");
    const conf = JSON.parse(fileOf(report, CNI_CONF)) as unknown;
    expect(conf).toEqual({
      cniVersion: "0.2.0",
      name: "cbr0",
      type: "flannel",
      delegate: {
        type: "win-bridge",
        dns: { Nameservers: ["10.96.0.10"], Search: ["svc.cluster.local"] },
        policies: [
          {
            Name: "EndpointPolicy",
            Value: {
              Type: "OutBoundNAT",
              ExceptionList: ["10.244.0.0/16", "10.96.0.0/12", "10.0.0.0/24"],
            },
          },
          {
            Name: "EndpointPolicy",
            Value: { Type: "ROUTE", DestinationPrefix: "10.96.0.0/12", NeedEncap: true },
          },
          {
            Name: "EndpointPolicy",
            Value: { Type: "ROUTE", DestinationPrefix: "10.0.0.11/32", NeedEncap: true },
          },
        ],
      },
    });
    expect(commandLineOf(report, "kube-proxy")).not.toContain("--source-vip");
  });

  it("CP-S1: kube-proxy's --source-vip is the IP part of ip4.ip", async () => {
    const report = await bringUpBy();
    const { ip4 } = JSON.parse(fileOf(report, SOURCE_VIP)) as { ip4: { ip: string } };
    expect(ip4.ip).toBe("10.244.1.2/24");
    expect(commandLineOf(report, "kube-proxy")).toContain(
      "--feature-gates=WinOverlay=true --network-name=vxlan0 --source-vip=10.244.1.2 --enable-dsr=false",
    );
  });

  it("CP-S2: in the first run flanneld reads the net-conf that was fetched, in the second the one that was written", async () => {
    const first = await bringUpBy();
    expect(first.outcome).toBe("up-with-findings");
    expect(codesOf(first)).toEqual(["start-script-configuration-old"]);
    expect(fileOf(first, RAN_CONF)).toContain("192.168.0.0/16");
    expect(fileOf(first, SUBNET_ENV)).toContain("FLANNEL_NETWORK=192.168.0.0/16");
    const second = await bringUpBy({ more: { runs: 2 } });
    expect(second.outcome).toBe("up");
    expect(fileOf(second, SUBNET_ENV)).toContain("FLANNEL_NETWORK=10.244.0.0/16");
  });

  it("CP-S3: the network never appears, and the script waits for ever", async () => {
    const report = await bringUpBy({ faults: ["node-without-range"] });
    const step = stepOf(report, "Wait for the network");
    expect(step.outcome).toBe("waits");
    expect(step.tookMs).toBe(300_000);
    expect(step.output).toEqual(["Waiting for the Network to be created (300 times)"]);
    expect(step.findings.map(({ code }) => code)).toEqual(["start-script-network-never-made"]);
    expect(stepOf(report, "Start flanneld").findings.at(-1)).toEqual({
      code: "flannel-node-without-range",
      message: 'Error registering network: failed to acquire lease: node "win-1" pod cidr not assigned',
    });
    expect(stepOf(report, "Start kube-proxy").outcome).toBe("skipped");
  });

  it("CP-S4: a sourceVip.json from before the node joined again is a wrong address until it is removed", async () => {
    const formerRange = defined(parsePrefix("10.244.9.0/24"), "it is a range");
    const stale = await bringUpBy({ edits: ["copy-net-conf"], more: { formerRange } });
    expect(codesOf(stale)).toContain("kube-proxy-source-vip-invalid");
    expect(commandLineOf(stale, "kube-proxy")).toContain("--source-vip=10.244.9.2 ");
    expect(stale.outcome).not.toBe("up");

    const node = await bareNode({ edits: ["copy-net-conf"], more: { formerRange } });
    node.files.remove(SOURCE_VIP);
    const repaired = await runScripts(node);
    expect(repaired.outcome).toBe("up");
    expect(commandLineOf(repaired, "kube-proxy")).toContain("--source-vip=10.244.1.2 ");
  });

  it.each(["no JSON", "[]", '{"code":999,"msg":"no"}', '{"ip4":{"ip":7}}'])(
    "a sourceVip.json that holds %s is no address, and kube-proxy ends without one",
    async (text) => {
      const node = await bareNode({ edits: ["copy-net-conf"] });
      await node.files.write(SOURCE_VIP, text);
      const report = await runScripts(node);
      expect(commandLineOf(report, "kube-proxy")).toContain("--source-vip= ");
      expect(
        stepOf(report, "Start kube-proxy")
          .findings.map(({ message }) => message)
          .join(),
      ).toContain("source-vip");
    },
  );

  it("CP-S5: all policy lists go before kube-proxy starts, whoever made them", async () => {
    const node = await bareNode();
    await runScripts(node);
    const hns = hcnClientOf(node.node);
    // Of the API server, and of the DNS over UDP and TCP.
    expect(await listLoadBalancers(hns)).toHaveLength(3);
    await removePolicyLists("start-kubeproxy.ps1").perform(node);
    expect(await listLoadBalancers(hns)).toEqual([]);
  });
});
