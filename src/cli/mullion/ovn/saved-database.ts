/** Saved databases of OVN: what a file holds, and where tables come from when a verb shows a database. */
import { decodeSource } from "#core/base/source-text.ts";
import { OvsdbConnectionError } from "#contracts/ovsdb/remotes.node.ts";
import { OvsdbSocketClient } from "#contracts/ovsdb/socket-client.node.ts";
import { Replica } from "#programs/ovn/replica.ts";
import {
  type OvnDatabaseName,
  type OvnRows,
  rowsOfOvn,
  schemaOfOvn,
  tablesOfOvn,
} from "#cluster/views/ovn-view.ts";
import { isFlowList, readFlowList } from "#dataplane/ovs/flow-list.ts";
import {
  OvsdbError,
  type OvsdbTables,
  isDatabaseFile,
  readDatabaseFile,
  readDump,
  rowsOfTables,
} from "#dataplane/ovs/ovsdb-tables.ts";
import { type Southbound, toSouthbound } from "#dataplane/ovs/southbound.ts";
import { type ClusterTarget, connectCluster } from "../cluster/cluster-target.ts";
import { Failure, describeSystemError } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { commands } from "#data/words.js";

const WORDS = commands();
const FILE_BYTES_MAX = 536_870_912;
/** How `ovsdb-client dump --format=json` begins. */
const DUMP_BEGIN = '{"caption":';

/**
 * Reads a file that holds something of OVN. @throws Failure when `read` cannot
 *
 * @param read - throws OvsdbError for what it does not understand
 */
async function readSaved<T>(path: string, terminal: Terminal, read: (bytes: Uint8Array) => T): Promise<T> {
  let problem: string;
  try {
    return read(await terminal.readBytes(path, FILE_BYTES_MAX));
  } catch (thrown) {
    if (thrown instanceof OvsdbError) problem = thrown.message;
    else if (thrown instanceof Error && "code" in thrown) problem = describeSystemError(thrown);
    else throw thrown;
  }
  throw new Failure("ovn-database-unreadable", `${path} cannot be read: ${problem}`, WORDS.adviceOvnFile);
}

function isSaved(bytes: Uint8Array): boolean {
  return (
    isDatabaseFile(bytes) || new TextDecoder().decode(bytes.subarray(0, DUMP_BEGIN.length)) === DUMP_BEGIN
  );
}

/** Tables of a file that is a database or a dump of one; undefined for other files, and for folders. */
async function savedTables(path: string, terminal: Terminal): Promise<OvsdbTables | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await terminal.readBytes(path, FILE_BYTES_MAX);
  } catch {
    // Whoever reads the inputs of a cluster says what is wrong with the path.
    return undefined;
  }
  if (!isSaved(bytes)) return undefined;
  return readSaved(path, terminal, () =>
    isDatabaseFile(bytes) ? readDatabaseFile(bytes) : readDump(decodeSource(path, bytes)?.text ?? ""),
  );
}

/** What a table has in one of the two databases only. */
const MARK: Readonly<Record<OvnDatabaseName, string>> = { nb: "Logical_Switch", sb: "Datapath_Binding" };

/** Rows of a database that a server has, as it has them now. @throws Failure when it cannot be reached */
async function rowsOfServer(name: OvnDatabaseName, remote: string): Promise<OvnRows> {
  const schema = schemaOfOvn(name);
  try {
    const client = await OvsdbSocketClient.connect(remote, schema.name);
    try {
      const replica = await Replica.follow(client, schema, Object.keys(schema.tables));
      return rowsOfOvn(rowsOfTables({ schema, rowsOf: (table) => replica.rows(table) }), name);
    } finally {
      client.close();
    }
  } catch (thrown) {
    if (!(thrown instanceof OvsdbConnectionError)) throw thrown;
    throw new Failure("ovn-database-unreadable", thrown.message, WORDS.adviceOvnServer);
  }
}

/** Whether a target names a server of a database. */
function isRemote(text: string): boolean {
  return text.startsWith("unix:") || text.startsWith("tcp:");
}

/** Rows of a database of a cluster, or of the saved one that is named in its place. */
export async function rowsOfTarget(
  name: OvnDatabaseName,
  target: ClusterTarget,
  terminal: Terminal,
): Promise<OvnRows> {
  const [first = ""] = target.files;
  if (isRemote(first)) return rowsOfServer(name, first);
  const saved = await Promise.all(target.files.map(async (path) => savedTables(path, terminal)));
  const found = saved.flatMap((tables) => tables ?? []);
  if (found.length === 0) {
    const client = await connectCluster(target, terminal);
    return (await client.ovn(name)).tables as OvnRows;
  }
  const tables = found.find((each) => each.has(MARK[name]));
  if (tables === undefined)
    throw new Failure(
      "ovn-database-unreadable",
      `no file has a table ${MARK[name]}`,
      WORDS.adviceOvnOtherDatabase,
    );
  return rowsOfOvn(tables, name);
}

/** What logical flows are followed in: both databases, as far as they are given. */
export interface FlowSource {
  readonly southbound: Southbound | undefined;
  readonly northbound: OvsdbTables | undefined;
  /** From a list of flows, which has nothing beside them. */
  readonly isList: boolean;
}

function sourceOfTables(tables: OvsdbTables): FlowSource {
  const hasFlows = tables.has("Logical_Flow");
  const hasSwitches = tables.has("Logical_Switch") || tables.has("NB_Global");
  return {
    southbound: hasFlows ? toSouthbound(tables) : undefined,
    northbound: hasSwitches ? tables : undefined,
    isList: false,
  };
}

function readSource(path: string, bytes: Uint8Array): FlowSource {
  if (isDatabaseFile(bytes)) return sourceOfTables(readDatabaseFile(bytes));
  const text = decodeSource(path, bytes)?.text;
  if (text === undefined) throw new OvsdbError("it is not text");
  if (isFlowList(text)) return { southbound: readFlowList(text), northbound: undefined, isList: true };
  const source = sourceOfTables(readDump(text));
  if (source.southbound !== undefined || source.northbound !== undefined) return source;
  throw new OvsdbError("it has neither logical flows nor logical switches");
}

/** Whether a file holds something of OVN; false for folders and for what cannot be read. */
async function holdsOvn(path: string, terminal: Terminal): Promise<boolean> {
  try {
    const bytes = await terminal.readBytes(path, FILE_BYTES_MAX);
    return isSaved(bytes) || isFlowList(decodeSource(path, bytes)?.text ?? "");
  } catch {
    return false;
  }
}

/** Flows of saved files; of a cluster where none of the files is a saved one, or none is given. */
export async function flowsOfTarget(
  target: ClusterTarget,
  terminal: Terminal,
): Promise<readonly FlowSource[]> {
  const held = await Promise.all(target.files.map(async (path) => holdsOvn(path, terminal)));
  if (held.includes(true))
    return Promise.all(
      target.files.map(async (path) => readSaved(path, terminal, (bytes) => readSource(path, bytes))),
    );
  const client = await connectCluster(target, terminal);
  const [sb, nb] = [await client.ovn("sb"), await client.ovn("nb")];
  return [sb, nb].map(({ tables }) => sourceOfTables(tablesOfOvn(tables as OvnRows)));
}
