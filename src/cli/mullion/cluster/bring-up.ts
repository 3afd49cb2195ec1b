/** `mullion bring-up`: the start scripts of a new Windows node, step by step. */
import { ProblemsError } from "#cluster/api/error-details.ts";
import { bringUp as runScripts } from "#cluster/bring-up/bring-up.ts";
import { formatBringUp } from "#cluster/bring-up/format-report.ts";
import {
  type BringUpOptions,
  defaultOptions,
  networkModeOf,
  scriptNetworkName,
} from "#cluster/bring-up/options.ts";
import type { ClusterFile, NodeSpec } from "#cluster/file/cluster-file.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { unenforcedPolicyNote } from "#cluster/limits/network-policies.ts";
import { toSessionProblem } from "#cluster/session/session.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import type { FileProblem } from "#core/catalogue/file-problem.ts";
import { formatIp } from "#core/net/ip.ts";
import { Failure, LEFT_OUT, reportFindings } from "../failure.ts";
import { formatDocument, isDocumentFormat } from "../print-document.ts";
import { readClusterInputs } from "./read-cluster-inputs.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import { traceStyle } from "../trace.ts";
import type { BringUpRequest } from "../verbs.ts";
import { commands } from "#data/words.js";

const WORDS = commands();

function findNode({ nodes }: ClusterFile, name: string | undefined): NodeSpec {
  const windows = nodes.filter(({ os }) => os === "windows");
  const found = name === undefined ? windows[0] : windows.find((node) => node.name === name);
  if (found !== undefined) return found;
  const names = windows.map((node) => node.name).join(", ");
  throw new Failure(
    "bad-usage",
    name === undefined
      ? "the cluster has no Windows node"
      : `${JSON.stringify(name)} is not a Windows node of the cluster`,
    names === "" ? "Add a node with os: windows to the cluster file." : `Windows nodes: ${names}.`,
  );
}

/** The scripts know flannel alone, with names that nobody can choose. */
function checkNetwork(file: ClusterFile): void {
  const { network } = file;
  if (network.plugin !== "flannel")
    throw new Failure(
      "bad-usage",
      WORDS.bringUpNeedsFlannel({ plugin: network.plugin }),
      WORDS.adviceBringUpFlannel,
    );
  const name = scriptNetworkName(networkModeOf(file));
  if (network.name === name) return;
  throw new Failure(
    "bad-usage",
    WORDS.bringUpNetworkNameMismatch({ nameInScripts: name, nameInFile: network.name }),
    `Write network.name: ${name}, or leave it out.`,
  );
}

function checkAdapters(node: NodeSpec, { adapters }: BringUpOptions): void {
  const holders = adapters.filter(({ address }) => address.ip === node.address);
  const names = new Set(adapters.map(({ name }) => name.toLowerCase()));
  if (holders.length === 1 && names.size === adapters.length) return;
  throw new Failure(
    "bad-usage",
    names.size === adapters.length
      ? `one of the adapters has to have the node's address ${formatIp(node.address)}`
      : "two adapters have the same name",
    WORDS.adviceBringUpAdapters({ address: formatIp(node.address) }),
  );
}

function checkApiServer({ apiServer }: BringUpOptions): void {
  if (URL.canParse(apiServer)) return;
  throw new Failure(
    "bad-usage",
    `--api-server takes a URL, not ${JSON.stringify(apiServer)}`,
    "Write it as https://10.0.0.21:6443.",
  );
}

function optionsOf(request: BringUpRequest, file: ClusterFile, node: NodeSpec): BringUpOptions {
  const { scripts, runtime, environment, faults, edits, formerRange, runs, patienceMs } = request;
  const usual = defaultOptions(file, node);
  const options: BringUpOptions = {
    ...usual,
    scripts,
    runtime,
    environment,
    faults,
    edits,
    formerRange,
    runs,
    patienceMs,
    flanneld: request.flanneld ?? usual.flanneld,
    parameters: { ...usual.parameters, ...request.parameters },
    adapters: request.adapters.length === 0 ? usual.adapters : request.adapters,
    apiServer: request.apiServer ?? usual.apiServer,
  };
  checkAdapters(node, options);
  checkApiServer(options);
  return options;
}

/** The scripts bring no policy engine up. */
function policyNotes(objects: readonly LoadedObject[]): readonly FileProblem[] {
  return objects.flatMap(({ object, origin }) => {
    if (object.kind !== "NetworkPolicy") return [];
    const { file = "", line = 0, column = 0 } = origin ?? {};
    return unenforcedPolicyNote(object, { file, line, column, field: "" });
  });
}

export async function bringUp(request: BringUpRequest, terminal: Terminal): Promise<ExitCode> {
  const { inputs, output } = request;
  const texts = await readClusterInputs(inputs.files, inputs.isRecursive, terminal);
  const read = readInput(texts);
  if (!("input" in read)) throw new ProblemsError(read.problems.map(toSessionProblem));
  const { file, objects, problems, notes } = read.input;
  checkNetwork(file);
  const node = findNode(file, request.node);
  const options = optionsOf(request, file, node);
  const said = [...notes, ...policyNotes(objects)].map(toSessionProblem);
  reportFindings({ problems: problems.map(toSessionProblem), notes: said }, LEFT_OUT, terminal);
  const report = await runScripts({
    file,
    objects,
    options,
    progress: ({ number, name }, total) => {
      if (!terminal.isInteractive) return;
      terminal.status(number === total ? "" : `Step ${number} of ${total}: ${name} …`);
    },
  });
  terminal.stdout(
    isDocumentFormat(output)
      ? formatDocument(report, output)
      : formatBringUp(report, output === "wide", traceStyle(terminal)),
  );
  return report.outcome === "up" ? 0 : 1;
}
