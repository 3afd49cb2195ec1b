/** The commands that pages show, as a reader types them, and what becomes of each in the tests. */

/** A line of a shell block. */
export interface PageCommand {
  readonly page: string;
  /** Without its comment; lines that a backslash joins are one. */
  readonly line: string;
  /** Counted over the page: what stands in one block is typed in one terminal. */
  readonly block: number;
  /** Which time the page shows this line, from 1. */
  readonly time: number;
}

const BLOCK = /^```(sh|powershell)\n([\s\S]*?)^```$/gm;

/** A comment behind a command: two blanks or more and a number sign, or a line of its own. */
function withoutComment(line: string): string {
  return line.replace(/(?:^|\s{2,})#\s.*$/, "").trim();
}

export function commandsOf(page: string, text: string): readonly PageCommand[] {
  const times = new Map<string, number>();
  return [...text.matchAll(BLOCK)].flatMap(([, language, code = ""], block) =>
    code
      .replaceAll(/\\\n\s*/g, "")
      .split("\n")
      .map(withoutComment)
      .filter((line) => line !== "")
      .map((typed) => {
        const line = language === "sh" ? typed : `PS> ${typed}`;
        const time = (times.get(line) ?? 0) + 1;
        times.set(line, time);
        return { page, line, block, time };
      }),
  );
}

/** Files that a page tells its reader to write: a name in backticks with a colon, and the block below it. */
export function filesOf(text: string): ReadonlyMap<string, string> {
  const written = /`([\w.-]+\.(?:json|yaml|conflist))`[^`\n]*:\n\n```(?:json|yaml)\n([\s\S]*?)^```$/gm;
  return new Map([...text.matchAll(written)].map(([, name = "", content = ""]) => [name, content]));
}

/** A command that the run of the pages leaves out. */
interface LeftOut {
  /** Of the whole line. */
  readonly pattern: RegExp;
  /** Only on this page; undefined: on all. */
  readonly page?: string;
  readonly why: string;
  /** Where the same thing is tested. */
  readonly instead: string;
}

const WINE = "test/wine/go.wine.test.ts, test/wine/wine-verb.wine.test.ts";
const ROOT = "test/live/kubernetes/flanneld.live.test.ts";
const FLANNELD = "docs/how-to/run-flanneld.md";
const WINDOWS_PROGRAMS = "docs/how-to/test-windows-programs.md";
const INSTALL = "docs/start/install.md";

/** Every command that is not run, with its reason. A row that fits no command is a fault, too. */
export const LEFT_OUT: readonly LeftOut[] = [
  { pattern: /^PS> /, why: "PowerShell on a Windows node", instead: "test/wine/launcher.wine.test.ts" },
  { pattern: /^npm (?:ci|pack|install --save-dev)\b/, why: "installs packages", instead: "test/package" },
  {
    pattern: /-f manifests\b/,
    page: INSTALL,
    why: "stands for the reader's own project",
    instead: "test/package/package.package.test.ts",
  },
  {
    pattern: /^alias /,
    page: INSTALL,
    why: "for a shell with a person",
    instead: "the same file is run here",
  },
  {
    pattern: /^eval "\$\(mullion completion|^mullion completion fish/,
    page: INSTALL,
    why: "for a shell with a person, and mullion on its PATH",
    instead: "src/cli/mullion/completion/completion.test.ts",
  },
  {
    pattern: /^kubectl get nodes,pods,services,endpointslices -A -o yaml > objects\.yaml$/,
    why: "needs a real cluster",
    instead: "src/cli/mullion/doctor.test.ts",
  },
  {
    pattern: /^npx mullion doctor --kubeconfig ~\/\.kube\/config --collect --node win-1 --yes$/,
    why: "needs a real cluster",
    instead: "src/cli/mullion/doctor-collect.long.test.ts",
  },
  {
    pattern: /^npx mullion doctor --hns --kubeconfig ~\/\.kube\/config --watch$/,
    why: "it asks the HNS of a node and a cluster",
    instead: "src/cli/mullion/doctor-watch.test.ts",
  },
  {
    pattern: /^npx mullion doctor collected --kubeconfig ~\/\.kube\/config$/,
    why: "needs a real cluster",
    instead: "src/cli/mullion/kube/serve.test.ts",
  },
  { pattern: /\/path\/to\/config/, why: "needs a real cluster", instead: "test/live/kubernetes" },
  {
    pattern: /--config=kube-proxy\.yaml/,
    why: "its file names a path of a Windows node",
    instead: "src/cli/kube-proxy/program.test.ts",
  },
  {
    pattern: /^ip |^npx .* kube serve .*--listen 192\.168/,
    page: FLANNELD,
    why: "needs root",
    instead: ROOT,
  },
  {
    pattern: /^curl http:\/\/(?:192\.168|127\.0\.0\.1:10257)/,
    page: FLANNELD,
    why: "needs the flanneld, or the etcd, of a command that needs root",
    instead: `${ROOT}, src/programs/flannel/etcd/etcd.live.test.ts`,
  },
  {
    pattern: /^sudo |^unshare /,
    page: "docs/how-to/reach-a-cluster-with-real-programs.md",
    why: "needs root",
    instead: "test/live/live-cluster.live.test.ts",
  },
  {
    pattern: /^npx mullion (?:capture|top|exec) /,
    page: "docs/how-to/reach-a-cluster-with-real-programs.md",
    why: "needs the cluster of a command that needs root",
    instead: "test/live/workloads.live.test.ts",
  },
  { pattern: /^tshark /, why: "needs a program from Debian", instead: "test/live/pages.live.test.ts" },
  {
    pattern: /^apt-get |^npm run build:shim/,
    why: "installs programs, builds with them",
    instead: ".ci/run",
  },
  {
    pattern: /^cd |^GOOS=windows |mullion wine |^grep /,
    page: WINDOWS_PROGRAMS,
    why: "needs Wine and Go",
    instead: WINE,
  },
];

export function findLeftOut({ page, line }: PageCommand): LeftOut | undefined {
  return LEFT_OUT.find((row) => row.pattern.test(line) && (row.page ?? page) === page);
}

/** What stays in front until it is ended; the pattern tells that it is ready. */
const SERVERS: readonly (readonly [line: RegExp, isReady: RegExp])[] = [
  [/ (?:hns|kube) serve /, /Ctrl-C ends it/],
  [/ hns watch/, /Ctrl-C ends it/],
  [/ mullion ui /, /Ctrl-C ends it/],
  [/ run kube-proxy /, /Synced proxy rules/],
];

export function readyPattern(line: string): RegExp | undefined {
  return line.endsWith("&") ? undefined : SERVERS.find(([pattern]) => pattern.test(line))?.[1];
}

/**
 * The words of a command that needs nothing but its files, so that it can also be run in the process of a test; undefined
 * for others.
 */
export function inProcess(line: string): readonly string[] | undefined {
  const words = (line.match(/"[^"]*"|'[^']*'|\S+/g) ?? []).map((word) =>
    // Of a word in quotes the other kind is part of it.
    /^(["']).*\1$/.test(word) ? word.slice(1, -1) : word.replaceAll(/["']/g, ""),
  );
  const [npx, mullion, verb, tool, ...rest] = words;
  if (npx !== "npx" || mullion !== "mullion") return undefined;
  if (verb === "run" && /^(?:hnsdiag|vfpctrl|pktmon)$/.test(tool ?? "") && line.includes("--mullion-file"))
    return [tool ?? "", ...rest];
  const isAlone =
    /^npx mullion explain |^npx mullion .*-f examples\/|^npx mullion (?:lint|doctor) examples|vfp diff examples/.test(
      line,
    );
  const staysUp = ["up", "kube", "ui"].includes(verb ?? "");
  return isAlone && !staysUp && !line.includes(" > ") ? words.slice(1) : undefined;
}

/** What a command that needs more prints: on standard output, and the code it ends with. */
interface Expected {
  readonly line: RegExp;
  readonly page?: string;
  readonly output: RegExp;
  /** Which time the page shows the command, from 1; undefined: any. */
  readonly time?: number;
  readonly code?: number;
}

/** From the pages' own sentences, for the commands that work on a service, a running cluster, or the machine. */
export const EXPECTED: readonly Expected[] = [
  { line: /^npm start$/, output: /What works, and what does not[^]*One call, explained[^]*demo --full\n$/ },
  { line: /^npx mullion version$/, output: /^mullion \d+\.\d+\.\d+\nnode \d+\.\d+\.\d+\nsystem \S+\n$/ },
  { line: /^npm install --global \.$/, output: /added 1 package/ },
  {
    line: /^npx node --conditions=mullion-source examples\/hns-client/,
    output:
      /network flannel\.4096 Overlay\nendpoint web-0 10\.42\.6\.\d+ .*\n[^]*load balancer 10\.96\.0\.80 with 2 back ends\n$/,
  },
  { line: /run hnsdiag list all$/, output: /^Networks:\r?\n[^]*flannel\.4096[^]*web-1[^]*10\.96\.0\.80/ },
  { line: /run hnsdiag list networks -d$/, output: /"Name"\s*:\s*"flannel\.4096"/ },
  { line: /hns get all$/, page: "docs/start/hns.md", output: /^networks\n[^]*web-0[^]*10\.96\.0\.80/ },
  { line: /hns get ep web-0 -o yaml$/, output: /^Name: web-0$/m },
  { line: /hns get network flannel\.4096 --v1 -o json$/, output: /"AddressPrefix": "10\.42\.6\.0\/24"/ },
  { line: /hns dump --to node\.json$/, output: /^$/ },
  {
    line: /hns restore --replace /,
    output: /^Restored 1 network, 3 namespaces, 3 endpoints, 2 load balancers into /,
  },
  { line: /hns serve --socket \S+ &$/, output: /[^]*/ },
  { line: /^server=|^kill /, output: /^$/ },
  { line: /hns get all --socket/, output: /^(?:networks|namespaces)\n/ },
  { line: /mullion down$/, output: /^(?:|Cluster .* is down\.\n)$/ },
  { line: /mullion up -f /, output: /^Cluster \S+ is up: 3 nodes|^Cluster \S+ is up: 2 nodes/ },
  {
    line: /node restart-hns win-1 --state lose$/,
    output: /^node\/win-1: HNS has been restarted \(lose\)\n$/,
  },
  {
    line: /mullion verify$/,
    time: 1,
    output: /\d+ cells did not match the expectation, for \d+ causes\.\n$/,
    code: 1,
  },
  { line: /mullion verify$/, time: 2, output: /Observed and expected agree\.\n$/ },
  { line: /node reboot win-1$/, output: /^node\/win-1: the machine has been restarted\n$/ },
  { line: /run pktmon counters --type drop --drop-reason$/, output: /[^]*/ },
  { line: /hns create network -f network\.json$/, output: /^network\/cbr0 created\n$/ },
  { line: /hns create endpoint --network cbr0/, output: /^endpoint\/web created\n$/ },
  { line: /hns create namespace --id/, output: /^namespace\/7cb720c0-\S+ created\n$/ },
  { line: /cni add 10-cbr0/, output: /"address": "10\.244\.2\.\d+\/24"/ },
  { line: /cni check 10-cbr0/, output: /as ADD has left it/ },
  { line: /cni del 10-cbr0/, output: /is detached/ },
  { line: /programs install /, output: /win-bridge[^]*host-local/ },
  { line: /programs remove /, output: /win-bridge[^]*host-local/ },
  { line: /lint net-conf\.json --windows$/, output: /no findings|Nothing found|0 findings/i },
  { line: /hns get loadbalancers$/, output: /^10\.96\.0\.20 +80:8080\/TCP +10\.244\.1\.4,10\.244\.2\.3 /m },
  { line: /10249\/metrics$/, output: /^kubeproxy_sync_proxy_rules_duration_seconds_count/m },
  { line: /10249\/configz$/, output: /"kubeproxy\.config\.k8s\.io"/ },
  { line: /10256\/healthz$/, output: /"lastUpdated"/ },
  {
    line: /node restart-hns win-1 --state forget-load-balancers$/,
    output: /^node\/win-1: HNS has been restarted/,
  },
  { line: /get services --node win-1 -o wide$/, output: /hns-load-balancers-lost/ },
  { line: /mullion pass 30s$/, output: /clock is at \d+ ms/ },
  { line: /get services --node win-1$/, output: /orders/ },
  { line: /get events$/, output: /^$|REASON/ },
  {
    line: /hns get all$/,
    page: "docs/how-to/test-windows-programs.md",
    output: /^(?:networks|namespaces)\n/,
  },
  { line: /hns fault add fail /, output: /^\S/ },
  { line: /mullion doctor .* -o html > /, output: /^$/, code: 1 },
  { line: / -o html > /, output: /^$/ },
];

export function findExpected({ page, line, time }: PageCommand): Expected | undefined {
  return EXPECTED.find(
    (row) => row.line.test(line) && (row.page ?? page) === page && (row.time ?? time) === time,
  );
}
