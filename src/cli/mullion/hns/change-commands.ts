/** The verbs of `mullion hns` that change single objects: `create`, `modify`, `delete`. */
import { Argument, type Command, Option } from "commander";
import { parseGuid } from "#contracts/hcn/guid.ts";
import { type Run, examples, usage } from "../options.ts";
import { TEXT_FORMATS } from "../print-document.ts";
import type { Terminal } from "../terminal.ts";
import { type HnsKindNames, parseHnsKinds } from "./hns-kinds.ts";
import { HNS_KIND_HELP } from "./hns-listings.ts";
import type { HnsCreateRequest, HnsVerbs } from "./verbs.ts";
import { hnsCommands } from "#data/words.js";

const WORDS = hnsCommands();

const SOCKET = WORDS.socketOption;
const DOCUMENT = 'the document, JSON or YAML; "-" for standard input';

interface SocketOptions {
  readonly socket?: string;
}

function kindArgument(): Argument {
  return new Argument("<kind>", HNS_KIND_HELP);
}

function targetOf({ socket }: SocketOptions): HnsCreateRequest["target"] {
  return { files: [], socket };
}

/** One kind, not several. @throws Failure. */
function parseKind(text: string): HnsKindNames {
  const [kind, ...others] = parseHnsKinds(text);
  if (kind !== undefined && others.length === 0) return kind;
  throw usage(`${JSON.stringify(text)} stands for several kinds`, "Name one kind, such as network.");
}

interface CreateOptions extends SocketOptions {
  readonly file?: string;
  readonly id?: string;
  readonly network?: string;
  readonly v1?: boolean;
  readonly output: HnsCreateRequest["output"];
}

const CREATE_HELP = `\n${WORDS.createHelp}\n`;

function parseId(text: string | undefined): string | undefined {
  const guid = text === undefined ? undefined : parseGuid(text);
  if (text !== undefined && guid === undefined)
    throw usage(`--id takes a GUID, not ${JSON.stringify(text)}`, "Leave it out: HNS then chooses one.");
  return guid;
}

export function addCreate(hns: Command, run: Run, create: HnsVerbs["create"], terminal: Terminal): void {
  hns
    .command("create")
    .summary("create an object in an HNS")
    .description(WORDS.createDescription)
    .addArgument(kindArgument())
    .option("-f, --file <path>", DOCUMENT)
    .option("--id <guid>", "its id (default: HNS chooses one)")
    .option("--network <name>", "for an endpoint: the network, by name or id")
    .option("--v1", "the document is one of HNS v1")
    .option("--socket <path>", SOCKET)
    .addOption(
      new Option("-o, --output <format>", "print the object as it is now")
        .choices([...TEXT_FORMATS, "name"])
        .default("text"),
    )
    .addHelpText(
      "after",
      CREATE_HELP +
        examples(
          "mullion hns create network -f cbr0.yaml",
          "mullion hns create namespace --id 7cb720c0-ac4c-4266-92e1-dc277b2a9b94",
          "mullion hns create endpoint --network cbr0 -f web.json -o yaml",
        ),
    )
    .action((kind: string, options: CreateOptions) =>
      run(() => {
        const { file, network, v1, output } = options;
        const names = parseKind(kind);
        if (network !== undefined && names.kind !== "Endpoint")
          throw usage(`--network is for an endpoint, not for a ${names.singular}`, "Leave it out.");
        const request = { target: targetOf(options), kind: names, file, network, output };
        return create({ ...request, id: parseId(options.id), isV1: v1 === true }, terminal);
      }),
    );
}

interface ModifyOptions extends SocketOptions {
  readonly file: string;
}

export function addModify(hns: Command, run: Run, modify: HnsVerbs["modify"], terminal: Terminal): void {
  hns
    .command("modify")
    .summary("change an object of an HNS")
    .description(WORDS.modifyDescription)
    .addArgument(kindArgument())
    .addArgument(new Argument("<name>", "its name, its id, or how its id begins"))
    .requiredOption("-f, --file <path>", DOCUMENT)
    .option("--socket <path>", SOCKET)
    .addHelpText(
      "after",
      examples(
        "mullion hns modify network cbr0 -f add-policy.json",
        "mullion hns modify namespace 7cb720c0 -f - < add-endpoint.json",
      ),
    )
    .action((kind: string, object: string, options: ModifyOptions) =>
      run(() =>
        modify({ target: targetOf(options), kind: parseKind(kind), object, file: options.file }, terminal),
      ),
    );
}

export function addDelete(hns: Command, run: Run, remove: HnsVerbs["delete"], terminal: Terminal): void {
  hns
    .command("delete")
    .summary("delete objects of an HNS")
    .description(WORDS.deleteDescription)
    .addArgument(kindArgument())
    .addArgument(new Argument("<name...>", "names, ids, or how ids begin"))
    .option("--socket <path>", SOCKET)
    .addHelpText(
      "after",
      examples("mullion hns delete endpoint web-0 web-1", "mullion hns delete network cbr0"),
    )
    .action((kind: string, objects: readonly string[], options: SocketOptions) =>
      run(() => remove({ target: targetOf(options), kind: parseKind(kind), objects }, terminal)),
    );
}
