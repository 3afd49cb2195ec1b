import { describe, expect, it } from "vitest";
import {
  NETWORK,
  ProgramRun,
  type ProgramSettings,
  addNetwork,
  nodeWithPod,
} from "#test/support/kube-proxy/kube-proxy-program.ts";
import { createHns } from "#hns/local-hns.ts";
import { deleteNetwork, getNetworkByName, listLoadBalancers } from "#contracts/hcn/operations.ts";

const HEAD = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n";

function serviceAndSlice(endpoints: readonly string[], more = ""): string {
  const listed = endpoints.map((address) => {
    const node = address === "10.244.1.4" ? "win-1" : "win-2";
    return `{addresses: [${address}], nodeName: ${node}, conditions: {ready: true}}`;
  });
  return `apiVersion: v1
kind: Service
metadata: {name: web, namespace: default}
spec: {type: NodePort, clusterIP: 10.96.0.20, ports: [{name: http, port: 80, targetPort: 8080, nodePort: 30080}]${more}}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: web-1, namespace: default, labels: {kubernetes.io/service-name: web}}
addressType: IPv4
ports: [{name: http, port: 8080, protocol: TCP}]
endpoints: [${listed.join(", ")}]
`;
}

const FILES = { "web.yaml": serviceAndSlice(["10.244.1.4", "10.244.2.3"]) };
const FLAGS = ["--mullion-manifests=web.yaml", `--network-name=${NETWORK}`, "--bind-address=10.0.0.11"];
const PROGRAMMED = ["10.96.0.20:80→8080 [10.244.1.4,10.244.2.3]", ":30080→8080 [10.244.1.4,10.244.2.3]"];

async function start(settings: Partial<ProgramSettings> = {}): Promise<ProgramRun> {
  const run = new ProgramRun({ argv: FLAGS, files: FILES, hns: await nodeWithPod(), ...settings });
  await run.pass(2);
  return run;
}

/** A run that ends by itself. */
async function failure(settings: Partial<ProgramSettings>): Promise<string> {
  const run = new ProgramRun({ argv: FLAGS, files: FILES, ...settings });
  const passed = run.pass(60);
  expect(await run.ended).toBe(1);
  await passed;
  return run.terminal.errors;
}

describe("a run", () => {
  it("programs Services, follows the manifests, and leaves the load balancers when it ends", async () => {
    const run = await start();
    expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
    await run.rewrite("web.yaml", serviceAndSlice(["10.244.2.3"]));
    await run.pass(2);
    expect(await run.loadBalancers()).toEqual(
      PROGRAMMED.map((text) => text.replace("10.244.1.4,", "")).toSorted(),
    );
    expect(await run.stop()).toBe(0);
    expect(await run.loadBalancers()).toHaveLength(2);
    expect(run.servers.size).toBe(0);
  });

  it("KP-D12: nodePortAddresses change nothing", async () => {
    const run = await start({ argv: [...FLAGS, "--nodeport-addresses=10.0.0.0/24"] });
    expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
    await run.stop();
  });

  it("takes everything from a configuration file", async () => {
    const configuration = `${HEAD}bindAddress: 10.0.0.11
healthzBindAddress: 127.0.0.1:1
metricsBindAddress: 127.0.0.1:2
winkernel: {networkName: ${NETWORK}}
`;
    const run = await start({
      argv: ["--config=proxy.yaml", "--mullion-manifests=web.yaml", "--network-name=other"],
      files: { ...FILES, "proxy.yaml": configuration },
    });
    expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
    expect([...run.servers.keys()]).toEqual(["127.0.0.1:1", "127.0.0.1:2"]);
    expect(run.terminal.errors).toContain("--network-name has no effect beside --config");
    await run.stop();
  });

  it("ends when the file says something else, to be started anew", async () => {
    const configuration = `${HEAD}winkernel: {networkName: ${NETWORK}}\n`;
    const run = await start({
      argv: ["--config=proxy.yaml", "--mullion-manifests=web.yaml"],
      files: { ...FILES, "proxy.yaml": configuration },
    });
    await run.rewrite("proxy.yaml", configuration);
    expect(run.exitCode).toBeUndefined();
    await run.rewrite("proxy.yaml", `${configuration}mode: kernelspace\n`);
    expect(await run.ended).toBe(1);
    expect(run.terminal.errors).toContain("content of the proxy server's configuration file was updated");
  });

  it("upstream: ends with each write, as upstream", async () => {
    const configuration = `${HEAD}winkernel: {networkName: ${NETWORK}}\n`;
    const run = await start({
      argv: ["--config=proxy.yaml", "--mullion-manifests=web.yaml", "--mullion-compat=upstream"],
      files: { ...FILES, "proxy.yaml": configuration },
    });
    await run.rewrite("proxy.yaml", configuration);
    expect(await run.ended).toBe(1);
  });

  it("takes the network's name from KUBE_NETWORK, and its own name in lower case", async () => {
    const run = await start({
      argv: ["--mullion-manifests=web.yaml", "--bind-address=10.0.0.11"],
      variables: { KUBE_NETWORK: NETWORK },
    });
    expect(run.terminal.errors).toContain('hostname="win-1"');
    expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
    await run.stop();
  });

  it("answers probes and scrapes", async () => {
    const run = await start();
    const metrics = "127.0.0.1:10249";
    expect(await run.get("0.0.0.0:10256", "/healthz")).toMatchObject({ status: 200 });
    expect(await run.get("0.0.0.0:10256", "/livez")).toMatchObject({ status: 200 });
    expect(await run.get(metrics, "/healthz")).toMatchObject({ status: 200, body: "ok" });
    expect(await run.get(metrics, "/proxyMode")).toMatchObject({ status: 200, body: "kernelspace" });
    expect(await run.get(metrics, "/nothing")).toMatchObject({ status: 404 });
    const configz = JSON.parse((await run.get(metrics, "/configz"))?.body ?? "") as Record<string, unknown>;
    expect(configz["kubeproxy.config.k8s.io"]).toMatchObject({
      mode: "kernelspace",
      winkernel: { networkName: NETWORK },
      iptables: { syncPeriod: "30s" },
    });
    const text = (await run.get(metrics, "/metrics"))?.body ?? "";
    expect(text).toContain("kubeproxy_sync_proxy_rules_service_changes_total 1\n");
    expect(text).toContain("kubeproxy_sync_proxy_rules_service_changes_pending 0\n");
    expect(text).toMatch(/kubeproxy_sync_proxy_rules_duration_seconds_count\{ip_family="IPv4"\} 1\n/);
    expect(text).toContain('kubernetes_feature_enabled{name="WinDSR",stage=""} 1\n');
    await run.stop();
  });

  it("shows its flags and its state behind their gates", async () => {
    const metrics = "127.0.0.1:10249";
    const closed = await start();
    for (const path of ["/flagz", "/statusz"])
      expect(await closed.get(metrics, path)).toMatchObject({ status: 404 });
    await closed.stop();
    const gates = "--feature-gates=ComponentFlagz=true,ComponentStatusz=true";
    const old = await start({ argv: [...FLAGS, gates, "--mullion-kubernetes=1.32"] });
    expect(await old.get(metrics, "/flagz")).toMatchObject({ status: 404 });
    await old.stop();
    const run = await start({ argv: [...FLAGS, gates, "--mullion-kubernetes=1.34"] });
    await run.pass(3_725);
    const flagz = (await run.get(metrics, "/flagz"))?.body ?? "";
    expect(flagz).toMatch(
      /^\nkube-proxy flags\nWarning: This endpoint is not meant to be machine parseable, /,
    );
    const lines = flagz.split("\n");
    expect(lines).toContain("bind-address: 10.0.0.11");
    expect(lines).toContain("iptables-sync-period: 30s");
    expect(lines).toContain("enable-dsr: false");
    expect(lines).toContain("feature-gates: ComponentFlagz=true,ComponentStatusz=true");
    const statusz = (await run.get(metrics, "/statusz"))?.body ?? "";
    expect(statusz).toMatch(/^\nkube-proxy statusz\nWarning: /);
    expect(statusz).toContain("\nStarted:  Sun Nov 22 00:00:00 UTC 2026\nUp:  1 hr 02 min 07 sec\n");
    expect(statusz).toContain("\nBinary version:  1.34.0\n");
    await run.stop();
  });

  it("logs as JSON", async () => {
    const run = await start({ argv: [...FLAGS, "--logging-format=json", "--v=2"] });
    await run.stop();
    const lines = run.terminal.errors
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) expect(Object.keys(line).slice(0, 3)).toEqual(["ts", "caller", "msg"]);
  });

  it("serves the health checks of Services, and closes them with the Service", async () => {
    const more = ", type: LoadBalancer, externalTrafficPolicy: Local, healthCheckNodePort: 32000";
    const text = serviceAndSlice(["10.244.1.4"], more).replace("type: NodePort, ", "");
    const run = await start({ files: { "web.yaml": text } });
    expect(await run.get("0.0.0.0:32000", "/")).toMatchObject({
      status: 200,
      headers: { "X-Load-Balancing-Endpoint-Weight": "1" },
    });
    await run.rewrite("web.yaml", serviceAndSlice(["10.244.1.4"]));
    await run.pass(2);
    expect(run.servers.has("0.0.0.0:32000")).toBe(false);
    await run.stop();
  });

  it("waits for its network, and programs when it comes", async () => {
    const hns = createHns({ adapters: [{ name: "Ethernet", addresses: ["10.0.0.11/24"] }] });
    const run = await start({ hns });
    expect(run.terminal.errors).toContain("waits for the HNS network cbr0");
    await run.pass(10);
    expect(await run.get("0.0.0.0:10256", "/livez")).toMatchObject({ status: 200 });
    expect(await run.get("0.0.0.0:10256", "/healthz")).toMatchObject({ status: 503 });
    await addNetwork(hns);
    await run.pass(5);
    expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
    expect(await run.get("0.0.0.0:10256", "/healthz")).toMatchObject({ status: 200 });
    await run.stop();
  });

  it("says which networks there are while it waits for another", async () => {
    const run = await start({ argv: FLAGS.map((flag) => flag.replace("cbr0", "CBR0")) });
    expect(run.terminal.errors).toContain("waits for the HNS network CBR0");
    expect(run.terminal.errors).toContain('networks=["cbr0"]');
    await run.stop();
  });

  it("upstream: no server before the network is there, as upstream", async () => {
    const hns = createHns({ adapters: [{ name: "Ethernet", addresses: ["10.0.0.11/24"] }] });
    const run = await start({ hns, argv: [...FLAGS, "--mullion-compat=upstream"] });
    expect(run.servers.size).toBe(0);
    await addNetwork(hns);
    await run.pass(5);
    expect(run.servers.size).toBe(2);
    await run.stop();
  });

  it("programs again when the network was made anew", async () => {
    const hns = await nodeWithPod();
    const run = await start({ hns });
    const network = await getNetworkByName(hns.client, NETWORK);
    await deleteNetwork(hns.client, network.ID ?? "");
    await addNetwork(hns);
    await run.pass(70);
    expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
    await run.stop();
  });

  it("waits for an HNS that does not answer; upstream ends", async () => {
    const hns = await nodeWithPod();
    const id = await hns.client.faults.add({ effect: "stop" });
    const errors = await failure({ hns, argv: [...FLAGS, "--mullion-compat=upstream"] });
    expect(errors).toContain("unable to create proxier: the kernel is not compatible");
    const run = await start({ hns });
    expect(run.terminal.errors).toContain('"HNS does not answer; it is tried again"');
    await hns.client.faults.remove(id);
    await run.pass(8);
    expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
    await run.stop();
  });

  it("goes on when HNS goes away for a while, and takes changes over when it is back", async () => {
    const hns = await nodeWithPod();
    const run = await start({ hns });
    const id = await hns.client.faults.add({ effect: "stop" });
    await run.rewrite("web.yaml", serviceAndSlice(["10.244.2.3"]));
    await run.pass(5);
    expect(run.terminal.errors).toContain('"Sync ended early; it is tried again"');
    await run.pass(60);
    expect(await run.get("0.0.0.0:10256", "/livez")).toMatchObject({ status: 503 });
    await hns.client.faults.remove(id);
    await run.pass(61);
    expect(await run.loadBalancers()).toEqual(
      PROGRAMMED.map((text) => text.replace("10.244.1.4,", "")).toSorted(),
    );
    expect(await run.get("0.0.0.0:10256", "/livez")).toMatchObject({ status: 200 });
    await run.stop();
  });

  const CHANGED = PROGRAMMED.map((text) => text.replace("10.244.1.4,", "")).toSorted();
  // Up to 1.36 an HNS that is away counts as a network that is gone: its load balancers are forgotten, and stand in the
  // way when it is back (kube-proxy.md §7, row 14).
  it.each([
    ["upstream", "1.37", PROGRAMMED.toSorted(), CHANGED],
    ["upstream", "1.36", PROGRAMMED.toSorted(), PROGRAMMED.toSorted()],
    ["hardened", "1.37", CHANGED, CHANGED],
    ["hardened", "1.36", CHANGED, CHANGED],
  ] as const)(
    "%s, %s: what changed while HNS was away, two seconds after its return, and a minute later",
    async (compat, kubernetes, soon, later) => {
      const hns = await nodeWithPod();
      const argv = [...FLAGS, `--mullion-compat=${compat}`, `--mullion-kubernetes=${kubernetes}`];
      const run = await start({ hns, argv });
      const id = await hns.client.faults.add({ effect: "stop" });
      await run.rewrite("web.yaml", serviceAndSlice(["10.244.2.3"]));
      await run.pass(1);
      await hns.client.faults.remove(id);
      await run.pass(2);
      expect(await run.loadBalancers()).toEqual(soon);
      await run.pass(60);
      expect(await run.loadBalancers()).toEqual(later);
      await run.stop();
    },
  );

  it.each([
    ["upstream", 1],
    ["hardened", 2],
  ] as const)(
    "%s: what HNS refuses is a log line with its code, and %i of the Service's front ends stand",
    async (compat, standing) => {
      const hns = await nodeWithPod();
      const { client } = hns;
      const run = new ProgramRun({ argv: [...FLAGS, `--mullion-compat=${compat}`], files: FILES, hns });
      const id = await client.faults.add({
        effect: "fail",
        calls: { operation: "create", kind: "LoadBalancer" },
        error: "HCN_E_PORT_ALREADY_EXISTS",
        times: 1,
      });
      await run.pass(0.5);
      expect(run.terminal.errors).toContain('code="hns-fault-injected"');
      expect(await run.loadBalancers()).toHaveLength(standing - 1);
      await client.faults.remove(id);
      await run.pass(61);
      expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
      await run.stop();
    },
  );

  it.each([
    ["upstream", 0],
    ["hardened", 2],
  ] as const)(
    "%s: HNS hangs on one load balancer: after three minutes %i stand",
    async (compat, standing) => {
      const hns = await nodeWithPod();
      const id = await hns.client.faults.add({
        effect: "hang",
        calls: { operation: "create", kind: "LoadBalancer" },
        times: 1,
      });
      const run = await start({ hns, argv: [...FLAGS, `--mullion-compat=${compat}`] });
      await run.pass(180);
      expect(await run.loadBalancers()).toHaveLength(standing);
      if (compat === "hardened") expect(run.terminal.errors).toContain('code="hns-service-hangs"');
      await hns.client.faults.release(id);
      await run.pass(70);
      expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
      await run.stop();
    },
  );

  it("ends within seconds although HNS does not answer", async () => {
    const hns = await nodeWithPod();
    const run = await start({ hns });
    const id = await hns.client.faults.add({ effect: "hang" });
    await run.rewrite("web.yaml", serviceAndSlice(["10.244.2.3"]));
    await run.pass(2);
    run.terminal.interrupt();
    await run.pass(4);
    expect(run.exitCode).toBe(0);
    expect(run.terminal.errors).toContain(
      "A call to HNS or Kubernetes has not been answered; it is abandoned",
    );
    await hns.client.faults.remove(id);
  });

  it("puts back what HNS has lost, and says so", async () => {
    const hns = await nodeWithPod();
    const run = await start({ hns, argv: [...FLAGS, "--v=2"] });
    await hns.client.faults.forgetLoadBalancers();
    expect(await run.loadBalancers()).toEqual([]);
    await run.pass(31);
    expect(await run.loadBalancers()).toEqual(PROGRAMMED.toSorted());
    expect(run.terminal.errors).toContain('"Repaired HNS" kind="load-balancer-lost" service="default/web"');
    expect(run.terminal.errors).toContain('reason="RepairedHNS" regarding="Service/default/web"');
    expect((await run.get("127.0.0.1:10249", "/metrics"))?.body).toContain(
      'mullion_kube_proxy_repairs_total{ip_family="IPv4",kind="load-balancer-lost"} 2\n',
    );
    await run.stop();
  });

  it("upstream: what HNS has lost stays lost", async () => {
    const hns = await nodeWithPod();
    const run = await start({ hns, argv: [...FLAGS, "--mullion-compat=upstream"] });
    await hns.client.faults.forgetLoadBalancers();
    await run.pass(120);
    expect(await run.loadBalancers()).toEqual([]);
    await run.stop();
  });

  it("tries a port again that is taken", async () => {
    const taken = new Set(["127.0.0.1:10249"]);
    const run = await start({ taken });
    expect(run.terminal.errors).toContain("kube-proxy-port-unavailable");
    taken.clear();
    await run.pass(6);
    expect(run.servers.has("127.0.0.1:10249")).toBe(true);
    await run.stop();
  });
});

describe("what ends it", () => {
  it.each<[given: string, settings: Partial<ProgramSettings>, message: string, advice: string]>([
    [
      "no name of a network (S1)",
      { argv: ["--mullion-manifests=web.yaml"] },
      "Environment variable KUBE_NETWORK and network-flag not initialized [kube-proxy-without-network-name]",
      "--network-name=cbr0",
    ],
    [
      "a typing error in a flag",
      { argv: ["--enabel-dsr"] },
      "unknown flag: --enabel-dsr",
      "Did you mean --enable-dsr?",
    ],
    [
      "a missing file",
      { argv: ["--config=nope.yaml"] },
      "cannot read nope.yaml: there is no such file",
      "--config",
    ],
    [
      "an empty file",
      { argv: ["--config=empty.yaml"], files: { "empty.yaml": "" } },
      "empty.yaml:1:1: the file is empty",
      "--write-config-to",
    ],
    [
      "KP-S11: mode iptables",
      { argv: ["--proxy-mode=iptables"] },
      'KubeProxyConfiguration.Mode.ProxyMode: Invalid value: "iptables": must be kernelspace or blank',
      "--proxy-mode: This is kube-proxy for Windows nodes",
    ],
    [
      "mode iptables in a file, with a typing error beside it",
      {
        argv: ["--config=p.yaml"],
        files: { "p.yaml": `${HEAD}mode: iptables\nwinkernel:\n  networkNam: x\n` },
      },
      "p.yaml:3:1: mode: This is",
      'p.yaml:5:3: winkernel.networkNam: unknown field "winkernel.networkNam"\n    Did you mean networkName?',
    ],
    [
      "a gate that is locked",
      { argv: ["--feature-gates=WinDSR=false"] },
      "cannot set feature gate WinDSR to false, feature is locked to true [kube-proxy-feature-gate-refused]",
      "remove it",
    ],
    [
      "a gate that is none",
      { argv: ["--feature-gates=WinDRS=true"] },
      "unrecognized feature gate: WinDRS",
      "Did you mean WinDSR?",
    ],
    [
      "a kubeconfig that is not there",
      { argv: ["--kubeconfig=/nope/config", `--network-name=${NETWORK}`] },
      'the kubeconfig "/nope/config" cannot be read',
      "Check the path after --kubeconfig",
    ],
    [
      "no API server at all",
      { argv: [`--network-name=${NETWORK}`] },
      "[kubeconfig-unusable]",
      "--mullion-manifests=services.yaml",
    ],
    [
      "manifests that are not there",
      { argv: ["--mullion-manifests=nope.yaml", `--network-name=${NETWORK}`] },
      'cannot read "nope.yaml": there is no such file',
      "relative to the folder",
    ],
    [
      "KP-S12: --cleanup",
      { argv: ["--cleanup"] },
      "--cleanup-and-exit is not implemented on Windows",
      "Nothing was changed",
    ],
    [
      "--init-only",
      { argv: ["--init-only"] },
      "--init-only is not implemented on Windows",
      "Leave the flag out",
    ],
    ["an unknown version", { argv: ["--mullion-kubernetes=1.19"] }, '"1.19"', "1.20 to 1.37"],
    ["an unknown mode", { argv: ["--mullion-compat=best"] }, '"best"', "hardened or upstream"],
  ])("%s", async (_given, settings, message, advice) => {
    const hns = await nodeWithPod();
    const errors = await failure({ hns, ...settings });
    expect(errors).toContain(message);
    expect(errors).toContain(advice);
  });

  it("KP-S12: --cleanup removes nothing", async () => {
    const hns = await nodeWithPod();
    const before = await start({ hns });
    await before.stop();
    await failure({ hns, argv: ["--cleanup"] });
    expect(await listLoadBalancers(hns.client)).toHaveLength(2);
  });

  it("a port that is taken, when that is fatal", async () => {
    const errors = await failure({
      hns: await nodeWithPod(),
      argv: [...FLAGS, "--bind-address-hard-fail"],
      taken: new Set(["0.0.0.0:10256"]),
    });
    expect(errors).toContain("failed to start proxy healthz on 0.0.0.0:10256");
    expect(errors).toContain("--healthz-bind-address");
  });
});

describe("what only prints", () => {
  it("--version, --version=raw and --help", async () => {
    const version = new ProgramRun({ argv: ["--version", "--mullion-kubernetes=1.31"] });
    expect(await version.ended).toBe(0);
    expect(version.terminal.output).toBe("Kubernetes v1.31.0+mullion.0.0.0\n");
    const raw = new ProgramRun({ argv: ["--version=raw"] });
    await raw.ended;
    expect(raw.terminal.output).toContain('Minor:"37"');
    const help = new ProgramRun({ argv: ["--help"] });
    expect(await help.ended).toBe(0);
    expect(help.terminal.output).toMatch(/ {6}--source-vip string\n/);
    expect(help.terminal.output).toContain("--mullion-manifests");
    for (const line of help.terminal.output.split("\n")) expect(line.length).toBeLessThanOrEqual(120);
  });

  it("--write-config-to writes what upstream writes, and the file is read again", async () => {
    const run = new ProgramRun({ argv: ["--write-config-to=out.yaml", "--source-vip=10.1.2.3"] });
    expect(await run.ended).toBe(0);
    const text = String(run.terminal.files.get("out.yaml"));
    expect(text).toContain("configSyncPeriod: 15m0s\n");
    expect(text).toContain('ipvs:\n  excludeCIDRs: null\n  minSyncPeriod: 0s\n  scheduler: ""\n');
    expect(text).toContain("winkernel:\n  enableDSR: false\n  forwardHealthCheckVip: false\n");
    expect(text).toContain("sourceVip: 10.1.2.3\n");
    const again = new ProgramRun({
      argv: ["--config=out.yaml", "--write-config-to=again.yaml"],
      files: { "out.yaml": text },
    });
    expect(await again.ended).toBe(0);
    expect(again.terminal.errors).not.toContain("lenient");
    expect(again.terminal.files.get("again.yaml")).toBe(text);
  });
});
