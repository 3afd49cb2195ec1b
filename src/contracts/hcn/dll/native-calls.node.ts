/**
 * Calls of `computenetwork.dll` and `vmcompute.dll` through `koffi`: by name, with addresses and numbers, each on a
 * thread of its own, so that a service that takes its time does not stop the program.
 *
 * Everything that C writes to is memory of ours: texts are UTF-16 with a zero, places for results are eight bytes.
 * So nothing here depends on how an FFI turns values into structures; those that HNS has are read from their bytes.
 */
import type * as Koffi from "koffi";
import type { Guid } from "../guid.ts";
import type { PortRangeEntry } from "../documents/port-reservation.ts";
import { createRequire } from "node:module";
import { messageOf } from "#core/base/thrown.ts";
import { HcnError, formatHresult } from "../error.ts";
import { contracts } from "#data/words.js";
import { errorCodeOf } from "../error-codes.ts";
import { parseHttpError } from "../http/http-protocol.ts";
import { isJsonObject } from "#core/base/json.ts";
import { parseAnswerText } from "../description/json.ts";

const WORDS = contracts();

const GUID_BYTES = 16;
/** Which byte of the text stands where. */
const ORDER: readonly number[] = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
const HEX = 16;

/** A GUID as Windows keeps it in memory: the first three groups with the low byte first. `id` is a checked one. */
export function formatNativeGuid(id: Guid): Uint8Array {
  const digits = id.replaceAll("-", "");
  return Uint8Array.from(ORDER, (at) => Number.parseInt(digits.slice(at * 2, at * 2 + 2), HEX));
}

/** The GUID at the beginning of `bytes`. */
export function parseNativeGuid(bytes: Uint8Array): Guid {
  const digits = Array.from({ length: GUID_BYTES }, (_, at) =>
    (bytes[ORDER[at] ?? 0] ?? 0).toString(HEX).padStart(2, "0"),
  ).join("");
  return digits.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

/** Of `HCN_PORT_RANGE_ENTRY` (hcn.md §1.3) in a 64-bit build. */
export const PORT_ENTRY_BYTES = 64;

const PORT_ENTRY = {
  targetPartition: 16,
  protocol: 32,
  /** Eight bytes, and so at a multiple of eight. */
  priority: 40,
  reservationType: 48,
  sharingFlags: 52,
  deliveryMode: 56,
  startingPort: 60,
  endingPort: 62,
} as const;

/** The `HCN_PORT_RANGE_ENTRY` at the beginning of `bytes`. */
export function parsePortEntry(bytes: Buffer): PortRangeEntry {
  return {
    OwningPartitionId: parseNativeGuid(bytes),
    TargetPartitionId: parseNativeGuid(bytes.subarray(PORT_ENTRY.targetPartition)),
    Protocol: bytes.readUInt32LE(PORT_ENTRY.protocol),
    Priority: Number(bytes.readBigUInt64LE(PORT_ENTRY.priority)),
    ReservationType: bytes.readUInt32LE(PORT_ENTRY.reservationType),
    SharingFlags: bytes.readUInt32LE(PORT_ENTRY.sharingFlags),
    DeliveryMode: bytes.readUInt32LE(PORT_ENTRY.deliveryMode),
    StartingPort: bytes.readUInt16LE(PORT_ENTRY.startingPort),
    EndingPort: bytes.readUInt16LE(PORT_ENTRY.endingPort),
  };
}

/** What a function takes: a number, an address, or the memory at one; `null` is no address. */
export type NativeArgument = number | bigint | Uint8Array | null;

/** `HCN_NOTIFICATION_CALLBACK` (hcn.md §1.4). */
export type NativeCallback = (type: number, context: bigint, status: number, data: string) => void;

/** Calls that run at a time; more wait. Each takes a thread. */
const CALLS_MAX = 16;
const ADDRESS_BYTES = 8;

/** Where and why, in a line. */
function unloadable(what: string, cause: unknown): HcnError {
  const why = messageOf(cause);
  return new HcnError("RPC_S_SERVER_UNAVAILABLE", {
    detail: `${what}: ${why.split("\n", 1)[0] ?? ""}`,
    explanation: "hns-unreachable",
    cause,
  });
}

/** Only who calls a DLL needs the package, and not every machine can have it. */
function loadKoffi(): typeof Koffi {
  try {
    return createRequire(import.meta.url)("koffi") as typeof Koffi;
  } catch (cause) {
    throw unloadable(WORDS.koffiMissing, cause);
  }
}

/** A text as C reads it. */
export function wideText(text: string): Uint8Array {
  return Buffer.from(`${text}\0`, "utf16le");
}

/** Room for an address or a number that a function writes. */
export function place(): Buffer {
  return Buffer.alloc(ADDRESS_BYTES);
}

/** The types of a function's parameters, from what it is given: all that is wider than a number is an address. */
function typesOf(args: readonly NativeArgument[]): string[] {
  return args.map((argument) => (typeof argument === "number" ? "uint32_t" : "void *"));
}

export class NativeCalls {
  private readonly koffi: typeof Koffi;
  private readonly computeNetwork: Koffi.LibraryHandle;
  private readonly vmCompute: Koffi.LibraryHandle;
  private readonly release: (address: bigint) => void;
  private readonly functions = new Map<string, ReturnType<Koffi.LibraryHandle["func"]>>();
  /** What calls that run were given: C has the addresses, so the memory has to be held. */
  private readonly running = new Set<readonly NativeArgument[]>();
  private readonly waiting: (() => void)[] = [];

  /** @throws HcnError RPC_S_SERVER_UNAVAILABLE when koffi or a library is missing. */
  constructor(libraries: NativeLibraries) {
    this.koffi = loadKoffi();
    this.computeNetwork = this.load(libraries.computeNetwork);
    this.vmCompute = this.load(libraries.vmCompute);
    const [library, name] = libraries.free;
    this.release = this.load(library).func(name, "void", ["void *"]) as (address: bigint) => void;
  }

  /**
   * Calls a function; its HRESULT, unsigned.
   * @throws HcnError E_NOTIMPL when the library has no such function, as older builds lack some (hcn.md §1.2).
   */
  async call(name: string, ...args: readonly NativeArgument[]): Promise<number> {
    const called = this.find(name, "int32_t", typesOf(args));
    while (this.running.size >= CALLS_MAX) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.running.add(args);
    try {
      return await new Promise<number>((resolve, reject) => {
        called.async(...args, (error: unknown, result: number) => {
          if (error instanceof Error) reject(error);
          else resolve(result >>> 0);
        });
      });
    } finally {
      this.running.delete(args);
      this.waiting.shift()?.();
    }
  }

  /** Frees a list that a function of the library's own frees, such as `HcnFreeGuestNetworkPortReservations`. */
  free(name: string, address: bigint): void {
    this.find(name, "void", ["void *"])(address);
  }

  /** The text whose address a function wrote into `from`, given back; undefined when it wrote none. */
  takeText(from: Buffer): string | undefined {
    const address = from.readBigUInt64LE();
    if (address === 0n) return undefined;
    try {
      return this.koffi.decode.string16(address);
    } finally {
      this.release(address);
    }
  }

  /** A copy of memory that a function has filled. */
  read(address: bigint, length: number): Buffer {
    return Buffer.from(this.koffi.view(address, length).slice(0));
  }

  /** An address that C may call from any thread; what it calls runs here, when this thread has time. */
  makeCallback(callback: NativeCallback): bigint {
    const { koffi } = this;
    const prototype = koffi.proto("void", ["uint32_t", "uintptr_t", "int32_t", "void *"]);
    const entry = (type: number, context: number | bigint, status: number, data: bigint | null): void => {
      callback(type, BigInt(context), status >>> 0, data === null ? "" : koffi.decode.string16(data));
    };
    return koffi.register(entry, koffi.pointer(prototype));
  }

  /** C must not call it any more. */
  dropCallback(callback: bigint): void {
    this.koffi.unregister(callback);
  }

  private load(path: string | null): Koffi.LibraryHandle {
    try {
      return this.koffi.load(path);
    } catch (cause) {
      throw unloadable(`${path ?? "The program"} cannot be loaded`, cause);
    }
  }

  private find(name: string, result: string, types: string[]): ReturnType<Koffi.LibraryHandle["func"]> {
    const known = this.functions.get(name);
    if (known !== undefined) return known;
    const library = name.startsWith("Hcn") ? this.computeNetwork : this.vmCompute;
    try {
      const found = library.func(name, result, types);
      this.functions.set(name, found);
      return found;
    } catch (cause) {
      throw new HcnError("E_NOTIMPL", { detail: `The DLL of this build has no ${name}`, cause });
    }
  }
}

// What a failed call of the DLLs says, as an `HcnError`.

const HNS_GONE: readonly string[] = ["RPC_S_SERVER_UNAVAILABLE", "EPT_S_NOT_REGISTERED", "RPC_S_UNKNOWN_IF"];

/** An HRESULT that came without a record. */
export function errorOfHresult(hresult: number, detail?: string): HcnError {
  const code = errorCodeOf(hresult);
  if (code !== undefined) return new HcnError(code, detail === undefined ? {} : { detail });
  const reported = { Error: `The call failed with ${formatHresult(hresult)}. `, ErrorCode: hresult };
  return new HcnError("unknown", { reported, ...(detail !== undefined && { detail }) });
}

/**
 * The error of a call with its record (hcn.md §6.3). The HRESULT counts; a record that says another number, or is
 * none, is only shown.
 */
export function errorOfRecord(hresult: number, record: string | undefined): HcnError {
  if (record === undefined || record === "") return errorOfHresult(hresult);
  try {
    const value = parseAnswerText(record);
    const error = isJsonObject(value) && value["ErrorCode"] === hresult && parseHttpError({ error: value });
    if (error instanceof HcnError) return error;
  } catch {
    // Shown below, as it came.
  }
  return errorOfHresult(hresult, record);
}

/** The error of a call of HCS: `{"Error":<HRESULT>,"ErrorMessage":"…"}`. */
export function errorOfResult(hresult: number, result: string | undefined): HcnError {
  return errorOfHresult(hresult, result === undefined || result === "" ? undefined : result);
}

/** True when the service did not answer, and so there is nothing that an envelope could say. */
export function isGone(error: HcnError): boolean {
  return HNS_GONE.includes(error.code);
}

// Where the libraries are.

/** Paths of the two libraries and of the one that frees what they allocate. */
export interface NativeLibraries {
  readonly computeNetwork: string;
  readonly vmCompute: string;
  /** With its function; `null` is the program itself. */
  readonly free: readonly [library: string | null, name: string];
}

/** Windows' own, from its folder and no other, so that none that lies beside the program is taken. */
export function windowsLibraries(systemRoot: string): NativeLibraries {
  const folder = `${systemRoot.replace(/[\\/]$/, "")}\\System32`;
  return {
    computeNetwork: `${folder}\\computenetwork.dll`,
    vmCompute: `${folder}\\vmcompute.dll`,
    free: [`${folder}\\ole32.dll`, "CoTaskMemFree"],
  };
}
