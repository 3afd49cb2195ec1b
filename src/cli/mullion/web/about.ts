/** What the pages of `mullion ui` are over. It stands in the page itself, so that its first paint is the right one. */
export interface UiAbout {
  /** A cluster and its control API; the HNS of a node; what `doctor` says of files. */
  readonly kind: "cluster" | "hns" | "doctor";
  /** Of the HNS: where it listens; of a report: the paths. Empty: a cluster has its own. */
  readonly name: string;
  /** There are files, which lint reads and builds are compared on. */
  readonly hasFiles: boolean;
  /** The builds of Windows that can be compared. */
  readonly profiles: readonly string[];
  /** The cluster was not up when the page was asked for: `bring-up` answers with a `BringUpState`. */
  readonly isComingUp?: boolean;
}

/** How far the bring-up of the cluster is. */
export interface BringUpState {
  readonly isUp: boolean;
  /** What goes on, as `mullion up` says it; empty: the files are read. */
  readonly text: string;
  readonly done: number;
  readonly total: number;
  readonly elapsedMs: number;
}
