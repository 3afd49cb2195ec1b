/**
 * Ports that the clients of cells send from. Which back end a connection is led to is decided by a hash of its ends
 * (dataplane.md §3.1), so a sweep need not wait for luck: it takes ports whose hash leads to each place of the list in turn.
 */
import { IpProtocol } from "#core/wire/ip-protocol.ts";
import type { Ip } from "#core/net/ip.ts";
import { BackEndForecast } from "#dataplane/vfp/actions/back-end.ts";

/** Ports count up from here: below the range of node ports, and below every system's ephemeral range. */
const FIRST_SOURCE_PORT = 20_000;
const SOURCE_PORTS = 10_000;
/** Systems, and source NAT, take ports from here on. */
const FIRST_EPHEMERAL_PORT = 32_768;

/** True for a port that somebody may send from, so that answers are for it. */
export function isClientPort(port: number): boolean {
  return (
    (port >= FIRST_SOURCE_PORT && port < FIRST_SOURCE_PORT + SOURCE_PORTS) || port >= FIRST_EPHEMERAL_PORT
  );
}

/** The ports of one sender, each but once as long as there are enough. */
export class SourcePorts {
  private position = 0;
  /** Positions that were taken before their turn. */
  private readonly ahead = new Set<number>();

  next(): number {
    while (this.ahead.delete(this.position)) this.position++;
    return portAt(this.position++);
  }

  /** The first port from `from` positions ahead that is free and wanted. */
  nextThat(isWanted: (port: number) => boolean, from: number): { port: number; ahead: number } | undefined {
    for (let ahead = from; ahead < SOURCE_PORTS; ahead++) {
      const position = this.position + ahead;
      const port = portAt(position);
      if (this.ahead.has(position) || !isWanted(port)) continue;
      this.ahead.add(position);
      return { port, ahead };
    }
    return undefined;
  }
}

function portAt(position: number): number {
  return FIRST_SOURCE_PORT + (position % SOURCE_PORTS);
}

/** Who is asked, by whom. */
export interface SweepEnds {
  readonly protocol: "tcp" | "udp";
  readonly source: Ip;
  readonly destination: Ip;
  readonly port: number;
}

/**
 * The ports of a sweep: first one for each place of the list of back ends, then any. So all is well after as many
 * connections as there are back ends; where the list is another one than expected, chance goes on.
 */
export class SweepPorts {
  private readonly ports: SourcePorts;
  private readonly forecast: BackEndForecast;
  private readonly backEnds: number;
  private readonly met = new Set<number>();
  private ahead = 0;

  constructor(ports: SourcePorts, { protocol, source, destination, port }: SweepEnds, backEnds: number) {
    this.ports = ports;
    this.backEnds = backEnds;
    this.forecast = new BackEndForecast({
      protocol: protocol === "tcp" ? IpProtocol.tcp : IpProtocol.udp,
      source,
      destination,
      destinationPort: port,
    });
  }

  next(): number {
    const { ports, forecast, backEnds, met } = this;
    const found =
      met.size >= backEnds
        ? undefined
        : ports.nextThat((port) => !met.has(forecast.placeOf(port, backEnds)), this.ahead);
    if (found === undefined) return ports.next();
    met.add(forecast.placeOf(found.port, backEnds));
    this.ahead = found.ahead + 1;
    return found.port;
  }
}
