import { describe, expect, it } from "vitest";
import { parseIp } from "#core/net/ip.ts";
import { SourceText } from "#core/base/source-text.ts";
import type { DoctorReport } from "./doctor.ts";
import { examineNodes } from "./doctor.ts";
import { isDescription, readListed } from "./listed-objects.ts";
import { linesOf } from "./place.ts";
import { FileReading } from "./read-evidence.ts";

const WIDE = `
PS C:\\k> kubectl get nodes -o wide
NAME     STATUS                        ROLES           AGE    VERSION   INTERNAL-IP   EXTERNAL-IP   OS-IMAGE                       KERNEL-VERSION    CONTAINER-RUNTIME
master   Ready                         control-plane   3d     v1.30.1   10.0.0.4      <none>        Ubuntu 22.04.4 LTS             5.15.0-107        containerd://1.7.17
winw1    NotReady,SchedulingDisabled   <none>          2d1h   v1.30.1   10.0.0.5      <none>        Windows Server 2022 Standard   10.0.20348.2461   containerd://1.7.17
winw2    Ready                         <none>          2d1h   v1.30.1   10.0.0.6      <none>        Windows Server 2022 Standard   10.0.20348.2461   containerd://1.7.17
`;
const PODS = `
NAMESPACE     NAME                       READY   STATUS             RESTARTS         AGE   IP         NODE    NOMINATED NODE   READINESS GATES
kube-system   kube-proxy-windows-8vb2l   0/1     CrashLoopBackOff   12 (2m41s ago)   40m   10.0.0.6   winw2   <none>           <none>
shop          web-5f6d8                  0/1     CrashLoopBackOff   30 (1m ago)      3h    10.4.1.9   winw2   <none>           <none>
`;
const NARROW = `
NAME           STATUS     ROLES                  AGE   VERSION
controlplane   Ready      control-plane,master   78m   v1.21.0
winw1          NotReady   <none>                 68m   v1.21.2
`;
/** The columns of kubectl's describer (pkg/describe/describe.go); one node, then a pod. */
const DESCRIBED = `
Name:               winw1
Roles:              <none>
Labels:             kubernetes.io/arch=amd64
                    kubernetes.io/os=windows
Annotations:        node.alpha.kubernetes.io/ttl: 0
Unschedulable:      false
Conditions:
  Type             Status  LastHeartbeatTime                 LastTransitionTime                Reason                       Message
  ----             ------  -----------------                 ------------------                ------                       -------
  DiskPressure     False   Thu, 08 Feb 2024 11:55:40 +0100   Thu, 08 Feb 2024 10:55:40 +0100   KubeletHasNoDiskPressure     kubelet has no disk pressure
  Ready            False   Thu, 08 Feb 2024 11:55:40 +0100   Thu, 08 Feb 2024 10:55:40 +0100   KubeletNotReady              container runtime network not ready: NetworkReady=false
Addresses:
  InternalIP:  10.0.0.5
  Hostname:    winw1
System Info:
  Operating System:           windows

Name:         web-1
Namespace:    shop
Node:         winw1/10.0.0.5
Labels:       <none>
Conditions:
  Type              Status
  Ready             False
`;

async function examine(text: string): Promise<DoctorReport> {
  return examineNodes([new FileReading(new SourceText("paste.txt", text))]);
}

const listed = (text: string): ReturnType<typeof readListed> =>
  readListed(linesOf(new SourceText("paste.txt", text)));

describe("tables", () => {
  it("of nodes are read by their columns, within a session too", () => {
    expect(listed(WIDE).nodes.map(({ name, isWindows, isReady }) => [name, isWindows, isReady])).toEqual([
      ["master", false, true],
      ["winw1", true, false],
      ["winw2", true, true],
    ]);
  });

  it("without -o wide do not tell the system", () => {
    expect(listed(NARROW).nodes.map(({ name, isWindows }) => [name, isWindows])).toEqual([
      ["controlplane", undefined],
      ["winw1", undefined],
    ]);
  });

  it("of which a row is wrapped or cut show what is left of it, and that is said", async () => {
    const text = WIDE.replace("Standard   10.0.20348.2461   containerd://1.7.17", "Sta");
    const { findings, notRead } = await examine(text);
    expect(findings.map(({ node, code }) => [node, code])).toEqual([["winw1", "node-not-ready"]]);
    expect(notRead).toEqual([
      {
        file: "paste.txt",
        line: 5,
        reason: "this row of kubectl's table is cut: its last columns are missing",
      },
    ]);
    const wrapped = WIDE.replace(
      "   Windows Server 2022 Standard   10.0.20348",
      "\n   Windows Server 2022   10",
    );
    expect(listed(wrapped).nodes.map(({ name, isWindows }) => [name, isWindows])).toEqual([
      ["master", false],
      ["winw1", undefined],
      ["winw2", true],
    ]);
  });

  it("tell which Windows nodes are not ready, and whose programs restart", async () => {
    const { nodes, findings, checksMade } = await examine(WIDE + PODS);
    expect(nodes).toEqual(["winw1", "winw2"]);
    expect(checksMade).toBe(4);
    expect(findings.map(({ node, code, certainty }) => [node, code, certainty])).toEqual([
      ["winw1", "node-not-ready", "certain"],
      ["winw2", "network-program-restarts", "certain"],
    ]);
    // A workload that crashes is no fault of the node's network.
    expect(findings[1]?.message).toBe(
      "kube-system/kube-proxy-windows-8vb2l restarts again and again on this node",
    );
    expect(findings[1]?.others).toBeUndefined();
  });

  it("are not asked for where objects say more", async () => {
    const metadata = { name: "winw1", labels: { "kubernetes.io/os": "windows" } };
    const node = {
      apiVersion: "v1",
      kind: "Node",
      metadata,
      status: { nodeInfo: { operatingSystem: "windows" } },
    };
    const { checksNotMade } = await examine(JSON.stringify(node));
    expect(checksNotMade.flatMap(({ missing }) => missing)).not.toContain("listed nodes");
    const without = await examine(WIDE);
    expect(without.checksNotMade.flatMap(({ missing }) => missing)).toContain("listed pods");
  });

  it.each([NARROW, PODS])("that do not tell the system are named, and nothing is concluded", async (text) => {
    const { findings, notRead } = await examine(text);
    expect(findings).toEqual([]);
    expect(notRead.map(({ reason }) => reason)).toEqual([
      expect.stringContaining("add the output of kubectl get nodes -o wide"),
    ]);
  });
});

describe("kubectl describe", () => {
  it("of a node is told from that of a pod", async () => {
    expect(listed(DESCRIBED).nodes).toMatchObject([
      { name: "winw1", isWindows: true, isReady: false, address: parseIp("10.0.0.5") },
    ]);
    const { findings } = await examine(DESCRIBED);
    expect(findings.map(({ code }) => code)).toEqual(["node-not-ready"]);
    expect(findings[0]?.evidence).toEqual([
      {
        file: "paste.txt",
        line: 12,
        says: "Ready False: KubeletNotReady container runtime network not ready: NetworkReady=false",
      },
    ]);
  });

  it("is no YAML, and a manifest is no description", () => {
    expect(isDescription(DESCRIBED)).toBe(true);
    expect(isDescription("Name:         web-1\nNamespace:    shop\nEvents:\n")).toBe(true);
    expect(isDescription("apiVersion: v1\nkind: Node\nmetadata:\n  name: win-1\n")).toBe(false);
    expect(isDescription("Name             : flannel.4096\nType : Overlay\n")).toBe(false);
  });
});
