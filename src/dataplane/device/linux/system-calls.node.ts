/**
 * System calls of Linux that Node has no function for, through `koffi`. Each returns what the kernel returns, or throws
 * with the name of the call and of the error. They run on the thread that calls, and what belongs to a thread (its network
 * namespace) is that thread's.
 */
import { createRequire } from "node:module";
import { getSystemErrorMap } from "node:util";
import type * as Koffi from "koffi";
import { defined } from "#core/base/assert.ts";

/** Errors that Node does not know. */
const FURTHER_ERRORS: ReadonlyMap<number, readonly [code: string, text: string]> = new Map([
  [62, ["ETIME", "the time is over"]],
  [77, ["EBADFD", "the interface is gone"]],
]);

/** A call that failed: which, on what, and how the kernel calls the error. */
export class SystemCallError extends Error {
  override readonly name = "SystemCallError";
  readonly call: string;
  /** `EPERM`, `EBUSY`, … */
  readonly code: string;

  constructor(call: string, subject: string, errno: number) {
    const [code, text] = getSystemErrorMap().get(-errno) ??
      FURTHER_ERRORS.get(errno) ?? [`errno ${errno}`, "unknown error"];
    super(`${call} ${subject}: ${text} (${code})`);
    this.call = call;
    this.code = code;
  }
}

/** The package that makes the calls is not installed: it is optional. */
export class NoForeignCallsError extends Error {
  override readonly name = "NoForeignCallsError";
}

function loadKoffi(): typeof Koffi {
  try {
    return createRequire(import.meta.url)("koffi") as typeof Koffi;
  } catch (cause) {
    throw new NoForeignCallsError("the package koffi cannot be loaded", { cause });
  }
}

/** Returns an address. */
const MAP = "void *mmap(uintptr_t, size_t, int, int, int, long)";
/** PROT_READ, PROT_WRITE; MAP_SHARED, MAP_POPULATE. */
const READ_AND_WRITE = 3;
const SHARED_NOW = 0x8001;
const MAP_FAILED = 2n ** 64n - 1n;

/** By name: what it returns, what it takes. Two names of one function take different things. */
const PROTOTYPES = {
  open: "int open(str, int, uint)",
  close: "int close(int)",
  read: "intptr_t read(int, void *, size_t)",
  write: "intptr_t write(int, void *, size_t)",
  ioctl: "int ioctl(int, ulong, void *)",
  setOffloads: "int ioctl(int, ulong, ulong)",
  socket: "int socket(int, int, int)",
  eventfd: "int eventfd(uint, int)",
  epoll_create1: "int epoll_create1(int)",
  epoll_ctl: "int epoll_ctl(int, int, int, void *)",
  epoll_wait: "int epoll_wait(int, void *, int, int)",
  unshare: "int unshare(int)",
  setns: "int setns(int, int)",
  mount: "int mount(str, str, str, ulong, void *)",
  umount2: "int umount2(str, int)",
  pipe2: "int pipe2(void *, int)",
  io_uring_setup: "long syscall(long, uint, void *)",
  io_uring_enter: "long syscall(long, uint, uint, uint, uint, void *, size_t)",
  io_uring_register: "long syscall(long, uint, uint, void *, uint)",
} as const;

/** Of the libuv that Node has in it. */
const LIBUV_PROTOTYPES = {
  uv_default_loop: "void *uv_default_loop()",
  uv_backend_fd: "int uv_backend_fd(void *)",
  uv_backend_timeout: "int uv_backend_timeout(void *)",
} as const;

export type CallName = keyof typeof PROTOTYPES;
export type LibuvName = keyof typeof LIBUV_PROTOTYPES;
type NativeFunction = ReturnType<Koffi.LibraryHandle["func"]>;
type Argument = number | string | Uint8Array | null;

function functionsOf<Name extends string>(
  library: Koffi.LibraryHandle,
  prototypes: Readonly<Record<Name, string>>,
): Readonly<Record<Name, NativeFunction>> {
  const entries = Object.entries<string>(prototypes);
  return Object.fromEntries(entries.map(([name, prototype]) => [name, library.func(prototype)])) as Record<
    Name,
    NativeFunction
  >;
}

/** @returns undefined where the library has not all of them. */
function tryFunctionsOf<Name extends string>(
  library: Koffi.LibraryHandle,
  prototypes: Readonly<Record<Name, string>>,
): Readonly<Record<Name, NativeFunction>> | undefined {
  try {
    return functionsOf(library, prototypes);
  } catch {
    return undefined;
  }
}

const AGAIN = 11;

export class SystemCalls {
  private readonly koffi: typeof Koffi;
  private readonly functions: Readonly<Record<CallName, NativeFunction>>;
  private readonly mmap: NativeFunction;
  private readonly libuv: Readonly<Record<LibuvName, NativeFunction>> | undefined;

  /** @throws NoForeignCallsError without koffi. */
  constructor() {
    this.koffi = loadKoffi();
    // The C library that Node itself runs on.
    const library = this.koffi.load(null);
    this.functions = functionsOf(library, PROTOTYPES);
    this.mmap = library.func(MAP);
    this.libuv = tryFunctionsOf(library, LIBUV_PROTOTYPES);
  }

  /** False: Node's libuv cannot be called from outside. */
  get hasLibuv(): boolean {
    return this.libuv !== undefined;
  }

  callLibuv(name: LibuvName, ...args: readonly unknown[]): unknown {
    return defined(this.libuv, "asked for before")[name](...args) as unknown;
  }

  /** Where bytes lie, for as long as somebody holds them: more than 64 are outside of the memory that V8 moves. */
  addressOf(bytes: Uint8Array): number {
    return Number(this.koffi.address(bytes));
  }

  /** Calls; `subject` is what an error is about. @throws SystemCallError. */
  call(name: CallName, subject: string, ...args: readonly Argument[]): number {
    const result = this.functions[name](...args) as number;
    if (result < 0) throw new SystemCallError(name, subject, this.koffi.errno());
    return result;
  }

  /** Maps memory of a descriptor, until this process ends. @throws SystemCallError. */
  map(
    subject: string,
    fd: number,
    offset: number,
    bytes: number,
  ): { readonly memory: ArrayBuffer; readonly address: bigint } {
    const pointer: unknown = this.mmap(0, bytes, READ_AND_WRITE, SHARED_NOW, fd, offset);
    const address = this.koffi.address(pointer);
    if (address === MAP_FAILED) throw new SystemCallError("mmap", subject, this.koffi.errno());
    return { memory: this.koffi.view(pointer, bytes), address };
  }

  /** As `call`, of a descriptor that does not wait. @returns undefined where it would have to. */
  tryCall(name: CallName, subject: string, ...args: readonly Argument[]): number | undefined {
    const result = this.functions[name](...args) as number;
    if (result >= 0) return result;
    const errno = this.koffi.errno();
    if (errno === AGAIN) return undefined;
    throw new SystemCallError(name, subject, errno);
  }

  /** Calls on a thread of Node's pool, for what waits. @returns what the kernel returned; negative: it failed. */
  callAside(name: CallName, ...args: readonly Argument[]): Promise<number> {
    return new Promise((resolve, reject) => {
      this.functions[name].async(...args, (error: unknown, result: number) => {
        if (error instanceof Error) reject(error);
        else resolve(result);
      });
    });
  }
}
