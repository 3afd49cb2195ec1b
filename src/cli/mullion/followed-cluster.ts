/**
 * A cluster that `mullion doctor --watch` follows: each kind is listed once and watched from there, so that a look at a
 * cluster in which nothing happens asks its API server for nothing and reads no object again.
 */
import type { Clock } from "#core/base/clock.ts";
import { RealClock } from "#core/base/real-clock.node.ts";
import { SourceText } from "#core/base/source-text.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { Informer } from "#contracts/kubernetes/informer.ts";
import { KINDS } from "#contracts/kubernetes/kinds.ts";
import type { KubeKind } from "#contracts/kubernetes/objects.ts";
import { objectPath, openApiServerSource } from "#contracts/kubernetes/server/api-server-source.node.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { FileReading } from "#diagnose/doctor/read-evidence.ts";
import {
  NEEDED,
  NEEDED_BY_DOCTOR,
  OF_NETWORKS,
  type ReadCluster,
  failureOf,
  isLeftOut,
  listText,
} from "./server-objects.ts";

/** One kind: what its informer has heard, and what that says. */
class FollowedKind {
  readonly kind: KubeKind;
  private readonly source: KubeSource;
  private readonly clock: Clock;
  private informer: Informer<KubeKind> | undefined;
  private reading: FileReading | undefined;

  constructor(source: KubeSource, kind: KubeKind, clock: Clock) {
    this.source = source;
    this.kind = kind;
    this.clock = clock;
  }

  /** Lists where nothing is watched: at first, and after a failure. @throws KubeError when that fails. */
  private async follow(): Promise<Informer<KubeKind>> {
    if (this.informer !== undefined) return this.informer;
    let fail: (error: KubeError) => void = () => undefined;
    const failed = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const informer = new Informer<KubeKind>(
      this.source,
      this.kind,
      { changed: () => (this.reading = undefined), failed: (error) => fail(error) },
      { clock: this.clock },
    );
    // The next look lists once more, and says so if the server does not answer.
    failed.catch(() => {
      informer.stop();
      this.informer = undefined;
    });
    informer.start();
    await Promise.race([informer.synced, failed]);
    this.informer = informer;
    return informer;
  }

  /** @throws KubeError when the server cannot be read. */
  async read(address: string): Promise<FileReading> {
    const { all } = await this.follow();
    if (this.reading !== undefined) return this.reading;
    const source = new SourceText(`${address}/${KINDS[this.kind].plural}`, listText([...all.values()]));
    this.reading = new FileReading(source, (each) => objectPath(each.kind, each.metadata));
    return this.reading;
  }

  stop(): void {
    this.informer?.stop();
  }
}

/** A source with the address that its objects are named by. */
type NamedSource = KubeSource & { readonly address: string };

export class FollowedCluster {
  private readonly source: NamedSource;
  private readonly kinds: readonly FollowedKind[];

  constructor(source: NamedSource, clock: Clock) {
    this.source = source;
    this.kinds = [...NEEDED, ...OF_NETWORKS].map((kind) => new FollowedKind(source, kind, clock));
  }

  /** @throws Failure when the kubeconfig leads nowhere. */
  static async open(kubeconfig: string): Promise<FollowedCluster> {
    try {
      return new FollowedCluster(await openApiServerSource({ kubeconfig }, "mullion"), new RealClock());
    } catch (error) {
      if (!(error instanceof KubeError)) throw error;
      throw failureOf(error);
    }
  }

  /** What doctor compares, as it is now. @throws Failure as `readCluster` does. */
  async read(): Promise<ReadCluster> {
    const readings: FileReading[] = [];
    const left: ReadCluster["left"][number][] = [];
    const { address } = this.source;
    for (const followed of this.kinds) {
      try {
        const reading = await followed.read(address);
        if (reading.holds.length > 0) readings.push(reading);
      } catch (error) {
        if (!(error instanceof KubeError)) throw error;
        if (NEEDED.includes(followed.kind) && !isLeftOut(error, followed.kind, NEEDED_BY_DOCTOR))
          throw failureOf(error);
        left.push({ file: `${address}/${KINDS[followed.kind].plural}`, line: 1, reason: error.message });
      }
    }
    return { readings, left };
  }

  async close(): Promise<void> {
    for (const followed of this.kinds) followed.stop();
    await this.source.close();
  }
}
