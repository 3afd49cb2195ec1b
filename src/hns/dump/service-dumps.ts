/** Dumps of a service in the same process. What a restore changed is stored before it returns. */
import {
  DUMP_VERSION,
  type HnsDump,
  type HnsDumps,
  type RestoreNote,
  type RestoreRequest,
} from "#contracts/hcn/dumps.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import type { HnsService } from "../service/hns-service.ts";

/** Whoever stores what a service changes. */
export interface ChangeWriter {
  /** Resolves when all changes are stored. */
  flush(): Promise<void>;
}

export class ServiceDumps implements HnsDumps {
  private readonly service: HnsService;
  private readonly client: ChangeWriter;

  /** `client` is the service's own. */
  constructor(service: HnsService, client: ChangeWriter) {
    this.service = service;
    this.client = client;
  }

  async dump(): Promise<HnsDump> {
    await this.client.flush();
    const { node, version } = this.service;
    return {
      apiVersion: DUMP_VERSION,
      kind: "HnsDump",
      service: { node, version: { Major: version.Major, Minor: version.Minor } },
      objects: this.service.export(),
    };
  }

  async restore({ objects, isReplacing }: RestoreRequest): Promise<readonly RestoreNote[]> {
    await this.client.flush();
    const count = isReplacing ? 0 : this.countObjects();
    if (count > 0) {
      throw new HcnError("ERROR_ALREADY_EXISTS", {
        detail: `The service has ${count === 1 ? "an object" : `${count} objects`} already, which a restore would remove`,
        explanation: "hns-restore-refused",
      });
    }
    const notes = this.service.restore(objects, { keepsUnknownFields: true });
    await this.client.flush();
    return notes;
  }

  /** Without the host's own namespace, which every service has. */
  private countObjects(): number {
    const own = (type: unknown): boolean => type === "HostDefault";
    return this.service
      .export()
      .filter(({ kind, document }) => kind !== "Namespace" || !own(document["Type"])).length;
  }
}
