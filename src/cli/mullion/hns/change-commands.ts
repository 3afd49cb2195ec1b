/** The verbs of `mullion hns` that change single objects: `create`, `modify`, `delete`. */
import type { Command } from "commander";
import { parseGuid } from "#contracts/hcn/guid.ts";
import { type Run, usage } from "../options.ts";
import { TEXT_FORMATS } from "../print-document.ts";
import { addVerb } from "../described-verb.ts";
import type { Terminal } from "../terminal.ts";
import { type HnsKindNames, parseHnsKinds } from "./hns-kinds.ts";
import { HNS_KIND_HELP } from "./hns-listings.ts";
import type { HnsCreateRequest, HnsVerbs } from "./verbs.ts";

const KINDS = { hnsKinds: HNS_KIND_HELP } as const;

interface SocketOptions {
  readonly socket?: string;
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

function parseId(text: string | undefined): string | undefined {
  const guid = text === undefined ? undefined : parseGuid(text);
  if (text !== undefined && guid === undefined)
    throw usage(`--id takes a GUID, not ${JSON.stringify(text)}`, "Leave it out: HNS then chooses one.");
  return guid;
}

export function addCreate(hns: Command, run: Run, create: HnsVerbs["create"], terminal: Terminal): void {
  addVerb(hns, "create", { values: { "--output": [...TEXT_FORMATS, "name"] }, holes: KINDS }).action(
    (kind: string, options: CreateOptions) =>
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
  addVerb(hns, "modify", { holes: KINDS }).action((kind: string, object: string, options: ModifyOptions) =>
    run(() =>
      modify({ target: targetOf(options), kind: parseKind(kind), object, file: options.file }, terminal),
    ),
  );
}

export function addDelete(hns: Command, run: Run, remove: HnsVerbs["delete"], terminal: Terminal): void {
  addVerb(hns, "delete", { holes: KINDS }).action(
    (kind: string, objects: readonly string[], options: SocketOptions) =>
      run(() => remove({ target: targetOf(options), kind: parseKind(kind), objects }, terminal)),
  );
}
