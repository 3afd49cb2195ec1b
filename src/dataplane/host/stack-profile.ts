/**
 * What differs between the stacks of Windows and Linux, as values. Everything else in this folder is one code.
 *
 * Sources: docs: dataplane.md §2.1 (what a Windows stack sends), §2.9 (echo identifier), §5.4 (TTL);
 * `Get-NetTCPSetting` of a current Windows (InternetCustom: MinRto 300, initial RTO 1000, 4 SYN retransmissions,
 * initial window 10 segments, delayed acknowledgement 40 ms, every 2nd); Linux: Documentation/networking/ip-sysctl.rst.
 */
import type { PortRange } from "#core/net/port-range.ts";

export type OperatingSystem = "windows" | "linux";

/** When a connection that asks for keep-alives sends them. */
export interface KeepAliveProfile {
  /** How long nothing came before the first. */
  readonly idleMs: number;
  readonly intervalMs: number;
  /** How many may stay without an answer. */
  readonly probes: number;
}

/** How a TCP of this system behaves. Times in milliseconds. */
export interface TcpProfile {
  /** Options of a SYN, in their order; a SYN/ACK carries those that the SYN had, in `synAckOrder`. */
  readonly synOptions: SynOptionStyle;
  /** Shift of the window scale option (RFC 7323). */
  readonly windowScale: number;
  /** Sends SYN with ECE and CWR (RFC 3168 §6.1.1). Both systems accept such a SYN. */
  readonly isEcnOffered: boolean;
  readonly retransmissionInitialMs: number;
  readonly retransmissionMinMs: number;
  readonly retransmissionMaxMs: number;
  /** How often a SYN is sent again. */
  readonly synRetries: number;
  /** How often a SYN/ACK is sent again. */
  readonly synAckRetries: number;
  /** How often data are sent again before the connection is given up. */
  readonly dataRetries: number;
  /** How often a refused SYN is tried again, and after how long. */
  readonly refusedRetries: number;
  readonly refusedRetryMs: number;
  /** A connection attempt ends at once when a router or the neighbour table says "unreachable". */
  readonly isUnreachableFinal: boolean;
  readonly initialWindowSegments: number;
  readonly delayedAckMs: number;
  readonly nagle: Nagle;
  /** What a listener makes of a segment with neither SYN nor ACK, or with SYN and FIN. */
  readonly oddSegments: "reset" | "ignored";
  /** What a connection makes of late segments where systems differ; see `LateSegments`. */
  readonly lateSegments: LateSegments;
  readonly timeWaitMs: number;
  readonly keepAlive: KeepAliveProfile;
}

/**
 * `rfc`: RFC 9293 §3.10.7.4 and RFC 5961 alone. `linux`: a SYN in SYN-RECEIVED is reset (net/ipv4/tcp_minisocks.c,
 * tcp_check_req), a RST that bears the number of the FIN before it ends the connection (net/ipv4/tcp_input.c,
 * tcp_reset_check), and TIME-WAIT acknowledges whatever has a length (tcp_minisocks.c, tcp_timewait_state_process).
 */
export type LateSegments = "rfc" | "linux";

/**
 * When a small segment waits: while anything is under way (RFC 9293 §3.7.4), or while another small one is (Minshall's
 * variant, net/ipv4/tcp_output.c, tcp_nagle_check).
 */
export type Nagle = "any" | "small";

/** `windows`: MSS, NOP, scale, NOP, NOP, SACK permitted. `linux`: MSS, SACK permitted, timestamps, NOP, scale. */
export type SynOptionStyle = "windows" | "linux";

/** How a stack of this system behaves. */
export interface StackProfile {
  readonly os: OperatingSystem;
  readonly ttl: number;
  readonly ephemeralPorts: PortRange;
  /**
   * `strong`: an address is served on its own interface only (RFC 1122 §3.3.4.2), unless the interface forwards.
   * `weak`: on every interface.
   */
  readonly hostModel: "strong" | "weak";
  /** Uses a new IPv6 address while it still asks whether somebody else has it (RFC 4429). */
  readonly isNewAddressUsed: boolean;
  /** Sends a gratuitous ARP request when an address is added. */
  readonly isAddressAnnounced: boolean;
  /** Sets DF on UDP datagrams and echo requests that fit the path. */
  readonly isDatagramUnfragmented: boolean;
  /** Type-of-service octet of ICMP errors. */
  readonly icmpErrorTos: number;
  /** Answers a request for the time (RFC 792). */
  readonly isTimestampAnswered: boolean;
  /** Answers an echo request to a group of IPv6 that it is in. */
  readonly isGroupEchoAnswered: boolean;
  /** Ends packets whose IPv6 options are padded in ways that serve nothing. */
  readonly isPaddingChecked: boolean;
  /** IPv6 routing headers that end a packet without a word. */
  readonly droppedRoutingTypes: readonly number[];
  /** How long an incomplete datagram waits for its other fragments. */
  readonly reassemblyTimeoutMs: number;
  /** Undefined: one identifier per echo client. */
  readonly echoIdentifier: number | undefined;
  readonly echoPayloadBytes: number;
  /** Metric of the routes that addresses imply. */
  readonly onLinkMetric: number;
  /** Metric of an interface, added to that of its routes. */
  readonly interfaceMetric: number;
  readonly tcp: TcpProfile;
}

const WINDOWS_STACK: StackProfile = Object.freeze({
  os: "windows",
  ttl: 128,
  ephemeralPorts: Object.freeze({ first: 49_152, last: 65_535 }),
  hostModel: "strong",
  // Inferred: Windows optimises the check since Vista; no source that was read says how far.
  isNewAddressUsed: true,
  // docs: dataplane.md §2.10 (a pod announces its address on attach).
  isAddressAnnounced: true,
  isDatagramUnfragmented: false,
  icmpErrorTos: 0,
  // Inferred: the firewall of Windows lets no such request in, and no source tells of an answer.
  isTimestampAnswered: false,
  // RFC 4443 §4.2 leaves it open; thc-ipv6, "alive6": Windows does not answer, so scanners send it unknown options.
  isGroupEchoAnswered: false,
  // Inferred: RFC 8200 asks for no check.
  isPaddingChecked: false,
  droppedRoutingTypes: Object.freeze([]),
  // RFC 1122 §3.3.2: 60 to 120 s.
  reassemblyTimeoutMs: 60_000,
  // docs: dataplane.md §2.9: one identifier for all processes, the sequence number tells requests apart.
  echoIdentifier: 1,
  echoPayloadBytes: 32,
  onLinkMetric: 256,
  // docs: dataplane.md §5.2: automatic metric of a 10 Gb/s interface.
  interfaceMetric: 15,
  tcp: Object.freeze({
    synOptions: "windows",
    windowScale: 8,
    isEcnOffered: true,
    retransmissionInitialMs: 1_000,
    retransmissionMinMs: 300,
    retransmissionMaxMs: 60_000,
    synRetries: 4,
    // Inferred: as many as for a SYN; `Get-NetTCPSetting` prints no other number.
    synAckRetries: 4,
    dataRetries: 5,
    // Microsoft KB 175523: a SYN that is answered with RST is sent again, the time-out does not grow.
    refusedRetries: 2,
    refusedRetryMs: 500,
    // RFC 1122 §4.2.3.9: such an error is soft; Inferred that Windows keeps to it while it connects.
    isUnreachableFinal: false,
    initialWindowSegments: 10,
    delayedAckMs: 40,
    // Microsoft, "Nagle's algorithm": until what was sent before is acknowledged.
    nagle: "any",
    // nmap-os-db, tests T2 and T3 of Windows Vista to 11 and their servers: RST and ACK.
    oddSegments: "reset",
    // Inferred: Windows takes late segments as the RFCs say.
    lateSegments: "rfc",
    // TcpTimedWaitDelay, 120 s since Windows Server 2003.
    timeWaitMs: 120_000,
    // docs: dataplane.md §3.8: two hours; Microsoft, "SIO_KEEPALIVE_VALS": then every second, ten times.
    keepAlive: Object.freeze({ idleMs: 7_200_000, intervalMs: 1_000, probes: 10 }),
  }),
});

const LINUX_STACK: StackProfile = Object.freeze({
  os: "linux",
  ttl: 64,
  ephemeralPorts: Object.freeze({ first: 32_768, last: 60_999 }),
  hostModel: "weak",
  // optimistic_dad is 0.
  isNewAddressUsed: false,
  // arp_notify is 0.
  isAddressAnnounced: false,
  // ip_no_pmtu_disc is 0.
  isDatagramUnfragmented: true,
  // net/ipv4/icmp.c: errors carry "internetwork control" precedence.
  icmpErrorTos: 0xc0,
  // net/ipv4/icmp.c, icmp_timestamp.
  isTimestampAnswered: true,
  // icmpv6_echo_ignore_multicast is 0.
  isGroupEchoAnswered: true,
  // net/ipv6/exthdrs.c, ip6_parse_tlv.
  isPaddingChecked: true,
  // seg6_enabled is 0: segment routing.
  droppedRoutingTypes: Object.freeze([4]),
  // ipfrag_time.
  reassemblyTimeoutMs: 30_000,
  echoIdentifier: undefined,
  echoPayloadBytes: 56,
  onLinkMetric: 0,
  interfaceMetric: 0,
  tcp: Object.freeze({
    synOptions: "linux",
    windowScale: 7,
    // tcp_ecn is 2: accepted, not asked for.
    isEcnOffered: false,
    retransmissionInitialMs: 1_000,
    retransmissionMinMs: 200,
    retransmissionMaxMs: 120_000,
    synRetries: 6,
    synAckRetries: 5,
    dataRetries: 15,
    refusedRetries: 0,
    refusedRetryMs: 0,
    // net/ipv4/tcp_ipv4.c, tcp_v4_err: an error of a connection in SYN_SENT ends it.
    isUnreachableFinal: true,
    initialWindowSegments: 10,
    delayedAckMs: 40,
    nagle: "small",
    // net/ipv4/tcp_input.c, tcp_rcv_state_process; asked of Linux 6.18.
    oddSegments: "ignored",
    lateSegments: "linux",
    timeWaitMs: 60_000,
    // tcp_keepalive_time, tcp_keepalive_intvl, tcp_keepalive_probes.
    keepAlive: Object.freeze({ idleMs: 7_200_000, intervalMs: 75_000, probes: 9 }),
  }),
});

export function stackProfileOf(os: OperatingSystem): StackProfile {
  return os === "windows" ? WINDOWS_STACK : LINUX_STACK;
}
