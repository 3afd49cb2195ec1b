/** The bytes of a frame beside its fields: the same readers as the engine's, run where they are looked at. */
import { useState } from "preact/hooks";
import { listLayers } from "#core/wire/layers.ts";
import { listFields } from "#core/wire/text/fields.ts";

/** Where a field of a header lies: its first byte, seen from the header, and how many. */
const PLACES: Readonly<Record<string, readonly [offset: number, length: number]>> = {
  "eth.dst": [0, 6],
  "eth.src": [6, 6],
  "eth.type": [12, 2],
  "ip.dsfield.dscp": [1, 1],
  "ip.dsfield.ecn": [1, 1],
  "ip.len": [2, 2],
  "ip.id": [4, 2],
  "ip.flags.df": [6, 1],
  "ip.flags.mf": [6, 1],
  "ip.frag_offset": [6, 2],
  "ip.ttl": [8, 1],
  "ip.proto": [9, 1],
  "ip.checksum": [10, 2],
  "ip.src": [12, 4],
  "ip.dst": [16, 4],
  "ip.hdr_len": [0, 1],
  "ipv6.flow": [1, 3],
  "ipv6.plen": [4, 2],
  "ipv6.nxt": [6, 1],
  "ipv6.hlim": [7, 1],
  "ipv6.src": [8, 16],
  "ipv6.dst": [24, 16],
  "tcp.srcport": [0, 2],
  "tcp.dstport": [2, 2],
  "tcp.seq_raw": [4, 4],
  "tcp.ack_raw": [8, 4],
  "tcp.hdr_len": [12, 1],
  "tcp.flags": [12, 2],
  "tcp.window_size_value": [14, 2],
  "tcp.checksum": [16, 2],
  "tcp.urgent_pointer": [18, 2],
  "udp.srcport": [0, 2],
  "udp.dstport": [2, 2],
  "udp.length": [4, 2],
  "udp.checksum": [6, 2],
  "icmp.type": [0, 1],
  "icmp.code": [1, 1],
  "icmp.checksum": [2, 2],
  "icmp.ident": [4, 2],
  "icmp.seq": [6, 2],
  "vxlan.vni": [4, 3],
};

/** Headers by the first part of a field's name. */
const HEADERS: Readonly<Record<string, string>> = { ethernet: "eth", ipv4: "ip" };

interface Header {
  readonly name: string;
  readonly start: number;
}

/** A field with the bytes that hold it; none for those that no single place holds. */
interface PlacedField {
  readonly field: string;
  readonly value: string;
  readonly start: number;
  readonly length: number;
}

export function bytesOf(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

function headersOf(frame: Uint8Array): readonly Header[] {
  return listLayers(frame).flatMap((layer) => {
    const start =
      "view" in layer && layer.view !== undefined && "start" in layer.view ? layer.view.start : undefined;
    return start === undefined
      ? []
      : [{ name: `${layer.prefix}${HEADERS[layer.kind] ?? layer.kind}`, start }];
  });
}

/** `inner.ip.ttl` → the header `inner.ip` and the field `ip.ttl`. */
function splitName(field: string): readonly [header: string, name: string] {
  const parts = field.split(".");
  const at = parts.findLastIndex((part) => part === "inner" || part === "embedded") + 1;
  return [parts.slice(0, at + 1).join("."), parts.slice(at).join(".")];
}

export function placeFields(frame: Uint8Array): readonly PlacedField[] {
  const starts = new Map(headersOf(frame).map(({ name, start }) => [name, start]));
  return listFields(frame).map(({ field, value }) => {
    const [header, name] = splitName(field);
    const place = PLACES[name];
    const start = starts.get(header);
    return place === undefined || start === undefined
      ? { field, value, start: 0, length: 0 }
      : { field, value, start: start + place[0], length: place[1] };
  });
}

/** Which header each byte belongs to, for its colour. */
function headerAt(headers: readonly Header[], position: number): string {
  return headers.findLast(({ start }) => start <= position)?.name ?? "";
}

const COLOURS: readonly string[] = [
  "eth",
  "vlan",
  "ip",
  "ipv6",
  "tcp",
  "udp",
  "icmp",
  "icmpv6",
  "vxlan",
  "arp",
];

function colourOf(header: string): string {
  const name = header.split(".").at(-1) ?? "";
  return COLOURS.includes(name) ? name : "other";
}

const ROW_BYTES = 16;

/** Hexadecimal lines, 16 bytes each. */
function HexDump({
  frame,
  marked,
  changed,
}: {
  readonly frame: Uint8Array;
  readonly marked: PlacedField | undefined;
  readonly changed: ReadonlySet<number>;
}) {
  const headers = headersOf(frame);
  const rows = Array.from({ length: Math.ceil(frame.length / ROW_BYTES) }, (_, row) => row * ROW_BYTES);
  const isMarked = (at: number): boolean =>
    marked !== undefined && at >= marked.start && at < marked.start + marked.length;
  return (
    <pre class="hex" tabIndex={0} aria-label={`${frame.length} bytes in hexadecimal`}>
      {rows.map((begin) => (
        <span class="hex-row">
          <i>{begin.toString(16).padStart(4, "0")}</i>
          {Array.from(frame.subarray(begin, begin + ROW_BYTES), (byte, index) => {
            const at = begin + index;
            const words = [
              "byte",
              colourOf(headerAt(headers, at)),
              ...(changed.has(at) ? ["changed"] : []),
              ...(isMarked(at) ? ["marked"] : []),
            ];
            return <b class={words.join(" ")}>{byte.toString(16).padStart(2, "0")}</b>;
          })}
        </span>
      ))}
    </pre>
  );
}

function changedBytes(fields: readonly PlacedField[], names: ReadonlySet<string>): ReadonlySet<number> {
  const positions = fields
    .filter(({ field }) => names.has(field))
    .flatMap(({ start, length }) => Array.from({ length }, (_, index) => start + index));
  return new Set(positions);
}

/** A frame: its bytes, and its fields. A field that is pointed at shows its bytes. */
export function FrameView({ hex, changes }: { readonly hex: string; readonly changes: ReadonlySet<string> }) {
  const [field, setField] = useState("");
  const frame = bytesOf(hex);
  const fields = placeFields(frame);
  const marked = fields.find((each) => each.field === field);
  return (
    <div class="frame">
      <HexDump frame={frame} marked={marked} changed={changedBytes(fields, changes)} />
      <details class="fields">
        <summary>All {fields.length} fields</summary>
        <table class="list tight">
          <tbody>
            {fields.map((each) => (
              <tr
                class={`${each.field === field ? "chosen-row" : ""} ${changes.has(each.field) ? "changed-row" : ""}`}
                onMouseEnter={() => setField(each.field)}
              >
                <th scope="row">
                  <button type="button" class="link" onClick={() => setField(each.field)}>
                    {each.field}
                  </button>
                </th>
                <td>
                  <code>{each.value}</code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </details>
    </div>
  );
}
