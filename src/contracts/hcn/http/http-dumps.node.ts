/** Dumps of a service that is reached over HTTP. */
import { DUMP_PATH, RESTORE_PATH, parseDump, parseRestoreNotes } from "./dump-protocol.ts";
import type { HnsDump, HnsDumps, RestoreNote, RestoreRequest } from "../dumps.ts";
import type { HttpHcnClient } from "./http-client.node.ts";

export class HttpHnsDumps implements HnsDumps {
  private readonly client: HttpHcnClient;

  constructor(client: HttpHcnClient) {
    this.client = client;
  }

  async dump(): Promise<HnsDump> {
    return parseDump(await this.client.request("GET", DUMP_PATH));
  }

  async restore({ objects, isReplacing }: RestoreRequest): Promise<readonly RestoreNote[]> {
    const fields = { objects, ...(isReplacing && { replace: true }) };
    return parseRestoreNotes(await this.client.request("POST", RESTORE_PATH, fields));
  }
}
