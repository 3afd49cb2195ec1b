/** `mullion hns serve`: the HNS of a node without networks, for programs that speak HCN. */
import { randomInt } from "node:crypto";
import { VirtualClock } from "../../../base/clock.ts";
import type { Environment } from "../../../base/environment.ts";
import { Prng } from "../../../base/prng.ts";
import { memoryPair } from "../../../device/memory-pair.ts";
import { defaultSocketPath } from "../../../hcn/find-hns.node.ts";
import { BooksDatapath } from "../../../hns/books-datapath.ts";
import { HnsService } from "../../../hns/hns-service.ts";
import { HnsHttpServer } from "../../../hns/http-server.node.ts";
import { InProcessHcnClient } from "../../../hns/in-process-client.ts";
import { PROFILE_NAMES, type WindowsBuild, parseProfile } from "../../../knowledge/profiles.ts";
import type { Ipv4 } from "../../../net/ip.ts";
import type { Mac } from "../../../net/mac.ts";
import { Failure, describeSystemError } from "../failure.ts";
import type { ExitCode, Terminal } from "../terminal.ts";
import type { HnsServeRequest } from "./verbs.ts";

/** The node of the documentation's examples: 10.0.0.11 on an adapter called Ethernet. */
const ADAPTER = { name: "Ethernet", mac: 0x0015_5d00_0011 as Mac };
const ADDRESS = { ip: 0x0a00_000b as Ipv4, length: 24 };

function requireProfile(text: string): WindowsBuild {
  const build = parseProfile(text);
  if (build !== undefined) return build;
  throw new Failure(
    "bad-usage",
    `there is no Windows profile ${JSON.stringify(text)}`,
    `Profiles are: ${PROFILE_NAMES.join(", ")}. A build such as 10.0.20348.2582 will do, too.`,
  );
}

function createService(windows: WindowsBuild): HnsService {
  const clock = new VirtualClock();
  // Ids differ from run to run, as on Windows.
  const env: Environment = { clock, prng: new Prng(randomInt(2 ** 47)), recorder: undefined };
  const [device] = memoryPair(clock, { delayMs: 0 });
  return new HnsService(env, {
    node: "node",
    windows,
    datapath: new BooksDatapath(),
    adapters: [{ ...ADAPTER, device, addresses: [ADDRESS] }],
    epochMs: Date.now(),
  });
}

/** Serves until the user ends it. @throws Failure when the profile is unknown or the socket cannot be made. */
export async function serve(request: HnsServeRequest, terminal: Terminal): Promise<ExitCode> {
  const windows = requireProfile(request.profile);
  const socketPath = request.socket ?? defaultSocketPath(process.env, process.getuid?.() ?? 0);
  const client = new InProcessHcnClient(createService(windows));
  let server: HnsHttpServer;
  try {
    server = await HnsHttpServer.listen({ client, address: { socketPath } });
  } catch (error) {
    throw new Failure(
      "bad-usage",
      `cannot listen on ${JSON.stringify(socketPath)}: ${describeSystemError(error)}`,
      "Name another place with --socket.",
    );
  }
  const stopped = terminal.untilInterrupted();
  terminal.stdout(`HNS of ${windows.profile.title}, in memory: no packets move, nothing is kept.\n`);
  if (windows.note !== undefined) terminal.stdout(`${windows.note}\n`);
  terminal.stdout(`\n  export MULLION_HNS=unix:${socketPath}\n\nCtrl-C ends it.\n`);
  await stopped;
  await server.close();
  return 0;
}
