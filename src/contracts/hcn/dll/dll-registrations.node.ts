/**
 * Notifications over the DLLs. Each listener has a registration of its own; those under way are waited for before a
 * call, so that a listener hears what the call does. When the service goes away listeners hear it once and are
 * forgotten: a program that wants to hear more subscribes again, as on Windows.
 */
import {
  type HcnNotification,
  type HcnObjectKind,
  NOTIFICATION_TYPES,
  type NotificationScope,
  checkScope,
} from "../client.ts";
import { type JsonValue, isJsonObject } from "#core/base/json.ts";
import { type Guid, ZERO_GUID } from "../guid.ts";
import { HcnError } from "../error.ts";
import { parseAnswerText } from "../description/json.ts";
import {
  type NativeArgument,
  type NativeCalls,
  errorOfHresult,
  place,
  wideText,
} from "./native-calls.node.ts";

type Listener = (notification: HcnNotification) => void;

/** The calls that registrations need. */
export interface ObjectCalls {
  readonly enumerate: (kind: HcnObjectKind) => Promise<readonly Guid[]>;
  readonly open: (kind: HcnObjectKind, id: Guid) => Promise<bigint>;
  readonly close: (kind: HcnObjectKind, handle: bigint) => Promise<void>;
}

/** What one subscription has of the DLLs. */
interface Subscription {
  readonly listener: Listener;
  isOver: boolean;
  /** Undo what was registered, last first. */
  readonly undo: (() => Promise<void>)[];
  /** Objects that `all` listens to. */
  readonly followed: Set<Guid>;
}

/** One registration: which function makes it and which takes it back. */
interface Source {
  readonly register: string;
  readonly unregister: string;
  /** What the notifications say they are about. */
  readonly about: Pick<HcnNotification, "scope" | "computeSystem">;
}

const SERVICE: Source = {
  register: "HcnRegisterServiceCallback",
  unregister: "HcnUnregisterServiceCallback",
  about: {},
};

/** What a new object of these kinds is announced by. */
const FOLLOWED: Readonly<Record<number, "Network" | "GuestNetworkService">> = {
  [NOTIFICATION_TYPES.NetworkCreate]: "Network",
  [NOTIFICATION_TYPES.GuestNetworkServiceCreate]: "GuestNetworkService",
};

/** Any time will do. */
const AWAKE_MS = 3_600_000;

const GOODBYE: HcnNotification = Object.freeze({
  type: NOTIFICATION_TYPES.ServiceDisconnect,
  status: 0,
  data: Object.freeze({ ID: ZERO_GUID, Flags: 0 }),
});

/** `NotificationBase`; what is none is reported as an event about nothing. */
function readData(text: string): HcnNotification["data"] {
  let value: JsonValue;
  try {
    value = parseAnswerText(text);
  } catch {
    return { ID: ZERO_GUID, Flags: 0 };
  }
  if (!isJsonObject(value)) return { ID: ZERO_GUID, Flags: 0, Data: value };
  const { ID, Flags, Data } = value;
  return {
    ID: typeof ID === "string" ? ID.toLowerCase() : ZERO_GUID,
    Flags: typeof Flags === "number" ? Flags : 0,
    ...(Data !== undefined && { Data }),
  };
}

/** HCS reports the event's own data. */
function readSystemData(text: string): HcnNotification["data"] {
  return readData(`{"Data":${text === "" ? "{}" : text}}`);
}

export class DllRegistrations {
  private readonly native: NativeCalls;
  private readonly calls: ObjectCalls;
  private readonly subscriptions = new Set<Subscription>();
  /** What C's contexts stand for. */
  private readonly listeners = new Map<bigint, (type: number, status: number, data: string) => void>();
  private readonly pending = new Set<Promise<void>>();
  private nextContext = 1n;
  private callback: bigint | undefined;
  /** C's threads do not keep a program from ending, and who listens is not done. */
  private awake: NodeJS.Timeout | undefined;

  constructor(native: NativeCalls, calls: ObjectCalls) {
    this.native = native;
    this.calls = calls;
  }

  /** @throws HcnError HCN_E_GUID_CONVERSION_FAILURE. */
  subscribe(listener: Listener, scope: NotificationScope): () => void {
    const checked = checkScope(scope);
    const subscription: Subscription = { listener, isOver: false, undo: [], followed: new Set() };
    this.subscriptions.add(subscription);
    this.awake ??= setInterval(() => undefined, AWAKE_MS);
    this.start(this.registerScope(subscription, checked), subscription);
    return () => this.end(subscription);
  }

  /** Resolves when what is under way is registered, or taken back. */
  async settled(): Promise<void> {
    while (this.pending.size > 0) await Promise.all(this.pending);
  }

  /** Ends all registrations; no listener hears of it. */
  async close(): Promise<void> {
    for (const subscription of this.subscriptions) this.end(subscription);
    await this.settled();
    if (this.callback !== undefined && this.listeners.size === 0) this.native.dropCallback(this.callback);
    this.callback = undefined;
  }

  /** An object that is not there is silent; who cannot reach the service hears that it is gone. */
  private start(registration: Promise<void>, subscription: Subscription): void {
    const made = registration.catch((error: unknown) => {
      const isAbsent = error instanceof HcnError && error.code.endsWith("NOT_FOUND");
      if (!isAbsent) this.disconnected(subscription);
    });
    const settled = made.finally(() => this.pending.delete(settled));
    this.pending.add(settled);
  }

  private end(subscription: Subscription): void {
    if (!this.subscriptions.delete(subscription)) return;
    subscription.isOver = true;
    if (this.subscriptions.size === 0) {
      clearInterval(this.awake);
      this.awake = undefined;
    }
    this.start(this.undo(subscription), subscription);
  }

  private async undo(subscription: Subscription): Promise<void> {
    for (let undo = subscription.undo.pop(); undo !== undefined; undo = subscription.undo.pop()) await undo();
  }

  private disconnected(subscription: Subscription): void {
    if (subscription.isOver) return;
    this.end(subscription);
    subscription.listener(GOODBYE);
  }

  private async registerScope(subscription: Subscription, scope: NotificationScope): Promise<void> {
    if (scope === "service") await this.register(subscription, SERVICE);
    else if (scope === "all") await this.registerAll(subscription);
    else if ("computeSystem" in scope) await this.registerSystem(subscription, scope.computeSystem);
    else if ("network" in scope) await this.registerObject(subscription, "Network", scope.network);
    else await this.registerObject(subscription, "GuestNetworkService", scope.guestNetworkService);
  }

  /** The service first, so that no object that comes meanwhile is missed. */
  private async registerAll(subscription: Subscription): Promise<void> {
    await this.register(subscription, SERVICE, ({ type, data }) => {
      const kind = FOLLOWED[type];
      if (kind !== undefined) this.start(this.registerObject(subscription, kind, data.ID), subscription);
    });
    for (const kind of ["Network", "GuestNetworkService"] as const)
      for (const id of await this.calls.enumerate(kind)) await this.registerObject(subscription, kind, id);
  }

  private async registerObject(
    subscription: Subscription,
    kind: "Network" | "GuestNetworkService",
    id: Guid,
  ): Promise<void> {
    if (subscription.followed.has(id)) return;
    subscription.followed.add(id);
    const handle = await this.calls.open(kind, id);
    subscription.undo.push(async () => this.calls.close(kind, handle));
    const source: Source = {
      register: `HcnRegister${kind}Callback`,
      unregister: `HcnUnregister${kind}Callback`,
      about: { scope: id },
    };
    await this.register(subscription, source, undefined, handle);
  }

  private async registerSystem(subscription: Subscription, id: string): Promise<void> {
    const handle = place();
    const hresult = await this.native.call("HcsOpenComputeSystem", wideText(id), handle, null);
    if (hresult !== 0) throw errorOfHresult(hresult);
    const system = handle.readBigUInt64LE();
    subscription.undo.push(async () => {
      await this.native.call("HcsCloseComputeSystem", system);
    });
    const source: Source = {
      register: "HcsRegisterComputeSystemCallback",
      unregister: "HcsUnregisterComputeSystemCallback",
      about: { computeSystem: id },
    };
    await this.register(subscription, source, undefined, system);
  }

  /** @throws HcnError what the registration fails with. */
  private async register(
    subscription: Subscription,
    source: Source,
    follow?: Listener,
    ...of: readonly NativeArgument[]
  ): Promise<void> {
    const context = this.nextContext++;
    const handle = place();
    this.listeners.set(context, (type, status, text) => {
      if (type === NOTIFICATION_TYPES.ServiceDisconnect) {
        this.disconnected(subscription);
        return;
      }
      const data = source.about.computeSystem === undefined ? readData(text) : readSystemData(text);
      const notification: HcnNotification = { type, status, data, ...source.about };
      follow?.(notification);
      if (!subscription.isOver) subscription.listener(notification);
    });
    const hresult = await this.native.call(source.register, ...of, this.entry(), context, handle);
    if (hresult !== 0) {
      this.listeners.delete(context);
      throw errorOfHresult(hresult);
    }
    const registration = handle.readBigUInt64LE();
    subscription.undo.push(async () => {
      // After it has returned C does not call any more.
      await this.native.call(source.unregister, registration);
      this.listeners.delete(context);
    });
    if (subscription.isOver) await this.undo(subscription);
  }

  /** The one function that C calls; an error of a listener is the program's, not C's. */
  private entry(): bigint {
    this.callback ??= this.native.makeCallback((type, context, status, data) => {
      try {
        this.listeners.get(context)?.(type, status, data);
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    });
    return this.callback;
  }
}
