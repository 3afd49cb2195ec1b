/**
 * Remote endpoints, of which a big cluster has millions: on each node one for each pod elsewhere. What is equal on all
 * nodes is one value that they share; what is a record's own takes as little room as it can.
 */
import { type GuidWords, guidOf } from "#core/base/prng.ts";
import type { Guid } from "#contracts/hcn/guid.ts";
import type { EndpointAttachment, EndpointRecord, IpConfigRecord } from "../records.ts";

/** What a creation says about an endpoint. Remote endpoints for one address agree in it, whatever the node. */
export type EndpointTraits = Omit<
  EndpointRecord,
  | "id"
  | "networkId"
  | "activityId"
  | "changedAtMs"
  | "attachment"
  | "isPortGone"
  | "containers"
  | "virtualMachine"
  | "wasUsed"
  | "errorCode"
>;

const NO_CONTAINERS: readonly string[] = Object.freeze([]);

/** A remote endpoint as it was created. A changed one is a record like any other. */
export class RemoteEndpointRecord implements EndpointRecord {
  readonly id: Guid;
  readonly networkId: Guid;
  readonly changedAtMs: number;
  private readonly traits: EndpointTraits;
  private readonly activity0: number;
  private readonly activity1: number;
  private readonly activity2: number;
  private readonly activity3: number;

  constructor(
    own: { readonly id: Guid; readonly networkId: Guid; readonly changedAtMs: number },
    activity: GuidWords,
    traits: EndpointTraits,
  ) {
    this.id = own.id;
    this.networkId = own.networkId;
    this.changedAtMs = own.changedAtMs;
    this.traits = traits;
    [this.activity0, this.activity1, this.activity2, this.activity3] = activity;
    Object.freeze(this);
  }

  get activityId(): Guid {
    return guidOf([this.activity0, this.activity1, this.activity2, this.activity3]);
  }

  get owner(): string {
    return this.traits.owner;
  }

  get name(): string {
    return this.traits.name;
  }

  get additionalParams(): EndpointRecord["additionalParams"] {
    return this.traits.additionalParams;
  }

  get schemaVersion(): EndpointRecord["schemaVersion"] {
    return this.traits.schemaVersion;
  }

  get version(): number {
    return this.traits.version;
  }

  get policies(): EndpointRecord["policies"] {
    return this.traits.policies;
  }

  get ipConfigs(): readonly IpConfigRecord[] {
    return this.traits.ipConfigs;
  }

  get dns(): EndpointRecord["dns"] {
    return this.traits.dns;
  }

  get routes(): EndpointRecord["routes"] {
    return this.traits.routes;
  }

  get mac(): EndpointRecord["mac"] {
    return this.traits.mac;
  }

  get macText(): string {
    return this.traits.macText;
  }

  get flags(): number {
    return this.traits.flags;
  }

  get attachment(): EndpointAttachment | undefined {
    return undefined;
  }

  get isPortGone(): boolean {
    return false;
  }

  get containers(): readonly string[] {
    return NO_CONTAINERS;
  }

  get virtualMachine(): undefined {
    return undefined;
  }

  get wasUsed(): boolean {
    return false;
  }

  get errorCode(): number {
    return 0;
  }

  /** All fields as a plain object's own: what a changed record is made from. */
  fields(): EndpointRecord {
    const { id, networkId, changedAtMs, activityId, attachment, isPortGone, containers } = this;
    const { virtualMachine, wasUsed, errorCode } = this;
    return {
      ...this.traits,
      id,
      networkId,
      changedAtMs,
      activityId,
      attachment,
      isPortGone,
      containers,
      virtualMachine,
      wasUsed,
      errorCode,
    };
  }
}
