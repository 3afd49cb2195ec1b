// Files that say what a network is, and are no objects of a cluster: an Installation of Calico's operator, configurations
// of kube-proxy, kubeadm and flannel, CNI files in a folder. Texts in, facts and findings of verify out.
import { describe, expect, it } from "vitest";
import { readInput } from "#cluster/input/read-input.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { readClusterInputs } from "./cluster/read-cluster-inputs.ts";
import { exec } from "./exec.ts";
import { runMullion } from "./program.ts";
import { verify } from "./verify.ts";

const APP = `
apiVersion: v1
kind: Pod
metadata: { name: web }
spec: { nodeSelector: { kubernetes.io/os: windows }, containers: [{ name: c, image: c }] }
`;

interface Seen {
  /** `value [source:line]` by name. */
  readonly facts: Readonly<Record<string, string>>;
  readonly findings: readonly string[];
  readonly assumed: readonly string[];
}

type Files = Readonly<Record<string, string>>;

function terminalWith(files: Files): MemoryTerminal {
  const all = Object.entries({ "app.yaml": APP, ...files });
  return new MemoryTerminal(Object.fromEntries(all.map(([name, text]) => [`in/${name}`, text])));
}

/** What the folder comes to, without the flows. */
async function seen(files: Files): Promise<Seen> {
  const result = readInput(await readClusterInputs(["in"], false, terminalWith(files)));
  if (!("input" in result)) throw new Error(JSON.stringify(result.problems));
  const { input } = result;
  const facts = input.facts.map(({ name, value, source, where }) => {
    const line = where === undefined ? "" : `:${where.line}`;
    return [name, `${value} [${source}${line}]`] as const;
  });
  const findings = input.contradictions.map(
    ({ code, message, file, line }) => `${file}:${line} ${code}: ${message}`,
  );
  const assumed = input.notes.map(({ message }) => message);
  return { facts: Object.fromEntries(facts), findings, assumed };
}

async function verified(files: Files): Promise<{ readonly code: number; readonly text: string }> {
  const terminal = terminalWith(files);
  const argv = ["verify", "-f", "in"];
  const code = await runMullion({ argv, verbs: { verify }, terminal, version: "0", isDebug: false });
  return { code, text: terminal.output };
}

const KUBEADM = (fields: string): string => `# kubeadm init --config
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.31.4
networking: { ${fields} }
`;
const PROXY = (winkernel: string, clusterCIDR = "10.50.0.0/16"): string => `
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
featureGates: { WinDSR: true }
clusterCIDR: ${clusterCIDR}
winkernel: { ${winkernel} }
`;
const INSTALLATION = (calicoNetwork: string, more = "serviceCIDRs: [10.96.0.0/12]"): string => `
apiVersion: operator.tigera.io/v1
kind: Installation
metadata: { name: default }
spec:
  ${more}
  calicoNetwork: { ${calicoNetwork} }
`;
const POOL = (encapsulation: string, cidr = "10.244.0.0/16"): string =>
  `ipPools: [{ cidr: ${cidr}, encapsulation: ${encapsulation} }]`;
const NET_CONF = '{ "Network": "10.50.0.0/16", "Backend": { "Type": "host-gw" } }';

describe("kubeadm and kube-proxy", () => {
  it("ranges, domain and version are those of ClusterConfiguration", async () => {
    const { facts, findings } = await seen({
      "kubeadm.yaml": KUBEADM(
        "podSubnet: 10.50.0.0/16, serviceSubnet: 10.51.0.0/16, dnsDomain: plant.example",
      ),
    });
    expect(facts).toMatchObject({
      "pod range": "10.50.0.0/16 [in/kubeadm.yaml:2]",
      "service range": "10.51.0.0/16 [in/kubeadm.yaml:2]",
      "DNS domain": "plant.example [in/kubeadm.yaml:2]",
      "Kubernetes version": "1.31.4 [in/kubeadm.yaml:2]",
    });
    expect(findings).toEqual([]);
  });

  it("of two families the first is that of IPv4", async () => {
    const { facts } = await seen({ "k.yaml": KUBEADM("podSubnet: 'fd00:10::/56,10.60.0.0/16'") });
    expect(facts["pod range"]).toBe("10.60.0.0/16 [in/k.yaml:2]");
  });

  it("a range that does not fit is told of, and another one taken", async () => {
    const { facts, findings, assumed } = await seen({ "k.yaml": KUBEADM("podSubnet: 10.0.0.0/16") });
    expect(facts["pod range"]).toBeUndefined();
    expect(assumed.join()).toContain("in/k.yaml has 10.0.0.0/16 for pods, which does not fit");
    expect(findings).toEqual([]);
  });

  it("DSR is that of a bare KubeProxyConfiguration", async () => {
    const { facts } = await seen({ "proxy.yaml": PROXY("enableDSR: true") });
    expect(facts["DSR"]).toBe("on [in/proxy.yaml:2]");
  });

  // kube-proxy 1.31 has the gate off (kube-proxy.md §1.2).
  it("DSR without its gate is a finding", async () => {
    const files = {
      "k.yaml": KUBEADM("podSubnet: 10.50.0.0/16"),
      "p.yaml": PROXY("enableDSR: true").replace("WinDSR: true", "WinDSR: false"),
    };
    expect((await seen(files)).findings).toEqual([
      expect.stringContaining("p.yaml:2 kube-proxy-dsr-without-gate"),
    ]);
  });

  it("a start of kube-proxy that says otherwise is a finding", async () => {
    const daemon = `
apiVersion: apps/v1
kind: DaemonSet
metadata: { name: kube-proxy-windows, namespace: kube-system }
spec:
  selector: { matchLabels: { k: p } }
  template:
    metadata: { labels: { k: p } }
    spec:
      nodeSelector: { kubernetes.io/os: windows }
      containers: [{ name: c, image: p, args: [kube-proxy.exe, --enable-dsr=false] }]
`;
    const { findings } = await seen({ "d.yaml": daemon, "p.yaml": PROXY("enableDSR: true") });
    expect(findings).toEqual([
      "in/p.yaml:2 kube-proxy-settings-contradict: in/p.yaml has DSR on, and daemonset/kube-system/kube-proxy-windows starts kube-proxy with DSR off: which of them Windows nodes have is not told",
    ]);
  });

  it.each([
    ["flannel", { "net-conf.json": NET_CONF }, "in/net-conf.json has 10.50.0.0/16 for pods"],
    ["kube-proxy", { "p.yaml": PROXY("") }, "in/p.yaml has 10.50.0.0/16 for pods"],
    [
      "Calico",
      {
        "i.yaml": INSTALLATION(
          `windowsDataplane: HNS, ${POOL("VXLAN", "10.50.0.0/16")}`,
          "serviceCIDRs: [10.51.0.0/16]",
        ),
      },
      "in/i.yaml has 10.50.0.0/16 for pods",
    ],
    [
      "a Service",
      {
        "s.yaml":
          "apiVersion: v1\nkind: Service\nmetadata: {name: s}\nspec: {clusterIP: 10.96.3.4, ports: [{port: 80}]}\n",
      },
      "in/k.yaml has 10.51.0.0/16 for Services, and default/s has 10.96.3.4",
    ],
  ])("ranges beside those of %s are a finding", async (_, files, message) => {
    const kubeadm = KUBEADM("podSubnet: 10.60.0.0/16, serviceSubnet: 10.51.0.0/16");
    const { findings } = await seen({ "k.yaml": kubeadm, ...files });
    expect(findings.filter((each) => each.includes("cluster-ranges-contradict"))).toEqual([
      expect.stringContaining(message),
    ]);
  });
});

describe("files of a folder", () => {
  it("a CNI file is read, what only ends like one is not", async () => {
    const { facts, findings } = await seen({
      "10-flannel.conf":
        '{ "cniVersion": "0.3.0", "name": "cbr0", "type": "flannel", "delegate": { "type": "win-overlay" } }',
      "nginx.conf": "server { listen 80; }",
    });
    expect(facts["network plugin"]).toBe("flannel (delegates to win-overlay) [in/10-flannel.conf:1]");
    expect(findings).toEqual([]);
  });

  it("without any says which endings it looks for", async () => {
    const terminal = new MemoryTerminal({ "in/cni.conf.template": "{}" });
    await expect(readClusterInputs(["in"], false, terminal)).rejects.toMatchObject({
      message: 'there are no files .yaml, .yml, .json, .conf, .conflist in the folder "in"',
    });
  });

  it("a list of plugins is read", async () => {
    const { facts } = await seen({
      "10.conflist":
        '{ "cniVersion": "1.0.0", "name": "n", "plugins": [{ "type": "win-bridge", "ipam": { "type": "host-local" } }] }',
    });
    expect(facts["network plugin"]).toBe("win-bridge [in/10.conflist:1]");
  });

  it("a bare net-conf.json is read, its range as well", async () => {
    const { facts } = await seen({ "net-conf.json": NET_CONF });
    expect(facts["network mode"]).toBe("host-gw [in/net-conf.json:1]");
    expect(facts["pod range"]).toBe("10.50.0.0/16 [in/net-conf.json:1]");
  });

  // flannel, pkg/subnet/config.go: without a Backend it is udp, which Windows does not have.
  it("a net-conf.json without Backend is one of udp", async () => {
    const { code, text } = await verified({ "net-conf.json": '{ "Network": "10.50.0.0/16" }' });
    expect(text).toContain("udp [in/net-conf.json:1]");
    expect(text).toContain("flannel-backend-not-for-windows");
    expect(code).toBe(1);
  });

  it("CNI files that contradict each other are a finding", async () => {
    const { findings } = await seen({
      "10.conf": '{ "cniVersion": "0.3.0", "name": "a", "type": "win-bridge", "ipam": {} }',
      "net-conf.json": NET_CONF,
    });
    expect(findings.join()).toContain("network-signs-contradict");
  });

  it("beside a cluster file they are not read, which is told", async () => {
    const cluster =
      "apiVersion: mullion/v1alpha1\nkind: Cluster\nmetadata: { name: c }\nnodes: [{ name: w, os: windows, address: 10.0.0.11 }]\n";
    const { facts, assumed } = await seen({
      "c.yaml": cluster,
      "net-conf.json": NET_CONF,
      "p.yaml": PROXY(""),
    });
    expect(facts["network plugin"]).toBe("win-bridge [assumed]");
    expect(assumed).toEqual([
      "KubeProxyConfiguration is not read: the cluster file says what the network is",
      "this file is not read: the cluster file says what the network is",
    ]);
  });
});

describe("an Installation of Calico's operator", () => {
  it.each([
    ["VXLAN", "VXLAN", "Overlay, carried out as Overlay"],
    ["None", "BGP", "L2Bridge"],
  ])("encapsulation %s is mode %s", async (encapsulation, mode) => {
    const { facts, findings } = await seen({
      "i.yaml": INSTALLATION(`windowsDataplane: HNS, bgp: Disabled, ${POOL(encapsulation)}`),
    });
    expect(facts["network plugin"]).toBe("calico [in/i.yaml:2]");
    expect(facts["network mode"]).toBe(`${mode} [in/i.yaml:2]`);
    expect(facts["pod range"]).toBe("10.244.0.0/16 [in/i.yaml:2]");
    expect(facts["policy engine"]).toContain("Calico");
    expect(findings).toEqual([]);
  });

  // tigera/operator, pkg/controller/installation/validation.go; tigera/docs issue 1547.
  it.each([
    [
      "VXLANCrossSubnet",
      INSTALLATION(`windowsDataplane: HNS, ${POOL("VXLANCrossSubnet")}`),
      "VXLANCrossSubnet",
    ],
    ["IPIP", INSTALLATION(`windowsDataplane: HNS, ${POOL("IPIP")}`), "IPIP"],
    [
      "no serviceCIDRs",
      INSTALLATION(`windowsDataplane: HNS, ${POOL("VXLAN")}`, "variant: Calico"),
      "serviceCIDRs",
    ],
    ["Linux alone", INSTALLATION(POOL("VXLAN")), "windowsDataplane is not HNS"],
  ])("that Windows nodes get nothing from is a finding: %s", async (_, text, words) => {
    const { findings } = await seen({ "i.yaml": text });
    expect(findings).toEqual([
      expect.stringMatching(
        new RegExp(`^in/i\\.yaml:2 calico-installation-not-for-windows: in/i\\.yaml.*${words}`),
      ),
    ]);
  });

  it("ends verify with 1, and flows of pods are not judged", async () => {
    const { code, text } = await verified({ "i.yaml": INSTALLATION(POOL("VXLAN")) });
    expect(code).toBe(1);
    expect(text).toContain("calico-installation-not-for-windows");
    expect(text).toMatch(/not judged/);
  });

  it("brings Felix to Windows nodes: a NetworkPolicy is held there", async () => {
    const { text } = await verified({
      "i.yaml": INSTALLATION(`windowsDataplane: HNS, bgp: Disabled, ${POOL("VXLAN")}`),
      "p.yaml": `
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: { name: nobody }
spec: { podSelector: {}, policyTypes: [Ingress] }
`,
    });
    expect(text).toMatch(/NetworkPolicy\s+default\/nobody\s+is\s+enforced\s+for\s+pods\s+on\s+Windows/);
    expect(text).not.toContain("network-policy-not-enforced");
  });

  it("exec says that another network stands in for it", async () => {
    const terminal = terminalWith({
      "i.yaml": INSTALLATION(`windowsDataplane: HNS, bgp: Disabled, ${POOL("VXLAN")}`),
    });
    const argv = ["exec", "-f", "in", "pod/web", "--", "route", "print", "-4"];
    await runMullion({ argv, verbs: { exec }, terminal, version: "0", isDebug: false });
    expect(terminal.output).toContain("Active Routes:");
    expect(terminal.errors).toMatch(/Not judged: Calico with VXLAN is recognised and not carried out/);
    expect(terminal.errors).toContain("mullion explain network-not-emulated");
  });

  it("for policies alone is no network", async () => {
    const { facts, findings } = await seen({
      "i.yaml": INSTALLATION("windowsDataplane: HNS", "cni: { type: AzureVNET }"),
    });
    expect(facts["network plugin"]).toContain("[assumed]");
    expect(facts["policy engine"]).toContain("Calico");
    // The engine that the objects bring is the one that runs: nothing else may be said of it.
    expect(facts["policy engine"]).toMatch(/^Calico; it enforces NetworkPolicies/);
    expect(findings).toEqual([]);
  });
});
