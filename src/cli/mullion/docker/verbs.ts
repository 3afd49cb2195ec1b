/** What each verb of `mullion docker network` is given. */
import type { DockerNetworkRequest } from "#programs/docker/network-request.ts";
import type { HnsServiceTarget } from "../hns/connect.ts";
import type { ExitCode, Terminal } from "../terminal.ts";

interface DockerTarget {
  /** The HNS of the host: a service that runs. */
  readonly target: HnsServiceTarget;
}

export interface DockerCreateRequest extends DockerTarget {
  readonly network: DockerNetworkRequest;
}

export interface DockerListRequest extends DockerTarget {
  /** `-q`: the ids alone. */
  readonly isQuiet: boolean;
}

export interface DockerNamedRequest extends DockerTarget {
  /** Names, ids, or how ids begin; at least one. */
  readonly names: readonly string[];
}

export interface DockerVerbs {
  readonly create: (request: DockerCreateRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly list: (request: DockerListRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly inspect: (request: DockerNamedRequest, terminal: Terminal) => Promise<ExitCode>;
  readonly remove: (request: DockerNamedRequest, terminal: Terminal) => Promise<ExitCode>;
}
