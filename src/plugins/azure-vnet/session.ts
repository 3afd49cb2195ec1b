/** The state for one call: read under the lock, written when the call says so (cni.md §5.8). */
import { DecodeError } from "../../cni/decode.ts";
import { CNI_CODES, CniError, describeError } from "../../cni/error.ts";
import { JsonError } from "../../cni/json.ts";
import { AZURE_ERROR_CODE } from "./conf.ts";
import type { AzureHost } from "./host.ts";
import { formatState, parseState } from "./state-file.ts";
import { type LockedState, StateLockTimeout, type StateStore } from "./state-store.ts";
import type { AzureState } from "./state.ts";

/** Stands in the state file where the reference has its own version. */
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
    const details = isBroken ? "remove azure-vnet.json when no pod of the node needs it any more" : "";
    const message = `Failed to start network plugin, err:${describeError(error)}.`;
    throw new CniError(AZURE_ERROR_CODE, message, { details, cause: error });
  }
}

/** Runs `work` with the state while no other call has it. @throws CniError */
export async function withAzureState<T>(
  { store, host }: { readonly store: StateStore; readonly host: AzureHost },
  work: (state: AzureState, save: () => Promise<void>) => Promise<T>,
): Promise<T> {
  try {
    return await store.withLock(async (locked) => {
      const state = await readState(locked);
      const save = (): Promise<void> =>
        locked.write(formatState(state, { version: STATE_VERSION, time: host.now() }));
      return work(state, save);
    });
  } catch (error) {
    if (!(error instanceof StateLockTimeout)) throw error;
    const action = "Failed to initialize key-value store of network plugin: error Acquiring store lock";
    throw tryAgain(action, error);
  }
}
