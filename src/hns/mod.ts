/** The Host Networking Service of one node, and a client for it in the same process. */
export {
  type AdapterDescription,
  DEFAULT_ADAPTERS,
  type PhysicalAdapter,
} from "./ports/adapter-description.ts";
export { RecordingDatapath } from "./recording-datapath.ts";
export { type LayerName } from "./compile/layers.ts";
export type { Datapath, PortProgram, VnicDefinition } from "./ports/datapath.ts";
export type { DumpProblem } from "./dump/dumped-object.ts";
export { type DumpFile, type NodeDump, readDumps } from "./dump/read-dumps.ts";
export { HnsService } from "./service/hns-service.ts";
export { InProcessHcnClient } from "./service/in-process-client.ts";
export { type LocalHns, type LocalHnsOptions, createHns } from "./local-hns.ts";
export type { FaultStatus, HnsFault, HnsFaultPlan, RestartState } from "./failures/faults/fault.ts";
export type { HnsFaults, QuirkStatus } from "./failures/faults/fault.ts";
export { HttpHnsFaults } from "./failures/faults/http-faults.ts";
export { readFault, readFaultPlan } from "./failures/faults/read-fault.ts";
export type { InstalledExtension, NetworkingOptions } from "./service/service-context.ts";
export type { HnsServiceOptions } from "./service/service-context.ts";
export { MemoryObjectStore, type ObjectStore } from "./store/stored-object.ts";
export type {
  ImportedObject,
  RestoreNote,
  RestoreOptions,
  StoredChange,
  StoredObject,
} from "./store/stored-object.ts";
export { SwitchDatapath } from "./ports/switch-datapath.ts";
