/**
 * Remembers what was compiled from which values, so that equal groups are one shared object and a change costs that
 * change. Values are compared by identity: records and lists of policies are immutable.
 */

interface Entry {
  readonly inputs: readonly unknown[];
  readonly output: object;
}

export class CompileCache {
  /** Owner (an object's id) and name to what was compiled. */
  private readonly owners = new Map<string, Map<string, Entry>>();

  /**
   * What `compile` made of these inputs last time under this name; otherwise compiles and remembers. `compile` is given what
   * it made last of other inputs, from which it may take what stays.
   */
  get<T extends object>(
    owner: string,
    name: string,
    inputs: readonly unknown[],
    compile: (before: T | undefined) => T,
  ): T {
    const known = this.owners.get(owner)?.get(name);
    const isSame =
      known?.inputs.length === inputs.length && inputs.every((input, index) => input === known.inputs[index]);
    if (known !== undefined && isSame) return known.output as T;
    const output = compile(known?.output as T | undefined);
    // Only now: what is compiled may be made of what the cache has of the same owner.
    const entries = this.owners.get(owner) ?? new Map<string, Entry>();
    entries.set(name, Object.freeze({ inputs: Object.freeze([...inputs]), output }));
    this.owners.set(owner, entries);
    return output;
  }

  /** Forgets what was compiled for an object that is gone. */
  forget(owner: string): void {
    this.owners.delete(owner);
  }
}
