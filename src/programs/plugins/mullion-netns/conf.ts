/** The configuration of mullion-netns: the delegate's, and where the plugin remembers its attachments. */
import { DecodeError, StructReader } from "#contracts/cni/json.ts";
import { type JsonObject } from "#core/base/json.ts";

const DATA_FOLDER_DEFAULT = "/var/lib/cni/mullion-netns";

export interface NetnsConfiguration {
  /** Of the list. */
  readonly name: string;
  readonly dataFolder: string;
  /** `delegate.type`. */
  readonly delegateType: string;
  /** What the delegate gets: its own keys, and those that a runtime sets. */
  readonly delegate: JsonObject;
}

/** Keys that the runtime writes into every plugin's configuration (cni.md §1.2). */
const OF_THE_RUNTIME = ["runtimeConfig", "args", "prevResult"] as const;

/** Keys as they stand, when they are there. */
function keep(document: JsonObject): JsonObject {
  const reader = new StructReader(document);
  const known = OF_THE_RUNTIME.map((key) => [key, reader.raw(key)] as const);
  const reserved = Object.entries(document).filter(([key]) => key.startsWith("cni.dev/"));
  return Object.fromEntries([...known, ...reserved].filter(([, value]) => value !== undefined));
}

/** @throws DecodeError for a field of a wrong type, and without a delegate. */
export function readNetnsConfiguration(document: JsonObject, cniVersion: string): NetnsConfiguration {
  const reader = new StructReader(document);
  const delegate = reader.object("delegate") ?? {};
  const delegateType = reader.struct("delegate")?.text("type") ?? "";
  if (delegateType === "")
    throw new DecodeError("delegate.type", "the plugin that attaches, such as win-bridge", delegateType);
  const name = reader.text("name");
  return {
    name,
    dataFolder: reader.text("dataDir") || DATA_FOLDER_DEFAULT,
    delegateType,
    delegate: { ...delegate, ...keep(document), name, cniVersion },
  };
}
