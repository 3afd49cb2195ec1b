/** Namespaces of HNS that stand for network namespaces of Linux. */
import type { Guid } from "#contracts/hcn/guid.ts";
import { getNamespaceById, requestDocument } from "#contracts/hcn/operations.ts";
import { SCHEMA_V2_0 } from "#contracts/hcn/documents/base-document.ts";
import { type HnsCaller, isMissing } from "../windows-endpoint/failure.ts";

/** The digest of a text as hexadecimal digits, 32 at least. */
export type Digest = (text: string) => string;

/**
 * The GUID of a path, always the same (RFC 9562, version 8): a second ADD, and an ADD after a crash, meet the namespace that
 * is there.
 */
export function guidOfPath(path: string, digest: Digest): Guid {
  const hex = digest(`mullion-netns:${path}`);
  const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 0x3) | 0x8).toString(16);
  const parts = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
  ];
  return [...parts, hex.slice(20, 32)].join("-").toLowerCase();
}

export class Namespaces {
  private readonly caller: HnsCaller;

  constructor(caller: HnsCaller) {
    this.caller = caller;
  }

  async exists(id: Guid): Promise<boolean> {
    return (await this.resources(id)) !== undefined;
  }

  /** Makes it when it is not there. */
  async ensure(id: Guid): Promise<void> {
    if (await this.exists(id)) return;
    try {
      // Without a type, as containerd makes them (cni.md §10.3).
      await this.caller.hcn("hcnCreateNamespace", (client) =>
        client.create("Namespace", requestDocument({ SchemaVersion: SCHEMA_V2_0 }), { id }),
      );
    } catch (error) {
      // Another process was faster.
      if (!(await this.exists(id))) throw error;
    }
  }

  /** Deletes it when nobody is in it any more; another network of the pod may be. */
  async release(id: Guid): Promise<void> {
    if ((await this.resources(id)) !== 0) return;
    try {
      await this.caller.hcn("hcnDeleteNamespace", (client) => client.delete("Namespace", id));
    } catch (error) {
      if (!isMissing(error) && (await this.exists(id))) throw error;
    }
  }

  /** How many endpoints and containers it has; undefined: there is none. */
  private async resources(id: Guid): Promise<number | undefined> {
    try {
      const namespace = await this.caller.hcn("hcnEnumerateNamespaces", (client) =>
        getNamespaceById(client, id),
      );
      return namespace.Resources?.length ?? 0;
    } catch (error) {
      if (isMissing(error)) return undefined;
      throw error;
    }
  }
}
