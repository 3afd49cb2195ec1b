/**
 * Each item of the documentation's troubleshooting list (windows-networking-documentation.md §9) and both known issues (§5), as an
 * example: it fails as described, is found, explained, and green after the fix.
 */
import { readFileSync, readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { bringUp } from "#cli/mullion/cluster/bring-up.ts";
import { exec } from "#cli/mullion/exec.ts";
import { explain } from "#cli/mullion/explain/explain.ts";
import { lint } from "#cli/mullion/lint.ts";
import { runMullion } from "#cli/mullion/program.ts";
import { resolve, trace } from "#cli/mullion/trace.ts";
import { verify } from "#cli/mullion/verify.ts";
import type { VerifyReport } from "#cluster/verify/report.ts";
import { MemoryTerminal } from "./memory-terminal.ts";

export const FILES: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync("examples")
    .filter((name) => name.startsWith("trouble-"))
    .flatMap((name) => readdirSync(`examples/${name}`).map((file) => `examples/${name}/${file}`))
    .map((path) => [path, readFileSync(path, "utf8")]),
);

export interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** A command over examples of the caller. */
export async function runWith(
  files: Readonly<Record<string, string>>,
  argv: readonly string[],
): Promise<Run> {
  const terminal = new MemoryTerminal(files);
  const verbs = { trace, verify, lint, explain, bringUp, exec, resolve };
  const code = await runMullion({ argv, verbs, terminal, version: "0", isDebug: false });
  return { code, out: terminal.output, err: terminal.errors };
}

/** A command over the examples. */
export async function run(...argv: readonly string[]): Promise<Run> {
  return runWith(FILES, argv);
}

export interface Trouble {
  readonly name: string;
  /** Of windows-networking-documentation.md §9; a known issue of §5 has none. */
  readonly row?: number;
  /** Who is in trouble, and why, as `verify` finds it. */
  readonly found: Readonly<Record<string, string>>;
  /** Codes of `mullion lint`, without a cluster. */
  readonly linted: readonly string[];
  /** The same after the fix, where it is about something else; absent: nothing. */
  readonly lintedAfter?: readonly string[];
  /** Words of the remedy. */
  readonly remedy: Readonly<Record<string, string>>;
}

export const TROUBLES: readonly Trouble[] = [
  {
    name: "rejoin",
    row: 5,
    found: { "bring-up node/win-1": "kube-proxy-source-vip-invalid" },
    linted: ["kube-proxy-source-vip-invalid"],
    remedy: { "kube-proxy-source-vip-invalid": "SourceVipRequest.json" },
  },
  {
    name: "network-late",
    row: 6,
    found: { "bring-up node/win-1": "flannel-network-not-ready", "bring-up pod/": "subnet-env-missing" },
    linted: [],
    remedy: { "flannel-network-not-ready": "Start flanneld again" },
  },
  {
    name: "subnet-env",
    row: 7,
    found: { "bring-up node/win-1": "flannel-interface-missing", "bring-up pod/": "subnet-env-missing" },
    linted: [],
    remedy: { "flannel-interface-missing": "--iface", "subnet-env-missing": "Bring flanneld up" },
  },
  {
    name: "exception-list",
    row: 2,
    found: { "cluster-file pod/default/till": "outbound-nat-exception" },
    linted: ["cni-exception-list-external", "cni-exception-list-without-services"],
    remedy: {
      "outbound-nat-exception": "exception",
      "cni-exception-list-without-services": "delete the pods afterwards",
    },
  },
  {
    name: "hostname",
    row: 4,
    found: { "bring-up node/win-1": "kube-proxy-hostname-override-missing" },
    linted: ["kube-proxy-hostname-override-missing"],
    remedy: { "kube-proxy-hostname-override-missing": "--hostname-override" },
  },
  {
    name: "mac-spoofing",
    row: 1,
    found: { "cluster-file pod/default/till": "mac-spoofing-refused" },
    linted: [],
    remedy: { "mac-spoofing-refused": "-MacAddressSpoofing On" },
  },
  {
    name: "ping",
    row: 2,
    found: { "cluster-file pod/default/till": "icmp-outbound-not-translated" },
    linted: [],
    remedy: { "icmp-outbound-not-translated": "curl" },
  },
  {
    name: "own-node-port",
    row: 3,
    found: { "cluster-file node/win-1": "node-port-from-node-unsupported" },
    linted: ["service-vip-from-node-unsupported"],
    lintedAfter: ["service-vip-from-node-unsupported"],
    remedy: { "node-port-from-node-unsupported": "KB4571748" },
  },
  {
    name: "service-from-node",
    row: 8,
    found: { "cluster-file node/win-1": "service-vip-from-node-unsupported" },
    linted: ["service-vip-from-node-unsupported"],
    remedy: { "service-vip-from-node-unsupported": "into a pod" },
  },
  {
    name: "overlay-node-port",
    found: { "cluster-file external": "node-port-on-overlay-server-2022" },
    linted: ["node-port-on-overlay-server-2022"],
    remedy: { "node-port-on-overlay-server-2022": "externalTrafficPolicy: Local" },
  },
  {
    name: "l2bridge-dsr",
    found: { "pod-to-pod-ip pod/default/till": "l2bridge-broken-with-dsr" },
    linted: ["l2bridge-broken-with-dsr"],
    remedy: { "l2bridge-broken-with-dsr": "without --enable-dsr" },
  },
];

/** `pod-to-pod-ip pod/default/till`, of each cell that is as it should be. */
function agreeing({ cells }: VerifyReport): readonly string[] {
  return cells.filter(({ verdict }) => verdict === "as-expected").map(({ flow, from }) => `${flow} ${from}`);
}

/** Troubles that are not in the packets of a cluster: commands that fail with the cause, and the same after the fix. */
export interface NodeTrouble {
  readonly name: string;
  readonly row?: number;
  /** What is typed, with the codes that it says. */
  readonly broken: Readonly<Record<string, readonly string[]>>;
  readonly fixed: readonly string[];
}

const ADAPTER = "bring-up -f examples/trouble-adapter/cluster.yaml --edit copy-net-conf";
const PROXY =
  "bring-up -f examples/trouble-proxy/cluster.yaml --edit copy-net-conf --fault internet-behind-proxy";
const PROXY_SET = `${PROXY} --env HTTPS_PROXY=http://proxy:3128`;
const NO_PROXY = "--env NO_PROXY=10.0.0.0/24,10.244.0.0/16,10.96.0.0/12,.svc,.cluster.local";

export const NODE_TROUBLES: readonly NodeTrouble[] = [
  {
    name: "adapter",
    row: 9,
    broken: {
      [`${ADAPTER} --adapter LAN=10.0.0.11/24`]: [
        "start-script-adapter-missing",
        "start-script-node-ip-wrong",
      ],
      // The other way round: the name of a card that the node does not have. It must not come up in silence.
      [`${ADAPTER} --interface-name LAN`]: ["start-script-adapter-missing"],
      [`${ADAPTER} --interface-name LAN --scripts KubeCluster.ps1`]: ["start-script-adapter-missing"],
    },
    fixed: [`${ADAPTER} --adapter LAN=10.0.0.11/24 --interface-name LAN --edit node-ip`, ADAPTER],
  },
  {
    name: "dns",
    row: 10,
    broken: {
      "resolve -f examples/trouble-dns/cluster.yaml pod/till stock.shop": ["dns-name-with-dot-not-completed"],
      "lint examples/trouble-dns/cluster.yaml --severity warning": ["dns-name-with-dot-not-completed"],
    },
    fixed: [
      "resolve -f examples/trouble-dns/fixed.yaml pod/till stock.shop.svc.cluster.local",
      "lint examples/trouble-dns/fixed.yaml",
    ],
  },
  {
    name: "port-forward",
    row: 11,
    broken: { "lint examples/trouble-port-forward/config.toml": ["pause-image-without-wincat"] },
    fixed: ["lint examples/trouble-port-forward/config-fixed.toml"],
  },
  {
    name: "proxy",
    row: 12,
    broken: {
      [PROXY]: ["download-needs-proxy"],
      [PROXY_SET]: ["download-needs-proxy", "proxy-takes-api-requests"],
      // The variables alone do not lead the script's downloads anywhere.
      [`${PROXY_SET} ${NO_PROXY}`]: ["download-needs-proxy"],
      [`${PROXY_SET} --edit download-proxy`]: ["proxy-takes-api-requests"],
      "lint examples/trouble-proxy/prepare-node.ps1": ["proxy-takes-api-requests"],
    },
    fixed: [
      `${PROXY_SET} ${NO_PROXY} --edit download-proxy`,
      "lint examples/trouble-proxy/prepare-node-fixed.ps1",
    ],
  },
  {
    name: "cni-comment",
    broken: { "lint examples/trouble-cni-comment/cni.conf": ["json-comment"] },
    fixed: ["lint examples/trouble-cni-comment/cni-fixed.conf"],
  },
];

/** What is wrong is found, explained, and gone after the fix. */
export function describeTroubles(troubles: readonly Trouble[]): void {
  describe.each(troubles)("row $row: examples/trouble-$name", (trouble) => {
    const { name, found, linted, lintedAfter = [], remedy } = trouble;
    const broken = `examples/trouble-${name}/cluster.yaml`;
    const fixed = `examples/trouble-${name}/fixed.yaml`;
    let answer: Run;
    let report: VerifyReport;
    beforeAll(async () => {
      answer = await run("verify", "-f", broken, "-o", "json");
      report = JSON.parse(answer.out) as VerifyReport;
    });

    it("fails, and verify says why", () => {
      expect(answer.code).toBe(1);
      const findings = report.findings.map(({ cell, code }) => {
        const { flow, from } = report.cells[cell ?? -1] ?? { flow: "", from: "" };
        return [`${flow} ${from}`, code];
      });
      for (const [who, code] of Object.entries(found))
        expect(findings).toContainEqual([expect.stringContaining(who), code]);
    });

    it("is explained with its remedy", async () => {
      for (const [code, words] of Object.entries(remedy)) {
        const { code: exit, out } = await run("explain", code);
        expect(exit).toBe(0);
        expect(out.replaceAll(/\s+/g, " ")).toContain(words);
      }
    });

    it("is green after the fix", async () => {
      const { code, out, err } = await run("verify", "-f", fixed, "-o", "json");
      expect([code, err]).toEqual([0, ""]);
      const after = JSON.parse(out) as VerifyReport;
      expect(after.counts.findings).toBe(0);
      // What was in trouble is tried, and good. What comes up well has no cell.
      for (const who of Object.keys(found).filter((key) => !key.startsWith("bring-up")))
        expect(agreeing(after)).toContainEqual(expect.stringContaining(who));
      expect(after.counts.works).toBeGreaterThanOrEqual(report.counts.works);
    });

    it("lint says as much as a file alone can show, and nothing after the fix", async () => {
      const codesOf = async (file: string): Promise<readonly string[]> => {
        const { out } = await run("lint", file, "--format", "json");
        const { findings } = JSON.parse(out) as { readonly findings: readonly { readonly code: string }[] };
        return [...new Set(findings.map((finding) => finding.code))].toSorted();
      };
      expect(await codesOf(broken)).toEqual(linted);
      expect(await codesOf(fixed)).toEqual(lintedAfter);
    });
  });
}

/** Each command says why it fails, and is good after the fix. */
export function describeNodeTroubles(troubles: readonly NodeTrouble[]): void {
  describe.each(troubles)("row $row: examples/trouble-$name", ({ name, broken, fixed }) => {
    it.each(Object.entries(broken))(`${name}: mullion %s says why`, async (command, codes) => {
      const { code, out } = await run(...command.split(" "));
      expect(code).toBe(1);
      for (const each of codes) expect(out).toContain(each);
    });

    it.each(fixed)(`${name}: mullion %s is good after the fix`, async (command) => {
      const { code, out, err } = await run(...command.split(" "));
      expect([code, err]).toEqual([0, ""]);
      for (const each of Object.values(broken).flat()) expect(out).not.toContain(each);
    });
  });
}
