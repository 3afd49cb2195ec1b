// `mullion explain` of lines that nodes print: the first cause is right, or it is unknown; never another one.
import { describe, expect, it } from "vitest";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { runMullion } from "./program.ts";

interface Explained {
  readonly exitCode: number;
  readonly errors: readonly {
    readonly id: string;
    readonly certainty: string;
    readonly cause: string;
    readonly remedy: string;
    readonly call?: string;
  }[];
}

async function explained(line: string): Promise<Explained> {
  const terminal = new MemoryTerminal();
  const argv = ["explain", "-o", "json", "--", line];
  const exitCode = await runMullion({ argv, verbs: {}, terminal, version: "0", isDebug: false });
  const { errors } = JSON.parse(terminal.output || '{"errors":[]}') as Pick<Explained, "errors">;
  return { exitCode, errors };
}

async function first(line: string): Promise<string> {
  const [error] = (await explained(line)).errors;
  return error === undefined ? "nothing" : `${error.id} ${error.certainty}`;
}

async function text(line: string): Promise<string> {
  const terminal = new MemoryTerminal();
  await runMullion({ argv: ["explain", "--", line], verbs: {}, terminal, version: "0", isDebug: false });
  return terminal.output;
}

const KUBE_PROXY = 'E1222 10:21:07.484910    5948 proxier.go:1202] "Policy creation failed" err="';

describe("one code in different calls", () => {
  it.each([
    // 0x803b0002: the endpoint was not found.
    [
      "a back end is gone, no load balancer is",
      `${KUBE_PROXY}hcnCreateLoadBalancer failed in Win32: The endpoint was not found. (0x803b0002)"`,
      "load-balancer-back-end-missing certain",
    ],
    [
      "harmless in a deletion",
      "hcnDeleteEndpoint failed in Win32: The endpoint was not found. (0x803b0002)",
      "endpoint-gone-already certain",
    ],
    // 0x1392: the object already exists.
    [
      "a route",
      "FATA[2022-11-09T14:17:23Z] rpc error: code = Internal desc = could not create IP forward entry: The object already exists.",
      "route-exists certain",
    ],
    [
      "an endpoint",
      "hcnCreateEndpoint failed in Win32: The object already exists. (0x1392)",
      "error-object-already-exists likely",
    ],
    [
      "a network whose NAT is there",
      'plugin type="nat" name="nat" failed (add): hcnCreateNetwork failed in Win32: The object already exists. (0x1392)',
      "network-object-exists likely",
    ],
    // aws/amazon-vpc-cni-k8s#2065: many pods at once on a node without flannel; nobody found the reason.
    [
      "a call of a plugin that does not say which",
      'plugin type="vpc-shared-eni" name="vpc" failed (add): hnsCall failed in Win32: The object already exists. (0x1392)',
      "error-object-already-exists unknown",
    ],
    [
      "a call for which nothing is known",
      "hcnModifyNamespace failed in Win32: The object already exists. (0x1392)",
      "error-object-already-exists unknown",
    ],
    [
      "no call",
      "agent: giving up: the object already exists (0x1392), bye",
      "error-object-already-exists unknown",
    ],
    // 2: the system cannot find the file specified.
    [
      "a pipe without a service",
      "failed to connect: open //./pipe/docker_engine: The system cannot find the file specified.",
      "pipe-missing certain",
    ],
    [
      "a command that the image does not have",
      "hcs::System::CreateProcess web: The system cannot find the file specified.: (0x2)",
      "image-command-missing likely",
    ],
    [
      "a container that the program calls by its old name",
      "docker: Error response from daemon: container 21 encountered an error during hcsshim::System::CreateProcess: failure in a Windows system call: The system cannot find the file specified. (0x2)",
      "image-command-missing likely",
    ],
    // microsoft/hcsshim#816: docker's layers were on another drive; no process had been asked for.
    [
      "a container that is not made",
      "hcsshim::CreateComputeSystem 21403649: The system cannot find the file specified.",
      "error-file-not-found unknown",
    ],
    [
      "a container that is not made, as a shim says it",
      "failed to create shim task: hcs::CreateComputeSystem web: The system cannot find the file specified.: unknown",
      "error-file-not-found unknown",
    ],
    // A reason that is not known: nothing says that it is the network.
    [
      "a container that is not made, for a reason that is not known",
      "failed to create shim task: hcs::CreateComputeSystem web: The filename, directory name, or volume label syntax is incorrect.: unknown",
      "hcs-create-failed unknown",
    ],
    // 5: access is denied.
    ["a file", "open C:\\k\\azure-vnet.json: Access is denied.", "file-denied likely"],
    ["HNS", "hcnEnumerateNetworks failed in Win32: Access is denied. (0x5)", "e-accessdenied likely"],
    // 1, 0x20, 0xe7, 0x10b: layers, pipes, folders.
    [
      "a layer, with a driver of a cloud drive",
      "hcsshim::PrepareLayer - failed failed in Win32: Incorrect function. (0x1)",
      "layer-driver-between likely",
    ],
    [
      "a layer that is in use, or said to be",
      "hcsshim::ActivateLayer failed in Win32: The process cannot access the file because it is being used by another process. (0x20)",
      "layer-in-use likely",
    ],
    // microsoft/hcsshim#919: in the middle of a node's life, of one container among many.
    [
      "a layer whose disk is late",
      "failed to mount container storage: hcsshim::PrepareLayer - failed failed in Win32: The device is not ready. (0x15): unknown",
      "error-not-ready unknown",
    ],
    [
      "a pipe that is mounted like a file",
      'failed to generate spec: failed to resolve symlink "": CreateFile \\\\.\\pipe\\csi-proxy-volume-v1: All pipe instances are busy.',
      "error-pipe-busy likely",
    ],
    [
      "a container with a file for a mount",
      "failed to create shim: hcs::CreateComputeSystem web: The directory name is invalid.: unknown",
      "error-directory likely",
    ],
    [
      "a layer whose folder is wrong",
      "hcsshim::ImportLayer failed in Win32: The directory name is invalid. (0x10b)",
      "error-directory unknown",
    ],
    // 10013: a way forbidden by its access permissions.
    [
      "a port that is reserved",
      "listen tcp :53317: bind: An attempt was made to access a socket in a way forbidden by its access permissions.",
      "port-excluded likely",
    ],
  ])("%s", async (_, line, expected) => {
    expect(await first(line)).toBe(expected);
  });

  it("a remedy is given for the call at hand only", async () => {
    const route = await text("could not create IP forward entry: The object already exists.");
    expect(route).toContain("Cause: certain");
    expect(route).toContain("Get-NetRoute");
    expect(route).not.toContain("Get-HnsEndpoint");
    const unknown = await text("hcnModifyNamespace failed in Win32: The object already exists. (0x1392)");
    expect(unknown).toContain("Cause: unknown");
    expect(unknown).toContain("What would decide");
    expect(unknown).toContain("hnsdiag list namespaces");
    expect(unknown).not.toContain("What to do");
    const { errors } = await explained(
      "hcnModifyNamespace failed in Win32: The object already exists. (0x1392)",
    );
    expect(errors[0]).toMatchObject({ call: "namespace-change", remedy: "None before the cause is known." });
  });
});

it("where only docker's own words are known, nothing is to be removed before the reason is", async () => {
  const line = "fatal: Error starting daemon: Error creating default network: something new";
  expect(await first(line)).toBe("docker-default-network-failed unknown");
  expect(await text(line)).not.toContain("Remove-NetNat");
});

describe("a text beside a code", () => {
  it("comes after the code that says why", async () => {
    const { errors } = await explained(
      "E0102 15:04:05.000007 4120 x.go:1] failed to find HNSEndpoint web: hcnOpenEndpoint failed in Win32: The RPC server is unavailable. (0x6ba)",
    );
    expect(errors.map(({ id, certainty }) => `${id} ${certainty}`)).toEqual([
      "rpc-s-server-unavailable certain",
      "cni-endpoint-not-found unknown",
    ]);
  });

  it("keeps its meaning beside a code that belongs to it", async () => {
    expect(await first("open /run/flannel/subnet.env: The system cannot find the path specified.")).toBe(
      "flannel-subnet-env-missing likely",
    );
  });

  it("says nothing across the words of another message", async () => {
    const { errors } = await explained(
      `${KUBE_PROXY}hcnCreateLoadBalancer failed in Win32: The switch-port was not found. (0x803b0007)"`,
    );
    expect(errors.map(({ id }) => id)).toEqual(["hcn-e-port-not-found", "kube-proxy-policy-creation-failed"]);
  });

  it("a plugin that printed nothing names no state file", async () => {
    expect(
      await first(
        'NetworkPlugin cni failed to set up pod "web_x" network: netplugin failed but error parsing its diagnostic message "": unexpected end of JSON input',
      ),
    ).toBe("cni-plugin-said-nothing certain");
  });
});

// Threads of docs/decisions/0010-errors-judged-by-call.md: texts of old releases and of each component.
describe("what components print", () => {
  it.each([
    [
      "I0323 14:28:45.379611 16548 awsvpc_windows.go:22] AWS VPC is not supported on this platform",
      "flanneld-other-backends unknown",
    ],
    [
      "E0306 16:43:21.218797 2576 main.go:289] Error registering network: Cannot find network with Management IP 192.168.1.5",
      "flanneld-remote-dr-mac likely",
    ],
    ["Error response from daemon: network host not found", "docker-host-network-missing certain"],
    // kubernetes/kubernetes#56696: docker of 2017 says the same in other words.
    [
      'Error response from daemon: {"message":"No such network: host"}',
      "docker-host-network-missing certain",
    ],
    [
      'failed to create default network: needs CNI plugin \\"nat\\" to be installed in CNI_PATH (\\"C:\\\\cni\\\\bin\\"), see the releases: file does not exist',
      "cni-plugin-not-found likely",
    ],
    [
      "Failed to find any valid interface to use: failed to get default interface: json: cannot unmarshal array into Go value of type struct { IfIndex int }",
      "flanneld-two-default-routes certain",
    ],
    [
      "server.go:215] [invalid configuration: CgroupsPerQOS (--cgroups-per-qos) true is not supported on Windows]",
      "kubelet-cgroups-unsupported certain",
    ],
    [
      "server.go:213] EnforceNodeAllocatable (--enforce-node-allocatable) [none] is not supported on Windows",
      "kubelet-cgroups-unsupported certain",
    ],
    [
      'Failed to pull image "rancher/rke2-upgrade:v1": failed to pull and unpack image: no match for platform in manifest: not found',
      "image-platform-missing certain",
    ],
    [
      "docker: no matching manifest for windows/amd64 10.0.17763 in the manifest list entries.",
      "image-platform-missing certain",
    ],
    // What a kubelet on Windows says at each start.
    [
      "processstarttime.go:43] Could not get process start time, could not read /proc: CreateFile /proc: The system cannot find the file specified.",
      "kubelet-start-lines unknown",
    ],
    ["server.go:754] kubelet needs to run as uid `0`. It is being run as -1", "kubelet-start-lines unknown"],
    [
      "kubelet.go:1845] skipping pod synchronization - [PLEG is not healthy: pleg has yet to be successful]",
      "kubelet-start-lines unknown",
    ],
    [
      "[net] Failed to attach endpoint: A Compute System with the specified identifier does not exist.",
      "hcs-e-system-not-found likely",
    ],
    [
      "startup/startup.go 231: Unable to ensure network for os error=global strict affinity should not be false for Windows node",
      "calico-strict-affinity certain",
    ],
    [
      "felix/win_dataplane.go 340: retry error=didn't find any HNS networks matching regular expression (?i)calico.*",
      "calico-no-network likely",
    ],
    [
      'agent_windows.go:65] Transparent HNSNetwork requires a physical adapter while the uplink interface "vEthernet (Ethernet0 2)" is virtual',
      "antrea-uplink-virtual certain",
    ],
    [
      "proxier.go:1034] Policy creation failed: hnsCall failed in Win32: The provided policy configuration is invalid or missing parameters. (0x803b000d)",
      "hcn-e-invalid-policy unknown",
    ],
    [
      "failed to create endpoint web on network nat: hnsCall failed in Win32: O arquivo est\u00e1 sendo usado. (0x20)",
      "error-sharing-violation likely",
    ],
    [
      "container 4f75 encountered an error during Start: failure in a Windows system call: The compute system exited unexpectedly. (0xc0370106)",
      "hcs-e-unexpected-exit unknown",
    ],
    ["HNS failed with error : Unspecified error", "e-fail unknown"],
    ["failed to load listeners: open //./pipe/docker_engine: Access is denied.", "pipe-denied certain"],
  ])("%s", async (line, expected) => {
    expect(await first(line)).toBe(expected);
  });
});

describe("a folder of logs", () => {
  const FILES = {
    "logs/kube-proxy.log": `${KUBE_PROXY}hcnCreateLoadBalancer failed in Win32: The switch-port was not found. (0x803b0007)"\n`,
    "logs/deep/wins.log": "could not create IP forward entry: The object already exists.\n",
    "logs/quiet.log": "all is well\n",
  };

  it("is read file by file; silent ones are counted", async () => {
    const terminal = new MemoryTerminal(FILES);
    const argv = ["explain", "--log", "logs"];
    expect(await runMullion({ argv, verbs: {}, terminal, version: "0", isDebug: false })).toBe(1);
    expect(terminal.output).toContain("logs/deep/wins.log: 1 line, 1 known error");
    expect(terminal.output).toContain("route-exists");
    expect(terminal.output).toContain("3 files read, 2 with a known error, 1 without");
  });

  // What collection scripts put into one folder: logs of programs, exports of events, what HNS holds, traces.
  it("tells the likeliest fault first, whatever the files are called", async () => {
    const said = (lines: string): Uint8Array => new Uint8Array(Buffer.from(`\ufeff${lines}`, "utf16le"));
    const terminal = new MemoryTerminal();
    const files = {
      "node/1_hyper-v.csv": '"TimeCreated","Id","Message"\n"1/7/2019","2000","result 0xC0370110"\n',
      "node/azure-vnet.log":
        "Failed to create endpoint: hnsCall failed in Win32: Element not found. (0x490).\n",
      "node/describe.out":
        'Events:\n  Warning  FailedCreatePodSandBox  2m  kubelet  failed to setup network for sandbox "1": plugin type="azure-vnet" failed (add): timed out locking store\n',
      "node/endpoint.txt": said(
        'Id IpAddress\r\n-- ---------\r\n{ "Health": { "LastErrorCode": 2151350279 } }\r\n',
      ),
      "node/ip.txt": said("Windows IP Configuration\r\n"),
      "node/packets.etl": new Uint8Array([0, 1, 2, 3, 0, 0, 0, 9]),
    };
    for (const [file, bytes] of Object.entries(files)) terminal.files.set(file, bytes);
    const argv = ["explain", "--log", "node"];
    await runMullion({ argv, verbs: {}, terminal, version: "0", isDebug: false });
    const told = [...terminal.output.matchAll(/^(\S+): \d+ lines?, \d+ known/gmu)].map(([, file]) => file);
    expect(told).toEqual([
      "node/azure-vnet.log",
      "node/describe.out",
      "node/endpoint.txt",
      "node/1_hyper-v.csv",
    ]);
    expect(terminal.output).toContain("skipped: node/packets.etl: it is not text");
  });

  it("of one file is told as one", async () => {
    const terminal = new MemoryTerminal({ "logs/quiet.log": "all is well\n" });
    const argv = ["explain", "--log", "logs"];
    await runMullion({ argv, verbs: {}, terminal, version: "0", isDebug: false });
    expect(terminal.output).toBe("1 file read, 0 with a known error, 1 without\n");
  });

  it("gives one document with the findings of each file", async () => {
    const terminal = new MemoryTerminal(FILES);
    const argv = ["explain", "--log", "logs", "-o", "json"];
    await runMullion({ argv, verbs: {}, terminal, version: "0", isDebug: false });
    const { kind, logs } = JSON.parse(terminal.output) as { kind: string; logs: readonly { file: string }[] };
    expect(kind).toBe("LogFolderFindings");
    expect(logs.map(({ file }) => file)).toEqual([
      "logs/kube-proxy.log",
      "logs/deep/wins.log",
      "logs/quiet.log",
    ]);
  });
});
