/** The verbs that need a cluster, as the command line hands them over: parsed, checked, nothing read yet. */
import type { OvnRemote } from "#cluster/ovn/remote-southbound.node.ts";
import type { LiveOptions } from "#cluster/live/live-cluster.node.ts";
import type { BringUpOptions, ScriptParameters } from "#cluster/bring-up/options.ts";
import type { Edition } from "#core/catalogue/edition.ts";
import type { LookupProgram } from "#cluster/trace/resolve-report.ts";
import type { ShardNumber } from "#cluster/verify/report.ts";
import type { FlanneldRelease } from "#programs/flannel/flanneld-options.ts";
import type { NodeChange } from "#cluster/life/node-change.ts";
import type { LintSeverity } from "#diagnose/catalogue/entry.ts";
import type { CniVerbs } from "./cni/verbs.ts";
import type { DockerVerbs } from "./docker/verbs.ts";
import type { HnsVerbs } from "./hns/verbs.ts";
import type { ClusterTarget, InputPaths, RunningName } from "./cluster/cluster-target.ts";
import type { KindSelection } from "./get/kinds.ts";
import type { KubeVerbs } from "./kube/commands.ts";
import type { ProgramsVerbs } from "./programs/commands.ts";
import type { ComparisonRequest } from "./verify-comparison-options.ts";
import type { OvnVerbs } from "./ovn/verbs.ts";
import type { VfpVerbs } from "./vfp/commands.ts";
import type { PageFormat, ReportFormat, TextFormat } from "./print-document.ts";
import type { ListFormat } from "./table.ts";
import type { ExitCode, Terminal } from "./terminal.ts";

export const PROTOCOLS = ["tcp", "udp", "icmp", "dns"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

export interface TraceVerbRequest {
  readonly target: ClusterTarget;
  /** The edition of the Kubernetes page that the input runs as; undefined: as it says itself. */
  readonly asDocumented: Edition | undefined;
  /** `pod/ns/name`, `pod/name`, `node/name`, `external`, an address. */
  readonly from: string;
  readonly to: string;
  readonly protocol: Protocol;
  /** Undefined: the family of the receiver's address. */
  readonly family: "ipv4" | "ipv6" | undefined;
  /** 1 to 65535. Undefined: the first port of the receiver; always for ICMP. */
  readonly port: number | undefined;
  readonly output: PageFormat;
  /** Where to write the packets as pcapng. */
  readonly pcap: string | undefined;
  /** Sends the packet through the cluster itself, not through a copy. */
  readonly isInjected: boolean;
  /** `NODE` or `NODE:PLACE`: of the packets only those. */
  readonly pcapOn: string | undefined;
}

export interface ResolveVerbRequest {
  readonly target: ClusterTarget;
  /** Undefined: as the input says itself. */
  readonly asDocumented: Edition | undefined;
  /** At least one. */
  readonly from: readonly string[];
  readonly name: string;
  readonly program: LookupProgram;
  readonly family: "ipv4" | "ipv6" | undefined;
  /** Lookups of each, 1 to 100. */
  readonly times: number;
  /** Milliseconds between two of them. */
  readonly intervalMs: number;
  readonly output: TextFormat;
}

export interface ExecVerbRequest {
  readonly target: ClusterTarget;
  /** Undefined: as the input says itself. */
  readonly asDocumented: Edition | undefined;
  /** Undefined: the commands are to be listed. */
  readonly from: string | undefined;
  readonly command: readonly string[];
  /** In a pod that is real, too, the answer is that of Windows or Linux as Mullion simulates them. */
  readonly isSimulated: boolean;
  /** The walks of its packets are wanted. */
  readonly isTraced: boolean;
  readonly output: TextFormat;
}

/** Which objects of a kind are meant. */
export interface ListScope {
  readonly namespace: string;
  /** In all namespaces. */
  readonly isEverywhere: boolean;
  /** Only what is on this node. */
  readonly node: string | undefined;
}

export interface GetRequest {
  readonly target: ClusterTarget;
  /** At least one. */
  readonly selections: readonly KindSelection[];
  readonly scope: ListScope;
  readonly output: ListFormat;
}

export const LINT_FORMATS = ["text", "json", "yaml", "sarif", "junit"] as const;
export type LintFormat = (typeof LINT_FORMATS)[number];

export interface LintRequest {
  /** Files, folders, `-`. */
  readonly paths: readonly string[];
  readonly profile: string | undefined;
  readonly kubernetes: string | undefined;
  /** Pods that do not say otherwise are for Windows. */
  readonly isWindows: boolean;
  readonly format: LintFormat;
  /** The lightest findings that are shown. */
  readonly severity: LintSeverity;
  /** The lightest of them that make the exit code 1. */
  readonly failOn: LintSeverity;
  /** Show the rules. */
  readonly isList: boolean;
  /** Print all that is known of each finding; else a paragraph each. */
  readonly isLong: boolean;
  /** Only this part of the documents, for `mullion merge`. */
  readonly shard: ShardNumber | undefined;
}

export interface DoctorRequest {
  /** Files, folders, `-`. */
  readonly paths: readonly string[];
  readonly output: ReportFormat;
  /** Of a cluster whose objects are listed. */
  readonly kubeconfig: string | undefined;
  /** The only node that is examined; undefined: all. */
  readonly node: string | undefined;
  /** Pods on the cluster's Windows nodes bring what commands print there: "plan" says what would be made, "do" makes it. */
  readonly collect: "plan" | "do" | undefined;
  /** The HNS of this machine is asked, too. */
  readonly isHns: boolean;
  /** How long to wait until the next look, in milliseconds; undefined: one look, and a report. */
  readonly watchEveryMs: number | undefined;
  /** Addresses and names of the cluster are replaced. */
  readonly isRedacted: boolean;
  /** How many threads read files; undefined: as many as pay. */
  readonly threads: number | undefined;
  /** Name all files. */
  readonly isLong: boolean;
}

export const VERIFY_FORMATS = ["table", "json", "yaml", "junit", "html"] as const;
export type VerifyFormat = (typeof VERIFY_FORMATS)[number];

/** What `--allow` calls all flows that are not judged. */
export const ALLOW_NOT_JUDGED = "not-judged";

export interface VerifyRequest {
  readonly target: ClusterTarget;
  /** Findings that do not count: codes, or `not-judged`. */
  readonly allowed: readonly string[];
  readonly comparison: ComparisonRequest;
  readonly output: VerifyFormat;
  /** Only this part, for `mullion merge`. */
  readonly shard: ShardNumber | undefined;
  /** Processes at work; undefined: as the cluster and the machine are. */
  readonly workers: number | undefined;
  /** Go on, and show it again whenever the input or the running cluster changes. */
  readonly isWatching: boolean;
  /** Keep nothing that a running cluster knows from before. */
  readonly isWhole: boolean;
  /** Started by `verify` itself, to try batches of its cells. */
  readonly isHelper: boolean;
}

/** Forms of what is merged: those of `verify`, and those of `lint`. */
export const MERGE_FORMATS = ["text", "table", "json", "yaml", "junit", "sarif"] as const;
export type MergeFormat = (typeof MERGE_FORMATS)[number];

export interface MergeRequest {
  /** Files, and folders of them. */
  readonly paths: readonly string[];
  readonly output: MergeFormat;
}

export interface UpRequest {
  readonly inputs: InputPaths;
  readonly running: RunningName;
  /** Stays in front until it is interrupted. */
  readonly isForeground: boolean;
  /** Started by `up` itself: the inputs come on standard input, the progress goes to the parent. */
  readonly isHeld: boolean;
  /** The segment between the nodes is real; undefined: it is not. */
  readonly live: LiveOptions | undefined;
  /** The southbound database that the nodes' chassis are in; undefined: one in memory. */
  readonly ovnRemote: OvnRemote | undefined;
}

export interface ShellRequest {
  readonly running: RunningName;
  /** Undefined: the machine on the segment between the nodes. */
  readonly pod: string | undefined;
  /** Empty: a shell. */
  readonly command: readonly string[];
}

export interface LogsRequest {
  readonly running: RunningName;
  readonly pod: string;
}

export interface CaptureRequest {
  readonly running: RunningName;
  /** `pod/NS/NAME`, `node/NAME`, `port/ID`, `underlay`; none: the underlay. */
  readonly places: readonly string[];
  /** Of the file; `-`: standard output. */
  readonly path: string;
  /** It ends by itself after so many frames; undefined: never. */
  readonly framesMax: number | undefined;
}

/** Whose rates `top` shows: of all switch ports, of uplinks, of pods, of Services. */
export const TOP_SUBJECTS = ["ports", "nodes", "pods", "services"] as const;

export interface TopRequest {
  readonly running: RunningName;
  readonly what: (typeof TOP_SUBJECTS)[number];
  readonly intervalMs: number;
  /** Tables until it ends by itself; infinite: never. */
  readonly times: number;
  readonly output: TextFormat;
}

export interface UiRequest {
  /** None: the running cluster. */
  readonly inputs: InputPaths;
  readonly running: RunningName;
  /** What doctor reads, or a report that it wrote; none: a cluster or an HNS. */
  readonly reports: readonly string[];
  /** The socket of an HNS; empty: where programs find it; undefined: none is meant. */
  readonly hns: string | undefined;
  /** `127.0.0.1:0` */
  readonly listen: string;
  readonly opensBrowser: boolean;
}

export interface ApplyRequest {
  readonly inputs: InputPaths;
  readonly running: RunningName;
  /** For objects that name none. */
  readonly namespace: string;
}

export interface DeleteRequest extends ApplyRequest {
  /** By name; all have names. */
  readonly selections: readonly KindSelection[];
  /** What is not there is no finding. */
  readonly isMissingGood: boolean;
}

export interface NodeRequest {
  readonly running: RunningName;
  /** At least one. */
  readonly nodes: readonly string[];
  /** The same for all of them, one after the other. */
  readonly change: NodeChange;
}

export interface ControlPlaneRequest {
  readonly running: RunningName;
  readonly apiServer: "up" | "down";
}

export interface PassRequest {
  readonly running: RunningName;
  readonly milliseconds: number;
}

/** What `demo` shows when no file is named: an example of the package. */
export const DEMO_EXAMPLE = "examples/mixed-services/cluster.yaml";

export interface DemoRequest {
  readonly file: string;
  readonly pcap: string;
  /** Everything, not only what fits a screen. */
  readonly isFull: boolean;
}

export const BRING_UP_FORMATS = ["table", "wide", "json", "yaml"] as const;
export type BringUpFormat = (typeof BRING_UP_FORMATS)[number];

/** What is undefined, or not there, is as the cluster has it. */
export interface BringUpRequest
  extends Omit<BringUpOptions, "node" | "flanneld" | "parameters" | "apiServer"> {
  /** At least one file. */
  readonly inputs: InputPaths;
  readonly node: string | undefined;
  readonly flanneld: FlanneldRelease | undefined;
  readonly parameters: Partial<ScriptParameters>;
  readonly apiServer: string | undefined;
  readonly output: BringUpFormat;
}

export interface WineRequest {
  /** Path of the executable. */
  readonly program: string;
  readonly args: readonly string[];
  /** Of a service of its own; undefined: its defaults. */
  readonly profile: string | undefined;
  readonly data: string | undefined;
  /** Of a service of its own, as `hns serve` takes them; none: its default. */
  readonly adapters: readonly string[];
  /** The file for the calls of HCN that the program makes. */
  readonly traceCalls: string | undefined;
}

/** Each prints its results and says how it ended; it may throw a `Failure`. */
export interface Verbs {
  lint(request: LintRequest, terminal: Terminal): Promise<ExitCode>;
  doctor(request: DoctorRequest, terminal: Terminal): Promise<ExitCode>;
  readonly trace: (request: TraceVerbRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly resolve: (request: ResolveVerbRequest, terminal: Terminal) => Promise<ExitCode>;
  /** Answers the exit code of a program that ran in a pod that is real. */
  readonly exec: (request: ExecVerbRequest, terminal: Terminal) => Promise<number>;
  readonly get: (request: GetRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly up: (request: UpRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly ui: (request: UiRequest, terminal: Terminal) => Promise<ExitCode>;
  /** Answers the exit code of the command. */
  readonly shell: (request: ShellRequest, terminal: Terminal) => Promise<number>;
  readonly logs: (request: LogsRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly capture: (request: CaptureRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly top: (request: TopRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly apply: (request: ApplyRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly delete: (request: DeleteRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly down: (request: RunningName, terminal: Terminal) => Promise<ExitCode>;
  readonly node: (request: NodeRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly controlPlane: (request: ControlPlaneRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly pass: (request: PassRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly verify: (request: VerifyRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly merge: (request: MergeRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly bringUp: (request: BringUpRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly demo: (request: DemoRequest, terminal: Terminal) => Promise<ExitCode>;
  /** Answers the exit code of the Windows program. */
  readonly wine: (request: WineRequest, terminal: Terminal) => Promise<number>;
  readonly cni: CniVerbs;
  readonly docker: DockerVerbs;
  readonly hns: HnsVerbs;
  readonly kube: KubeVerbs;
  readonly programs: ProgramsVerbs;
  readonly ovn: OvnVerbs;
  readonly vfp: VfpVerbs;
}
