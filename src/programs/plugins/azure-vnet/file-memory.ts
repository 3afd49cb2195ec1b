/** The state file: read under its lock, written when the call says so (cni.md §5.8). */
import { DecodeError, JsonError } from "#contracts/cni/json.ts";
import { CNI_CODES, CniError, describeError } from "#contracts/cni/error.ts";
import { AZURE_ERROR_CODE } from "./conf.ts";
import type { AzureHost } from "./host.ts";
import type { AzureMemory, AzureSession } from "./session.ts";
import { formatState, parseState } from "./state-file.ts";
import { type LockedState, StateLockTimeout, type StateStore } from "./state-store.ts";
import { type AzureState, endpointsOfContainer } from "./state.ts";

/** Stands in the state file where upstream has its own version. */
const STATE_VERSION = "mullion";

/** Code 11 asks the runtime to try again. */
export function tryAgain(action: string, error: unknown): CniError {
  const knowledge = error instanceof CniError ? error.knowledge : undefined;
  const message = `${action}: ${describeError(error)}`;
  return new CniError(CNI_CODES.tryAgainLater, message, { knowledge, cause: error });
}

async function readState(locked: LockedState): Promise<AzureState> {
  try {
    return parseState(await locked.read());
  } catch (error) {
    const isBroken = error instanceof JsonError || error instanceof DecodeError;
    const details = isBroken
      ? "remove azure-vnet.json when no pod of the node needs it any more"
      : "let the plugin's user read azure-vnet.json";
    const message = `Failed to start network plugin, err:${describeError(error)}.`;
    const knowledge = "azure-state-unreadable";
    throw new CniError(AZURE_ERROR_CODE, message, { details, knowledge, cause: error });
  }
}

export class FileMemory implements AzureMemory {
  private readonly store: StateStore;
  private readonly host: AzureHost;

  constructor(store: StateStore, host: AzureHost) {
    this.store = store;
    this.host = host;
  }

  async use<T>(work: (session: AzureSession) => Promise<T>): Promise<T> {
    try {
      return await this.store.withLock(async (locked) =>
        work(this.sessionOf(await readState(locked), locked)),
      );
    } catch (error) {
      if (!(error instanceof StateLockTimeout)) throw error;
      const action = "Failed to initialize key-value store of network plugin: error Acquiring store lock";
      throw tryAgain(action, error);
    }
  }

  private sessionOf(state: AzureState, locked: LockedState): AzureSession {
    const save = (): Promise<void> =>
      locked.write(formatState(state, { version: STATE_VERSION, time: this.host.now() }));
    return {
      state,
      endpointsOf: ({ containerId }) => Promise.resolve(endpointsOfContainer(state, containerId)),
      save,
      forget: (gone) => {
        for (const { network, endpoint } of gone) network.endpoints.delete(endpoint.id);
        return save();
      },
    };
  }
}
