/** The byte vectors of dataplane.md §6.10: the frames of walks O-4 and O-7, checked there with tcpdump. */
import { annotatedHex } from "./hexadecimal.ts";

/** Frames by their names in the document; copy one before writing into it. */
export const DATAPLANE_VECTORS: Readonly<Record<"V1" | "V2" | "V3" | "V4" | "V5" | "V6" | "V7", Uint8Array>> =
  {
    /** Pod A opens a connection to the ClusterIP; not yet load balanced. */
    V1: annotatedHex(`
    00 15 5d aa 00 01 0e 2a 0a f4 01 0a 08 00 45 00
    00 34 12 34 40 00 80 06 d2 00 0a f4 01 0a 0a 60
    00 32 c0 30 00 50 01 02 03 04 00 00 00 00 80 c2
    fd 5c 96 0f 00 00 02 04 05 82 01 03 03 08 01 01
    04 02
  `),
    /** V1 behind LB_DSR: the destination is pod C, port 8080. */
    V2: annotatedHex(`
    00 15 5d aa 00 01 0e 2a 0a f4 01 0a 08 00 45 00
    00 34 12 34 40 00 80 06 cf 94 0a f4 01 0a 0a f4
    02 0a c0 30 1f 90 01 02 03 04 00 00 00 00 80 c2
    fd 5c 74 63 00 00 02 04 05 82 01 03 03 08 01 01
    04 02
  `),
    /** V2 on the wire: VXLAN with VNI 4096, inner TTL one less, inner destination MAC of the other node. */
    V3: annotatedHex(`
    00 15 5d 00 00 12 00 15 5d 00 00 11 08 00 45 00
    00 66 70 01 40 00 80 11 76 6f 0a 00 00 0b 0a 00
    00 0c 98 81 12 b5 00 52 00 00 08 00 00 00 00 10
    00 00 00 15 5d aa 00 02 0e 2a 0a f4 01 0a 08 00
    45 00 00 34 12 34 40 00 7f 06 d0 94 0a f4 01 0a
    0a f4 02 0a c0 30 1f 90 01 02 03 04 00 00 00 00
    80 c2 fd 5c 74 63 00 00 02 04 05 82 01 03 03 08
    01 01 04 02
  `),
    /** Pod C's answer as it leaves its node, TTL 127. */
    V4: annotatedHex(`
    00 15 5d aa 00 01 0e 2a 0a f4 02 0a 08 00 45 00
    00 34 12 34 40 00 7f 06 d0 94 0a f4 02 0a 0a f4
    01 0a 1f 90 c0 30 0a 0b 0c 0d 01 02 03 05 80 52
    ff ff 5c 17 00 00 02 04 05 82 01 03 03 08 01 01
    04 02
  `),
    /** V4 as pod A gets it: the ClusterIP is the source again. */
    V5: annotatedHex(`
    0e 2a 0a f4 01 0a 00 15 5d aa 00 01 08 00 45 00
    00 34 12 34 40 00 7f 06 d3 00 0a 60 00 32 0a f4
    01 0a 00 50 c0 30 0a 0b 0c 0d 01 02 03 05 80 52
    ff ff 7d c3 00 00 02 04 05 82 01 03 03 08 01 01
    04 02
  `),
    /** Pod A opens a connection to the outside; not yet translated. */
    V6: annotatedHex(`
    00 15 5d aa 00 01 0e 2a 0a f4 01 0a 08 00 45 00
    00 34 12 34 40 00 80 06 a0 87 0a f4 01 0a cb 00
    71 0a c0 31 01 bb 00 00 00 01 00 00 00 00 80 c2
    fd 5c 67 2f 00 00 02 04 05 82 01 03 03 08 01 01
    04 02
  `),
    /** V6 behind OutBoundNAT and paroute: from the node, port 50048, to the router. */
    V7: annotatedHex(`
    52 54 00 00 00 01 00 15 5d 00 00 11 08 00 45 00
    00 34 12 34 40 00 80 06 a2 7a 0a 00 00 0b cb 00
    71 0a c3 80 01 bb 00 00 00 01 00 00 00 00 80 c2
    fd 5c 65 d3 00 00 02 04 05 82 01 03 03 08 01 01
    04 02
  `),
  };
