/** Kubernetes objects from files in place of an API server: Services and EndpointSlices, or pods that they follow from. */
import { createHash } from "node:crypto";
import { messageOf } from "#core/base/thrown.ts";
import { Prng } from "#core/base/prng.ts";
import { type FileProblem, formatProblem } from "#core/catalogue/file-problem.ts";
import type { LoadedObject } from "#control-plane/load/manifests.ts";
import { MemoryKube } from "#control-plane/memory/memory-kube.ts";
import { loadManifests } from "#control-plane/load/load-manifests.ts";
import type { EventSink } from "#programs/kube-proxy/daemon/event-recorder.ts";
import type { Klog } from "#programs/kube-proxy/daemon/klog.ts";
import type {
  FollowHandler,
  FollowSelection,
  FollowedKind,
  ObjectFeed,
} from "#programs/kube-proxy/daemon/object-feed.ts";
import type { KubeObjects } from "#contracts/kubernetes/objects.ts";
import { type Prefix, parsePrefix } from "#core/net/ip.ts";
import { readInputs } from "../mullion/read-inputs.ts";
import type { Terminal } from "../mullion/terminal.ts";

export interface ManifestFeedOptions {
  readonly paths: readonly string[];
  readonly terminal: Terminal;
  readonly log: Klog;
  /** Calls back after a change of a path, until the returned function is called. */
  readonly watchFile: (path: string, changed: () => void) => () => void;
}

/** Where Services without a ClusterIP get one: kubeadm's range. */
const SERVICE_RANGES: readonly Prefix[] = ["10.96.0.0/12"].flatMap((text) => parsePrefix(text) ?? []);

const SEED = "kube-proxy manifests";

function identity({ object }: LoadedObject): string {
  return `${object.kind} ${object.metadata.namespace}/${object.metadata.name}`;
}

class ManifestFeed implements ObjectFeed {
  readonly mayHaveNodesLater = false;
  private readonly kube = new MemoryKube(new Prng(SEED), { clusterCIDRs: [], serviceCIDRs: SERVICE_RANGES });
  private readonly options: ManifestFeedOptions;
  private readonly watched = new Map<string, () => void>();
  private loaded: ReadonlyMap<string, LoadedObject> = new Map();
  private digest = "";
  private reading: Promise<void> = Promise.resolve();

  constructor(options: ManifestFeedOptions) {
    this.options = options;
  }

  /** Reads the files for the first time. @throws Failure when one cannot be read. */
  async open(): Promise<void> {
    await this.read();
  }

  follow<Kind extends FollowedKind>(
    kind: Kind,
    selection: FollowSelection,
    handler: FollowHandler<Kind>,
  ): () => void {
    const wanted = selection.fieldSelector?.replace("metadata.name=", "");
    const isMeant = (object: KubeObjects[Kind]): boolean =>
      kind !== "Node" || object.metadata.name === wanted;
    const reported = new Map<string, KubeObjects[Kind]>();
    const report = (object: KubeObjects[Kind], isGone: boolean): void => {
      if (!isMeant(object)) return;
      const key = `${object.metadata.namespace}/${object.metadata.name}`;
      const before = reported.get(key);
      if (isGone) reported.delete(key);
      else reported.set(key, object);
      handler.changed(before, isGone ? undefined : object);
    };
    for (const object of this.kube.objects(kind)) report(object, false);
    handler.listed();
    return this.kube.watch(kind, this.kube.resourceVersion, ({ type, object }) =>
      report(object, type === "DELETED"),
    );
  }

  readonly events: EventSink = async ({ type, reason, regarding, message }) => {
    const { log } = this.options;
    const about = `${regarding.kind}/${regarding.namespace === "" ? "" : `${regarding.namespace}/`}${regarding.name}`;
    log.info(2, "Event", { type, reason, regarding: about, note: message });
    return Promise.resolve();
  };

  async close(): Promise<void> {
    for (const stop of this.watched.values()) stop();
    await this.reading;
  }

  private readAgain(): void {
    const { log } = this.options;
    this.reading = this.reading
      .then(() => this.read())
      .catch((error: unknown) => {
        log.error("Manifests cannot be read; what was there before stays", {
          err: messageOf(error),
        });
      });
  }

  private async read(): Promise<void> {
    const { paths, terminal, log } = this.options;
    const files = await readInputs(paths, false, terminal);
    this.watch([...paths, ...files.map(({ name }) => name)]);
    const hash = createHash("sha256");
    for (const { name, text } of files) hash.update(`${name}\0${text}\0`);
    const digest = hash.digest("hex");
    if (digest === this.digest) return;
    this.digest = digest;
    const { objects, problems } = loadManifests(files);
    const wanted = new Map(objects.map((loaded) => [identity(loaded), loaded]));
    for (const [key, { object }] of this.loaded)
      if (
        !wanted.has(key) &&
        this.kube.get(object.kind, object.metadata.namespace, object.metadata.name) !== undefined
      )
        this.kube.delete(object.kind, object.metadata.namespace, object.metadata.name);
    const refused = this.apply(objects);
    this.loaded = wanted;
    this.kube.reconcile();
    this.reportInputProblems([...problems, ...refused]);
    log.info(1, "Read manifests", { files: files.length, objects: objects.length });
  }

  /** Who writes a file means what it says: what may not be changed, such as a ClusterIP, is made anew. */
  private apply(objects: readonly LoadedObject[]): readonly FileProblem[] {
    const { outcomes } = this.kube.apply(objects);
    const problems: FileProblem[] = [];
    for (const [index, { kind, namespace, name, change, problem }] of outcomes.entries()) {
      const object = objects[index];
      if (change !== "refused" || object === undefined) continue;
      if (this.kube.get(kind, namespace, name) === undefined)
        problems.push(...(problem === undefined ? [] : [problem]));
      else {
        this.kube.delete(kind, namespace, name);
        problems.push(...this.kube.apply([object]).problems);
      }
    }
    return problems;
  }

  /** Folders report what comes and goes, files what is changed in them. */
  private watch(paths: readonly string[]): void {
    const wanted = new Set(paths.filter((path) => path !== "-" && path !== "standard input"));
    for (const [path, stop] of this.watched)
      if (!wanted.has(path)) {
        stop();
        this.watched.delete(path);
      }
    for (const path of wanted)
      if (!this.watched.has(path))
        this.watched.set(
          path,
          this.options.watchFile(path, () => this.readAgain()),
        );
  }

  private reportInputProblems(problems: readonly FileProblem[]): void {
    for (const problem of problems)
      this.options.log.error("An object is left out", {
        err: formatProblem(problem).trim().replaceAll(/\n\s+/g, " "),
      });
  }
}

/** Objects of files and folders, read again when they change. @throws Failure when one cannot be read. */
export async function openManifestFeed(options: ManifestFeedOptions): Promise<ObjectFeed> {
  const feed = new ManifestFeed(options);
  await feed.open();
  return feed;
}
