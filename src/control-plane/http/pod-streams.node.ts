/**
 * `kubectl exec` and `port-forward` over a WebSocket. Of exec the protocols v5.channel.k8s.io and v4.channel.k8s.io (k8s.io/kubelet,
 * pkg/cri/streaming/remotecommand, and k8s.io/apimachinery, pkg/util/remotecommand). The first byte of a message says whose it is; how the command ended comes last, as a
 * `Status`. Clients that speak SPDY alone are told which kubectl to take.
 */
import { type IncomingMessage, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { type Log, SILENT_LOG } from "#core/base/log.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import type { KubeSource } from "#contracts/kubernetes/source.ts";
import { type CommandEnd, type PodAccess, type PodPlace, checkContainer } from "./pod-access.ts";
import {
  PORT_FORWARD_PROTOCOL,
  PortForward,
  type PortForwardOptions,
} from "./port-forward/port-forward.node.ts";
import { badRequest, statusOf, unknownResource } from "./requests.ts";
import { targetOf } from "./served-resources.ts";
import { WebSocketConnection, asksForWebSocket, listedIn } from "./websocket.node.ts";
import { controlPlane } from "#data/words.js";

const WORDS = controlPlane();

const PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const CHANNEL = { stdout: 1, stderr: 2, error: 3 } as const;
/** Of one message, as kubelets send them. */
const PIECE_BYTES = 32_768;
const COMMAND_WORDS_MAX = 1_024;

export interface PodStreamOptions {
  readonly source: KubeSource;
  /** Undefined: no pod runs behind the API. */
  readonly access: PodAccess | undefined;
  /** @throws KubeError for a request that may not ask. */
  readonly checkAccess: (authorization: string | undefined) => void;
  readonly log?: Log | undefined;
}

interface ExecRequest {
  readonly place: PodPlace;
  readonly command: readonly string[];
  readonly channels: ReadonlySet<number>;
  readonly isTerminal: boolean;
  readonly protocol: string;
}

function urlOf(request: IncomingMessage): URL {
  const text = `https://localhost${request.url ?? "/"}`;
  if (!URL.canParse(text)) throw unknownResource();
  return new URL(text);
}

function isTrue(value: string | null): boolean {
  return value === "true" || value === "1";
}

/** @throws KubeError */
function readExec(request: IncomingMessage, url: URL, place: PodPlace): ExecRequest {
  const { searchParams } = url;
  const command = searchParams.getAll("command");
  if (command.length === 0 || command.length > COMMAND_WORDS_MAX)
    throw badRequest("you must specify a command");
  const protocol = listedIn(request.headers["sec-websocket-protocol"]).find((each) =>
    PROTOCOLS.includes(each),
  );
  if (!asksForWebSocket(request) || protocol === undefined) throw badRequest(WORDS.execNeedsWebSocket);
  const isTerminal = isTrue(searchParams.get("tty"));
  const channels = new Set<number>();
  if (isTrue(searchParams.get("stdout"))) channels.add(CHANNEL.stdout);
  // A terminal has one screen.
  if (isTrue(searchParams.get("stderr")) && !isTerminal) channels.add(CHANNEL.stderr);
  return { place, command, channels, isTerminal, protocol };
}

/** `Status` of a command that has run. */
function endStatus({ exitCode }: CommandEnd): object {
  if (exitCode === 0) return { metadata: {}, status: "Success" };
  return {
    metadata: {},
    status: "Failure",
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: "NonZeroExitCode",
    details: { causes: [{ reason: "ExitCode", message: String(exitCode) }] },
  };
}

async function sendText(connection: WebSocketConnection, channel: number, text: string): Promise<void> {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += PIECE_BYTES)
    await connection.send(Buffer.concat([Buffer.from([channel]), bytes.subarray(at, at + PIECE_BYTES)]));
}

/** A terminal goes back to the first column with each line. */
function onTerminal(text: string): string {
  return text.replace(/\r?\n/g, "\r\n");
}

async function sendEnd(
  connection: WebSocketConnection,
  request: ExecRequest,
  end: CommandEnd,
): Promise<void> {
  const { channels, isTerminal } = request;
  const stdout = isTerminal ? onTerminal(end.stdout + end.stderr) : end.stdout;
  if (channels.has(CHANNEL.stdout)) await sendText(connection, CHANNEL.stdout, stdout);
  if (channels.has(CHANNEL.stderr)) await sendText(connection, CHANNEL.stderr, end.stderr);
  await sendText(connection, CHANNEL.error, JSON.stringify(endStatus(end)));
}

function writeRefusal(socket: Duplex, error: unknown): void {
  const status = statusOf(error);
  const code = status.code === 0 ? 500 : status.code;
  const body = JSON.stringify(status);
  socket.end(
    [
      `HTTP/1.1 ${code} ${STATUS_CODES[code] ?? ""}`,
      "Content-Type: application/json",
      `Content-Length: ${Buffer.byteLength(body)}`,
      "Connection: close",
      "",
      body,
    ].join("\r\n"),
  );
}

/** A request, its connection, and what of it came already. */
interface Upgraded {
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  readonly head: Buffer;
}

/** @throws KubeError for a client that speaks SPDY alone. */
function forwardPorts({ request, socket, head, ...options }: Upgraded & PortForwardOptions): void {
  const protocols = listedIn(request.headers["sec-websocket-protocol"]);
  if (!asksForWebSocket(request) || !protocols.includes(PORT_FORWARD_PROTOCOL))
    throw badRequest(WORDS.portForwardNeedsWebSocket);
  const owner = new PortForward(options);
  owner.begin(new WebSocketConnection(request, socket, { protocol: PORT_FORWARD_PROTOCOL, head, owner }));
}

/** All streams that are open. */
export class PodStreams {
  private readonly options: PodStreamOptions;
  private readonly log: Log;
  private readonly open = new Set<Duplex>();

  constructor(options: PodStreamOptions) {
    this.options = options;
    this.log = options.log ?? SILENT_LOG;
  }

  /** A request that asks for another protocol on its connection. */
  async upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    this.open.add(socket);
    socket.on("close", () => this.open.delete(socket));
    socket.on("error", () => socket.destroy());
    try {
      this.options.checkAccess(request.headers.authorization);
      const url = urlOf(request);
      const { place, subresource, access } = await this.podOf(url);
      if (subresource === "portforward")
        forwardPorts({ request, socket, head, place, access, log: this.log });
      else await this.run(readExec(request, url, place), access, { request, socket, head });
    } catch (error) {
      if (!(error instanceof KubeError))
        this.log.write("error", "stream of the Kubernetes API failed", { error });
      writeRefusal(socket, error);
    }
  }

  close(): void {
    for (const socket of this.open) socket.destroy();
  }

  /** @throws KubeError for what is not served, and for a pod that there is not. */
  private async podOf(
    url: URL,
  ): Promise<{ readonly place: PodPlace; readonly subresource: string; readonly access: PodAccess }> {
    const target = targetOf(url.pathname);
    if (target?.resource.kind !== "Pod" || target.name === undefined) throw unknownResource();
    const { subresource } = target;
    if (subresource === "attach") throw badRequest(`${subresource} is not served here`);
    if (subresource !== "exec" && subresource !== "portforward") throw unknownResource();
    const place: PodPlace = { namespace: target.namespace, name: target.name };
    const { source, access } = this.options;
    checkContainer(await source.get("Pod", place), url.searchParams.get("container") ?? undefined);
    if (access === undefined) throw badRequest(WORDS.podsDoNotRun);
    return { place, subresource, access };
  }

  /** From here on an error is told on the stream: the connection is a WebSocket. */
  private async run(
    exec: ExecRequest,
    access: PodAccess,
    { request, socket, head }: Upgraded,
  ): Promise<void> {
    // Nothing reads what a client types: every command that there is ends by itself.
    const owner = { received: (): void => undefined, closed: (): void => undefined };
    const connection = new WebSocketConnection(request, socket, { protocol: exec.protocol, head, owner });
    const [first] = [...exec.channels].toSorted((a, b) => a - b);
    // Kubelets begin so, that the client sees the stream opened.
    await connection.send(Buffer.from([first ?? CHANNEL.error]));
    try {
      await sendEnd(connection, exec, await access.exec(exec.place, exec.command));
    } catch (error) {
      if (!(error instanceof KubeError)) this.log.write("error", "command in a pod failed", { error });
      await sendText(connection, CHANNEL.error, JSON.stringify(statusOf(error)));
    }
    connection.close();
  }
}
