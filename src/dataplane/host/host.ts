/** A machine's network stack: compartment 1 for the host itself, further ones for pods. */
import { assert } from "#core/base/assert.ts";
import type { Environment } from "#core/base/environment.ts";
import { Compartment } from "./compartment.ts";
import { type OperatingSystem, type StackProfile, stackProfileOf } from "./stack-profile.ts";

export interface HostOptions {
  /** The machine's name, as traces print it. */
  readonly name: string;
  readonly os: OperatingSystem;
  /** What traces call the machine's own compartment. Default `host`. */
  readonly rootName?: string;
}

const ROOT_ID = 1;

export class Host {
  readonly name: string;
  readonly os: OperatingSystem;
  readonly profile: StackProfile;
  /** The compartment of the host itself, id 1. */
  readonly root: Compartment;
  private readonly env: Environment;
  private readonly compartments = new Map<number, Compartment>();
  private nextId = ROOT_ID;

  constructor(env: Environment, options: HostOptions) {
    this.env = env;
    this.name = options.name;
    this.os = options.os;
    this.profile = stackProfileOf(options.os);
    this.root = this.createCompartment(options.rootName ?? "host");
  }

  /**
   * Makes a compartment without interfaces. Ids are small and grow; they are not used again, unless `wantedId` asks for
   * one that is free.
   */
  createCompartment(name: string, wantedId?: number): Compartment {
    const isFree = wantedId !== undefined && wantedId > ROOT_ID && !this.compartments.has(wantedId);
    const id = isFree ? wantedId : this.nextId;
    this.nextId = Math.max(this.nextId, id + 1);
    // Numbers of its own for each compartment: what one draws never shifts what another gets.
    const prng = this.env.prng.derive(`host/${this.name}/${id}`);
    const compartment = new Compartment(this.env, { id, name, node: this.name, profile: this.profile, prng });
    this.compartments.set(id, compartment);
    return compartment;
  }

  /** Takes a compartment away: its sockets end silently, its interfaces let go. An unknown id is ignored. */
  removeCompartment(id: number): void {
    assert(id !== ROOT_ID, "the host's own compartment stays");
    this.compartments.get(id)?.close();
    this.compartments.delete(id);
  }

  getCompartment(id: number): Compartment | undefined {
    return this.compartments.get(id);
  }

  /** By rising id. */
  listCompartments(): readonly Compartment[] {
    return [...this.compartments.values()];
  }
}
