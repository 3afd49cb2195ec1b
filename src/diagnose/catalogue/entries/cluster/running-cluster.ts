/** Problems around a cluster that `mullion up` holds, and of requests to its control API. */
import { prose } from "../../prose.ts";
import { ALL, type EntryTable, reference } from "../entry-text.ts";

type RunningClusterCode =
  | "cluster-not-running"
  | "cluster-already-running"
  | "cluster-unreachable"
  | "cluster-not-private"
  | "cluster-start-failed"
  | "node-action-impossible"
  | "api-request-invalid"
  | "api-request-too-large";

const API_PAGE = reference("docs/reference/api.md");
const NOTHING_ON_NODE = prose`
  Nothing to see on a node: the cluster is simulated, and lives in one process on this machine.`;

export const RUNNING_CLUSTER_ENTRIES: EntryTable<RunningClusterCode> = {
  "cluster-not-running": {
    title: "No cluster is running under this name",
    cause: prose`
      A verb without -f talks to the cluster that mullion up started. There is no socket of that name, or the
      process behind it is gone: it was ended, killed, or the machine was started again. Clusters live in memory
      and do not survive their process.`,
    onNode: NOTHING_ON_NODE,
    remedy: prose`
      Bring a cluster up, or name a cluster file for this one command:

          mullion up -f cluster.yaml
          mullion get pods -f cluster.yaml

      A cluster that was started with --name or --socket needs the same words at every verb, or the variable
      MULLION_NAME.`,
    sources: [API_PAGE],
    profiles: ALL,
  },

  "cluster-already-running": {
    title: "A cluster of this name is running already",
    cause: prose`
      One process holds one cluster, and a name (or a socket) belongs to one of them. A cluster of this name
      answers, so a second one was not started and the first was left as it is.`,
    onNode: NOTHING_ON_NODE,
    remedy: prose`
      Change the running one, end it first, or give the new one a name of its own:

          mullion apply -f manifests/
          mullion down
          mullion up -f cluster.yaml --name second`,
    sources: [API_PAGE],
    profiles: ALL,
  },

  "cluster-unreachable": {
    title: "The running cluster does not answer",
    cause: prose`
      The socket exists and a program listens, but there is no answer, a broken one, or one that is not from Mullion.
      The cluster may just be ending, or be busy with a large change; or another program listens on the path that
      --socket names.`,
    onNode: NOTHING_ON_NODE,
    remedy: prose`
      Try again. When it stays like this, end the cluster and bring it up again; down waits for a cluster that is
      busy, and ends one that hangs:

          mullion down
          mullion up -f cluster.yaml

      The log is beside the socket, with the ending .log.`,
    sources: [API_PAGE],
    profiles: ALL,
  },

  "cluster-not-private": {
    title: "The folder or socket of the cluster is open to other users",
    cause: prose`
      Every user who can open the socket can change the cluster, and every user who can write to its folder can put another
      socket in its place. So Mullion uses a folder only when it belongs to you and no other user may enter it, and
      talks to a socket only when it is yours. One of the two is not so here.`,
    onNode: NOTHING_ON_NODE,
    remedy: prose`
      Look who owns it, then close it or take another place:

          ls -ld "$XDG_RUNTIME_DIR/mullion" /tmp/mullion-$(id -u)
          chmod 700 /tmp/mullion-$(id -u)
          mullion up -f cluster.yaml --socket ~/mullion/cluster.sock`,
    sources: [API_PAGE],
    profiles: ALL,
  },

  "cluster-start-failed": {
    title: "The process that should hold the cluster ended before it was up",
    cause: prose`
      mullion up starts a process in the background and waits until it says that the cluster is up. It ended
      silently: the system killed it (mostly because memory ran out), or it met a bug in Mullion. Nothing
      was left behind.`,
    onNode: NOTHING_ON_NODE,
    remedy: prose`
      Run it in the foreground, where everything that it says is seen. A very large cluster may need more memory
      than Node takes by itself:

          mullion up -f cluster.yaml --foreground
          NODE_OPTIONS=--max-old-space-size=8192 mullion up -f cluster.yaml`,
    sources: [API_PAGE],
    profiles: ALL,
  },

  "node-action-impossible": {
    title: "A node cannot do this now",
    cause: prose`
      Nodes of a running cluster reboot, stop and start, leave and join again. A machine that is off can only be
      started, one that has left can only rejoin, and a node joins with a range inside of the cluster's that no other
      node has. All but a restart of HNS need flannel: its flanneld makes the network of a node when that comes up;
      with plugin hns the networks are made once, with the cluster.`,
    onNode: NOTHING_ON_NODE,
    remedy: prose`
      Look how the nodes stand, and choose what is possible:

          mullion get nodes
          mullion node start win-1
          mullion node rejoin win-1 --pod-cidr 10.244.7.0/24`,
    sources: [API_PAGE],
    profiles: ALL,
  },

  "api-request-invalid": {
    title: "A request to the control API has the wrong form",
    cause: prose`
      The path does not exist, the body is not JSON, or a field is missing, misspelt or of the wrong type. The
      request is refused whole and changed nothing. Unknown fields are refused and not ignored: a setting that
      silently does nothing costs hours.`,
    onNode: NOTHING_ON_NODE,
    remedy: prose`
      The page docs/reference/api.md lists paths and fields, and the running cluster gives the schema itself:

          curl --unix-socket <socket> http://mullion/v1alpha1/schemas/api.v1alpha1.json`,
    sources: [API_PAGE],
    profiles: ALL,
  },

  "api-request-too-large": {
    title: "A request to the control API is too long",
    cause: prose`
      A request may have 100 MiB, and the files of one command line 50 MiB together. Longer ones are refused before
      they fill the memory.`,
    onNode: NOTHING_ON_NODE,
    remedy: prose`
      Apply the files one after the other, or leave out what the network does not need, such as ConfigMaps and
      Secrets with large data:

          mullion apply -f first.yaml
          mullion apply -f second.yaml`,
    sources: [API_PAGE],
    profiles: ALL,
  },
};
