/**
 * Upper bounds of everything that can grow, each with its unit. Reaching one is an error or a counted drop
 * with a code, never an unbounded table.
 */
export const LIMITS = {
  /** The largest Ethernet frame that is taken: a 64 KiB offloaded segment with its headers. */
  frameBytesMax: 65_650,
  /** Flow pairs per VFP port. */
  flowsPerPortMax: 1_048_576,
  /** Rates whose use a VFP port remembers; rules come and go, and the oldest are forgotten. */
  ratesPerPortMax: 1_024,
  /** Outer headers that a VFP port keeps for all flows to one place. */
  outerHeadersPerPortMax: 4_096,
  /** Packets that wait for a next hop, per VFP port (dataplane.md §1.2, MaxPendingPackets 2000). */
  pendingPacketsPerPortMax: 2_000,
  /** How long a packet may wait for its next hop, in milliseconds (dataplane.md §1.2, PendingTimeout 15; unit inferred). */
  pendingTimeoutMs: 15_000,
  /** Ports of one switch that a frame may be brought to, one from within the other: more is a loop. */
  deliveriesPerFrameMax: 16,
  /** Fragment trains remembered per port. */
  fragmentsPerPortMax: 4_096,
  /** Neighbours per interface. */
  neighborsPerInterfaceMax: 4_096,
  /** Packets that wait for one neighbour. */
  packetsPerNeighborMax: 64,
  /** Sockets per compartment. */
  socketsPerCompartmentMax: 65_536,
  /**
   * Bytes that fragments of incomplete datagrams take per compartment, with what is kept beside each. Linux' default
   * (ip-sysctl.txt: ipfrag_high_thresh).
   */
  reassemblyBytesMax: 4_194_304,
  /** Frames of a tunnel that cuts them, of which parts are missing. */
  tunnelReassembliesMax: 64,
  /** Connections that a Linux machine tracks; kube-proxy sets at least so many (`--conntrack-min`). */
  trackedConnectionsMax: 131_072,
  /** Sessions of the WinNAT of a host. */
  natSessionsMax: 65_536,
  /** Questions that wait at a host's DNS proxy. */
  relayedQuestionsMax: 1_024,
  /** Clients that session affinity remembers per back end (`ip_list_tot` of xt_recent). */
  affinityClientsPerBackEndMax: 100,
  /** Path MTUs remembered per compartment. */
  pathMtusMax: 1_024,
  /** Bytes that a TCP connection holds until they are acknowledged. */
  tcpSendBufferBytesMax: 4_194_304,
  /** Connections of one TCP listener whose handshake is not finished. */
  tcpHandshakesPerListenerMax: 1_024,
  /** MAC addresses that a learning switch remembers. */
  macsPerSwitchMax: 16_384,
  /** Bytes of one JSON document taken from outside. */
  jsonBytesMax: 10_485_760,
  /**
   * Brackets, braces and commas of one request to HNS: what its values cost does not depend on its bytes. An endpoint with
   * 5 000 rules has some 50 000.
   */
  hnsRequestMarksMax: 100_000,
  /** Objects of one file that `mullion hns restore` reads. */
  hnsDumpObjectsMax: 250_000,
  /** Problems of such a file that are listed one by one. */
  hnsDumpProblemsMax: 500,
  /** Characters of one text of vfpctrl. */
  vfpListingCharactersMax: 67_108_864,
  /** Problems of such a text that are listed one by one. */
  vfpListingProblemsMax: 500,
  /** Lines of one rule's data in such a text. */
  vfpRuleLinesMax: 1_024,
  /** Bytes of one answer that a client takes from a service over HTTP. */
  httpResponseBytesMax: 268_435_456,
  /** Connections that a service over HTTP has open at a time. */
  httpConnectionsMax: 256,
  /** Streams of notifications that a service over HTTP has open at a time. */
  notificationStreamsMax: 64,
  /** Bytes that wait for a listener who does not read; then it is cut off. */
  notificationBytesWaitingMax: 1_048_576,
  /** Bytes of one request to the control API: 50 MiB of manifests, as JSON writes them. */
  apiRequestBytesMax: 104_857_600,
  /** Events of a running cluster that are remembered for listeners who come back. */
  apiEventsKeptMax: 4_096,
  /** Characters of what a process of a real pod printed that are kept, the newest. */
  workloadLogCharactersMax: 262_144,
  /** Streams of events that are open at a time. */
  apiEventStreamsMax: 64,
  /** Bytes of all files that one command line names, without those that are read as streams. */
  inputBytesMax: 268_435_456,
  /** Bytes that all files of one archive unpack to. */
  archiveBytesMax: 1_073_741_824,
  /** Bytes of a file of manifests above which it is read as a stream, item by item, however long it is. */
  wholeFileBytesMax: 67_108_864,
  /** Files that one command line names, counted over all its folders. */
  inputFilesMax: 10_000,
  /** Nesting of one JSON or YAML document. */
  documentDepthMax: 128,
  /** Bytes of one cluster file. */
  clusterFileBytesMax: 52_428_800,
  /** Values that all aliases of one YAML document together may stand for. */
  aliasedValuesMax: 100_000,
  /** Characters of one file of Kubernetes manifests. */
  manifestFileCharactersMax: 268_435_456,
  /**
   * Characters of one YAML document, or of one item of a `List`, among manifests. An API server takes objects of some
   * 1.5 MiB.
   */
  manifestDocumentCharactersMax: 4_194_304,
  /** Characters of YAML's structure in one document: what its parser turns into tokens. */
  manifestDocumentTokensMax: 500_000,
  /** Objects of all manifests together. */
  manifestObjectsMax: 250_000,
  /** Problems, and notes, that are listed one by one; the rest is counted. */
  manifestProblemsMax: 500,
  /** Changes of Kubernetes objects that a watch can go back to, per kind. */
  watchHistoryMax: 8_192,
  /** Bytes of one Kubernetes object on its way from or to an API server; etcd takes some 1.5 MiB. */
  kubeObjectBytesMax: 8_388_608,
  /** Bytes of one request to the emulator's Kubernetes API; kube-apiserver takes as many (`MaxRequestBodyBytes`). */
  kubeRequestBytesMax: 3_145_728,
  /** Watches of the emulator's Kubernetes API that are open at a time. */
  kubeWatchesMax: 4_096,
  /** Bytes that wait for a watcher who does not read; then it is cut off, and watches again. */
  kubeWatchBytesWaitingMax: 16_777_216,
  /** Connections to the emulator's Kubernetes API: each watch holds one. */
  kubeConnectionsMax: 8_192,
  /** Events that the embedded API server keeps; the oldest go first, as they go after an hour in a cluster. */
  kubeEventsMax: 10_000,
  /** Pods that the embedded controllers make at most; Kubernetes itself is built for 150 000. */
  podsMax: 200_000,
  /** Nodes of one cluster file. */
  nodesMax: 5_000,
  /** Addresses in one IPAM range that are searched one by one. */
  addressesPerRangeMax: 1_048_576,
  /** How long a plugin waits for one that it calls as a process, in milliseconds. */
  delegateWaitMs: 120_000,
  /** How long host-local waits for the lock of its leases, in milliseconds. */
  leaseLockWaitMs: 10_000,
  /** Bytes of one packet capture held in memory. */
  captureBytesMax: 268_435_456,
  /** Bytes of a running capture that wait for who reads it. */
  liveCaptureBytesMax: 33_554_432,
  /** Places that one capture of a running cluster is of. */
  capturePlacesMax: 32,
  /** Bytes of one comment or name in a packet capture; longer ones are cut. */
  captureTextBytesMax: 4_096,
  /** Bytes of one DNS message: what the length in front of it can say on TCP. */
  dnsMessageBytesMax: 65_535,
  /** Questions and records of one DNS message: as many A records as 64 KiB hold. */
  dnsRecordsMax: 4_096,
  /** Questions that a DNS server has passed on to others and that wait for an answer (kubeadm: `max_concurrent 1000`). */
  dnsForwardsMax: 1_000,
  /** Names that one resolver remembers. */
  dnsCacheNamesMax: 4_096,
} as const;
