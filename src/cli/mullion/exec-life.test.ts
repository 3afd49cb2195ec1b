// Commands on pods that come and go, and what a person may type that no program expects.
import { describe, expect, it } from "vitest";
import { inProcessClient } from "#cluster/api/app.ts";
import type { ControlClient } from "#cluster/api/client.ts";
import { COMMANDS, execute } from "#cluster/exec/exec.ts";
import type { ExecReport } from "#cluster/exec/exec-report.ts";
import { forkCluster } from "#cluster/cluster.ts";
import { RequestError } from "#cluster/request-error.ts";
import { SILENT_LOG } from "#core/base/log.ts";
import { MemoryTerminal } from "#test/support/cli/memory-terminal.ts";
import { makeExecWorld } from "#test/support/cluster/exec-world.ts";
import { openSession } from "./cluster/open-session.ts";
import { exec } from "./exec.ts";
import { runMullion } from "./program.ts";

const CLUSTER = `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: shop }
nodes:
  - { name: win-1, os: windows, address: 10.0.0.11 }
  - { name: linux-1, os: linux, address: 10.0.0.21 }
`;

function pod(name: string, more = ""): string {
  return `---
apiVersion: v1
kind: Pod
metadata: { name: ${name} }
spec:
  nodeSelector: { kubernetes.io/os: windows }
  containers: [{ name: c, image: example.invalid/c${more} }]
`;
}

async function opened(...texts: readonly string[]): Promise<ControlClient> {
  const inputs = texts.map((text, index) => ({ name: `${index}.yaml`, text }));
  const { session, readManifests, verify, input } = await openSession(inputs);
  const identity = { name: "", version: "", pid: 1 };
  return inProcessClient({ session, readManifests, verify, identity, input, log: SILENT_LOG });
}

const INTERFACES = String.raw`reg query HKLM\SYSTEM\CurrentControlSet\Services\Tcpip\Parameters\Interfaces /s`;

/** What a command prints in the pod. */
async function said(client: ControlClient, name: string, command: string): Promise<string> {
  const { stdout, stderr } = await client.exec({ from: `pod/${name}`, command: [command] });
  return stdout + stderr;
}

describe("a resolv.conf that is mapped into a Windows container", () => {
  const FILE = `---
apiVersion: v1
kind: ConfigMap
metadata: { name: names }
data: { resolv.conf: "nameserver 192.0.2.53\\nsearch elsewhere.example\\noptions ndots:1\\n" }
`;

  function mapped(name: string, path: string): string {
    const mounts = `, volumeMounts: [{ name: names, mountPath: '${path}', subPath: resolv.conf }]`;
    return pod(name, mounts) + "  volumes: [{ name: names, configMap: { name: names } }]\n";
  }

  // windows-networking-documentation.md §6: DNS settings come from HNS, and stand in the registry.
  it.each(["/etc/resolv.conf", String.raw`C:\etc\resolv.conf`])("at %s has no effect", async (path) => {
    const plain = await opened(CLUSTER, FILE + pod("web"));
    const other = await opened(CLUSTER, FILE + mapped("web", path));
    for (const command of [
      INTERFACES,
      "Get-DnsClientServerAddress",
      "Resolve-DnsName kubernetes",
      "nslookup kubernetes",
      "ipconfig /all",
    ]) {
      const text = await said(other, "web", command);
      expect(text).toBe(await said(plain, "web", command));
      expect(text).not.toMatch(/192\.0\.2\.53|elsewhere\.example/);
    }
    expect(await said(other, "web", "nslookup kubernetes")).toContain("10.96.0.10");
  });
});

describe("the registry of a compartment", () => {
  it("goes with the pod: one of the same name begins anew, and no other one sees it", async () => {
    const client = await opened(CLUSTER, pod("web") + pod("other"));
    const inputs = [{ name: "web.yaml", text: pod("web") }];
    const [before, beside] = [await said(client, "web", INTERFACES), await said(client, "other", INTERFACES)];
    for (const command of [
      "Set-DnsClientGlobalSetting -SuffixSearchList 'elsewhere.example'",
      `netsh interface ipv4 set dnsservers "${await alias(client)}" static 192.0.2.53 primary`,
    ])
      expect((await client.exec({ from: "pod/web", command: [command] })).exitCode).toBe(0);
    expect(await said(client, "web", INTERFACES)).toContain("192.0.2.53");
    expect(await said(client, "other", INTERFACES)).toBe(beside);
    await client.delete({ inputs });
    await expect(client.exec({ from: "pod/web", command: ["ipconfig"] })).rejects.toThrow(/web/);
    await client.apply({ inputs });
    expect(valuesOf(await said(client, "web", INTERFACES))).toEqual(valuesOf(before));
    expect(await said(client, "web", "Get-DnsClientGlobalSetting")).not.toContain("elsewhere.example");
  });
});

/** Values without the identifiers and addresses that each pod has for itself. */
function valuesOf(text: string): readonly string[] {
  const own = /Interfaces\\|IPAddress|DefaultGateway|SubnetMask/;
  return text.split("\r\n").filter((line) => !own.test(line));
}

async function alias(client: ControlClient): Promise<string> {
  const { stdout } = await client.exec({ from: "pod/web", command: ["ipconfig"] });
  return /adapter ([^\r\n]+):/.exec(stdout)?.[1] ?? "";
}

describe("a pod that goes away meanwhile", () => {
  it("ends a command with an answer or with its name, whoever comes first", async () => {
    const client = await opened(CLUSTER, pod("web") + pod("other"));
    const inputs = [{ name: "web.yaml", text: pod("web") }];
    const ask = async (): Promise<string> =>
      client.exec({ from: "pod/web", command: ["ping 10.0.0.21"] }).then(
        ({ exitCode }) => `ended with ${exitCode}`,
        (error: unknown) => (error instanceof Error ? error.message : ""),
      );
    const [first, , ...later] = await Promise.all([ask(), client.delete({ inputs }), ask(), ask()]);
    expect(first).toBe("ended with 0");
    expect(new Set(later)).toEqual(new Set([expect.stringMatching(/web/) as string]));
    expect((await client.exec({ from: "pod/other", command: ["ping 10.0.0.21"] })).exitCode).toBe(0);
  });
});

describe("words that no program expects", () => {
  const WORDS = [
    "\uFFFD\uFFFD",
    "web\uFFFD",
    "\uD800",
    "web\u0000",
    "ü.example",
    "世界",
    "\u202Eweb",
    "a".repeat(100_000),
    "/".repeat(1_000),
    "-",
    "--",
    "",
    " ",
    "\r\n",
    "999.999.999.999",
    "10.96.0.20/33",
    "::1%eth0",
    "'",
    '"',
    "|",
    "$(calc)",
    "%PATH%",
  ];

  it("each command answers, or refuses them by a code", async () => {
    const { cluster } = await makeExecWorld();
    const copy = forkCluster(cluster);
    const places = { windows: "pod/shop/storefront", linux: "pod/shop/tux" } as const;
    const seen: ExecReport[] = [];
    for (const { name, os } of COMMANDS)
      for (const word of WORDS)
        try {
          seen.push(execute(copy, { from: places[os], command: [name, word] }));
        } catch (error) {
          // Anything else is a fault of ours.
          if (!(error instanceof RequestError))
            throw new Error(`${name} ${JSON.stringify(word)}`, { cause: error });
        }
    expect(seen.length).toBeGreaterThan(100);
    expect(seen.every(({ exitCode }) => Number.isInteger(exitCode))).toBe(true);
  });
});

describe("on a terminal of 20 columns", () => {
  it.each([
    ["ipconfig", "/all"],
    ["powershell", "Get-NetAdapter"],
    ["netstat", "-abno"],
  ])("%s %s prints what it prints on any other", async (...command) => {
    const printed = await Promise.all(
      [20, 200].map(async (columns) => {
        const terminal = new MemoryTerminal({ "c.yaml": CLUSTER, "p.yaml": pod("web") }, columns);
        const argv = ["exec", "-f", "c.yaml", "-f", "p.yaml", "pod/web", "--", ...command];
        const code = await runMullion({ argv, verbs: { exec }, terminal, version: "0", isDebug: false });
        return { code, text: terminal.output };
      }),
    );
    expect(printed[0]).toEqual(printed[1]);
    expect(printed[0]?.code).toBe(0);
    expect(printed[0]?.text.length).toBeGreaterThan(40);
  });

  it("--trace and --list keep going", async () => {
    for (const argv of [
      ["exec", "-f", "c.yaml", "-f", "p.yaml", "--trace", "pod/web", "--", "ping", "10.0.0.21"],
      ["exec", "--list"],
    ]) {
      const terminal = new MemoryTerminal({ "c.yaml": CLUSTER, "p.yaml": pod("web") }, 20);
      expect(await runMullion({ argv, verbs: { exec }, terminal, version: "0", isDebug: false })).toBe(0);
      expect(terminal.output.length).toBeGreaterThan(100);
    }
  });
});
