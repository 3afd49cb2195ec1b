/** Bring-ups for tests: a cluster of a Linux and a Windows node, by options that differ from the usual ones. */
import { defined } from "#core/base/assert.ts";
import { bringUp, prepareNode } from "#cluster/bring-up/bring-up.ts";
import {
  type BringUpFault,
  type BringUpOptions,
  type ScriptEdit,
  type ScriptParameters,
  defaultOptions,
} from "#cluster/bring-up/options.ts";
import type { BringUpReport, StepReport } from "#cluster/bring-up/report.ts";
import type { ScriptNode } from "#cluster/bring-up/script-node.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { parseFlanneldRelease } from "#programs/flannel/flanneld-options.ts";
import { parseInterfaceAddress } from "#core/net/ip.ts";

export interface Asked {
  readonly backend?: "vxlan" | "host-gw";
  readonly kubernetes?: string;
  readonly network?: string;
  readonly flanneld?: string;
  readonly parameters?: Partial<ScriptParameters>;
  readonly faults?: readonly BringUpFault[];
  readonly edits?: readonly ScriptEdit[];
  /** `Ethernet 2=10.0.0.11/24`. */
  readonly adapters?: readonly string[];
  readonly more?: Partial<BringUpOptions>;
}

function clusterText({ backend = "vxlan", kubernetes = "1.23", network = "" }: Asked): string {
  return `
apiVersion: mullion/v1alpha1
kind: Cluster
metadata: { name: test }
kubernetes: { version: "${kubernetes}" }
nodes:
  - { name: linux-1, os: linux, address: 10.0.0.21 }
  - { name: win-1, os: windows, build: ws2019, address: 10.0.0.11 }
network: { plugin: flannel, backend: ${backend}${network} }
`;
}

function inputOf(asked: Asked): Parameters<typeof bringUp>[0] {
  const read = readInput([{ name: "cluster.yaml", text: clusterText(asked) }]);
  if (!("input" in read)) throw new Error(read.problems.map(({ message }) => message).join("; "));
  const { file, objects } = read.input;
  const spec = defined(
    file.nodes.find(({ os }) => os === "windows"),
    "there is a Windows node",
  );
  const usual = defaultOptions(file, spec);
  const { flanneld = "0.11.0", parameters, faults = [], edits = [], adapters, more } = asked;
  const options: BringUpOptions = {
    ...usual,
    flanneld: defined(parseFlanneldRelease(flanneld), "it is a release"),
    parameters: { ...usual.parameters, ...parameters },
    faults: new Set(faults),
    edits: new Set(edits),
    ...(adapters !== undefined && {
      adapters: adapters.map((text) => {
        const [name = "", address = ""] = text.split("=");
        return { name, address: defined(parseInterfaceAddress(address), "it is an address") };
      }),
    }),
    ...more,
  };
  return { file, objects, options };
}

export function bringUpBy(asked: Asked = {}): Promise<BringUpReport> {
  return bringUp(inputOf(asked));
}

/** The node before any script has run. */
export function bareNode(asked: Asked = {}): Promise<ScriptNode> {
  return prepareNode(inputOf(asked));
}

/** The step of that name, of the last run. */
export function stepOf({ steps }: BringUpReport, name: string): StepReport {
  return defined(
    steps.findLast((step) => step.name === name),
    `a step ${name}`,
  );
}

/** `code` of everything found, in order. */
export function codesOf({ steps }: BringUpReport): readonly string[] {
  return steps.flatMap(({ findings }) => findings.map(({ code }) => code));
}

export function fileOf({ files }: BringUpReport, path: string): string {
  return files.find((file) => file.path === path)?.text ?? "";
}

/** The command line of a program that runs at the end. */
export function commandLineOf({ processes }: BringUpReport, name: string): string {
  return processes.findLast((process) => process.name === name)?.commandLine ?? "";
}
