/**
 * A plugin's process that dies: at some call to the world outside, before the call has an effect or before its answer is
 * read. What it asks for after that never happens; locks that it held are free, as the system frees them.
 */
import type { HcnClient } from "#contracts/hcn/client.ts";
import type { StateStore } from "#programs/plugins/azure-vnet/memory.ts";
import type { HttpTransport } from "#programs/plugins/cns/client.ts";

/** Never: the process is gone. */
function forever<T>(): Promise<T> {
  return new Promise(() => undefined);
}

export class Mortality {
  /** How many calls have come. */
  calls = 0;
  /** Resolves when the process dies. */
  readonly death: Promise<void>;
  private readonly dies: number;
  private readonly isBefore: boolean;
  private die: () => void = () => undefined;
  private isDead = false;

  /** `dies`: at which call, counted from 0; `Infinity`: never. */
  constructor(dies: number, isBefore: boolean) {
    this.dies = dies;
    this.isBefore = isBefore;
    this.death = new Promise((resolve) => {
      this.die = resolve;
    });
  }

  async pass<T>(call: () => Promise<T>): Promise<T> {
    if (this.isDead) return forever();
    const isLast = this.calls++ === this.dies;
    if (isLast && this.isBefore) return this.end();
    const answer = await call();
    return isLast ? this.end() : answer;
  }

  private end<T>(): Promise<T> {
    this.isDead = true;
    this.die();
    return forever();
  }

  client(client: HcnClient): HcnClient {
    return new Proxy(client, {
      get: (target, name) => {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...words: readonly unknown[]) =>
          this.pass(() => Promise.resolve(value.apply(target, words) as unknown));
      },
    });
  }

  http(transport: HttpTransport): HttpTransport {
    return (request) => this.pass(() => transport(request));
  }

  /** The file outlives the process; its lock does not. */
  store(file: { text: string | undefined }): StateStore {
    return {
      withLock: (work) =>
        work({
          read: () => this.pass(() => Promise.resolve(file.text)),
          write: (text) =>
            this.pass(() => {
              file.text = text;
              return Promise.resolve();
            }),
        }),
    };
  }
}
