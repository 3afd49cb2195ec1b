/**
 * What is fuzzed: every reader of what strangers write. A target takes any bytes; what a reader refuses with an error of
 * its own is an answer, everything else that is thrown is a finding.
 */
import { readFileSync } from "node:fs";
import { constants, deflateSync } from "node:zlib";
import { forkCluster } from "#cluster/cluster.ts";
import { readInput } from "#cluster/input/read-input.ts";
import { CniError } from "#contracts/cni/error.ts";
import { InProcessRunner, RunnerDelegate } from "#contracts/cni/plugin-runner.ts";
import type { CniPlugin } from "#contracts/cni/plugin.ts";
import { HCN_KINDS } from "#contracts/hcn/client.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { KubeError } from "#contracts/kubernetes/error.ts";
import { HeaderReader, headerDictionary } from "#control-plane/http/port-forward/header-reader.node.ts";
import {
  FrameReader,
  SpdyError,
  writeData,
  writePing,
  writeReset,
} from "#control-plane/http/port-forward/spdy-frames.ts";
import { decodeProtobuf } from "#control-plane/http/protobuf.ts";
import { decodeUtf8 } from "#core/base/encodings.ts";
import { type JsonValue, isJsonObject } from "#core/base/json.ts";
import { decodeSource } from "#core/base/source-text.ts";
import { Packet } from "#core/wire/packet.ts";
import { readLog } from "#diagnose/catalogue/log/read-log.ts";
import { buildSignatures } from "#diagnose/catalogue/log/signatures.ts";
import { lint } from "#diagnose/lint/lint.ts";
import { parseRulesJson } from "#diagnose/vfp-text/json-rules.ts";
import { parseRules } from "#diagnose/vfp-text/parse-rules.ts";
import { readDumps } from "#hns/dump/read-dumps.ts";
import { createHns } from "#hns/local-hns.ts";
import { MemoryScratchStore } from "#programs/plugins/flannel/scratch-files.ts";
import { Flannel } from "#programs/plugins/flannel/plugin.ts";
import { WinBridge } from "#programs/plugins/win-bridge/plugin.ts";
import { WinOverlay } from "#programs/plugins/win-overlay/plugin.ts";
import { runWithTexts } from "#test/support/cni/cni-process.ts";
import { openTestCluster } from "#test/support/cluster/walk.ts";
import { hnsNode } from "#test/support/hns/hns-node.ts";
import { DATAPLANE_VECTORS } from "#test/support/wire/dataplane-vectors.ts";
import type { Target } from "./fuzzer.ts";

const encoder = new TextEncoder();

/** The first 4 KiB of files of the examples. */
function examples(...paths: readonly string[]): readonly Uint8Array[] {
  return paths.map((path) => readFileSync(`examples/${path}`).subarray(0, 4_096));
}

function texts(...all: readonly string[]): readonly Uint8Array[] {
  return all.map((text) => encoder.encode(text));
}

/** Runs `work`; errors of these classes are answers. */
function answered(work: () => unknown, ...classes: readonly (new (...args: never[]) => Error)[]): void {
  try {
    work();
  } catch (error) {
    if (!classes.some((each) => error instanceof each)) throw error;
  }
}

/** Frames into a whole cluster, from a pod and from the wire, in a copy of its own. */
async function frames(): Promise<Target> {
  const cluster = await openTestCluster(readFileSync("examples/two-windows-nodes/cluster.yaml", "utf8"));
  const seeds = Object.values(DATAPLANE_VECTORS);
  let world = forkCluster(cluster);
  let runs = 0;
  return {
    name: "frames",
    about: "a frame that a pod sends, and the node's wire brings",
    seeds,
    run(bytes) {
      // What came before is part of an attack, but not all of it for ever.
      if (++runs % 500 === 0) world = forkCluster(cluster);
      const [pod] = world.pods;
      const [card] = world.nodes[0]?.host.root.listInterfaces() ?? [];
      for (const device of [pod?.compartment.listInterfaces()[0]?.device, card?.device])
        device?.transmit(Packet.fromFrame(bytes.slice(0, 1_514)));
      world.clock.runUntil(world.clock.nowMs + 20);
    },
  };
}

const YAML: Target = {
  name: "yaml",
  about: "a cluster file, manifests or a dump, as verify and lint read them",
  seeds: examples(
    "two-windows-nodes/cluster.yaml",
    "aks-overlay/cluster.yaml",
    "mixed-services/cluster.yaml",
  ),
  run(bytes) {
    const source = decodeSource("fuzz.yaml", bytes);
    if (source === undefined) return;
    readInput([{ name: source.file, text: source.text }]);
    lint({ sources: [source] });
  },
};

const DUMPS: Target = {
  name: "dumps",
  about: "a dump of HNS: JSON, hnsdiag's text, PowerShell's lists",
  seeds: texts(
    '{"apiVersion":"mullion/v1alpha1","kind":"HnsDump","objects":[]}',
    '[{"ID":"5e2b1d2a-5f3a-4c7b-9a53-2f1d6c0a9b11","Name":"cbr0","Type":"L2Bridge","Subnets":[]}]',
    "Network : 5e2b1d2a-5f3a-4c7b-9a53-2f1d6c0a9b11\n    Name             : cbr0\n    Type             : L2Bridge\n",
    "ID       : 5e2b1d2a-5f3a-4c7b-9a53-2f1d6c0a9b11\nName     : cbr0\nPolicies : {@{Type=VLAN; VLAN=5}}\n",
  ),
  run(bytes) {
    const { objects } = readDumps([{ name: "dump.txt", bytes }]);
    if (objects.length === 0) return;
    const { service } = createHns();
    answered(() => service.restore(objects, { keepsUnknownFields: true }), HcnError);
  },
};

const VFP: Target = {
  name: "vfp",
  about: "what vfpctrl lists, as text and as JSON",
  seeds: texts(
    "ITEM LIST\n===========\n  LAYER : SLB_NAT_LAYER\n    GROUP : SLB_GROUP_NAT_IPv4_OUT\n      RULE : r1\n        Priority : 100\n        Flags : 1 terminating\n        Type : dynnat\n        Conditions:\n            Protocols : 6\n",
    '{"Layers":[{"Name":"ACL","Groups":[{"Name":"G","Rules":[{"Id":"r","Priority":1}]}]}]}',
  ),
  run(bytes) {
    const text = decodeUtf8(bytes);
    parseRules(text);
    parseRulesJson(text);
  },
};

const SIGNATURES = buildSignatures();

const LOGS: Target = {
  name: "logs",
  about: "a log that explain reads",
  seeds: texts(
    'E0101 12:00:00.000000 1 proxier.go:1] "Failed to create load balancer" err="hcnCreateLoadBalancer failed in Win32: The endpoint was not found. (0x803b0002)"\n',
    "hcsshim::CreateComputeSystem 1: The virtual machine or container exited unexpectedly.\nHNS failed with error : Element not found.\n",
  ),
  async run(bytes) {
    async function* pieces(): AsyncGenerator<Uint8Array> {
      const half = bytes.length >> 1;
      yield bytes.subarray(0, half);
      yield bytes.subarray(half);
    }
    await readLog(pieces(), SIGNATURES);
  },
};

const CNI: Target = {
  name: "cni",
  about: "standard input of win-bridge, win-overlay and flannel",
  seeds: texts(
    '{"cniVersion":"0.3.1","name":"cbr0","type":"win-bridge","dns":{"Nameservers":["10.96.0.10"]},"policies":[{"Name":"EndpointPolicy","Value":{"Type":"OutBoundNAT","ExceptionList":["10.244.0.0/16"]}}],"ipam":{"type":"host-local","subnet":"10.244.1.0/24"}}',
    '{"cniVersion":"1.0.0","name":"vxlan0","type":"flannel","delegate":{"type":"win-overlay","ApiVersion":2,"endpointMacPrefix":"0E-2A"}}',
  ),
  async run(bytes) {
    const stdin = decodeUtf8(bytes);
    const delegate = new RunnerDelegate(new InProcessRunner(new Map<string, CniPlugin>(), "win32"));
    const { client } = hnsNode();
    const options = { client, delegate, compat: "hardened" } as const;
    const files = {
      readText: async () => "FLANNEL_NETWORK=10.244.0.0/16\nFLANNEL_SUBNET=10.244.2.1/24\nFLANNEL_MTU=1450\n",
    };
    const plugins = [
      new WinBridge(options),
      new WinOverlay(options),
      new Flannel({ ...options, files, scratch: new MemoryScratchStore() }),
    ];
    for (const plugin of plugins)
      for (const CNI_COMMAND of ["ADD", "DEL"]) {
        const { status, stdout } = await runWithTexts(plugin, { stdin, env: { CNI_COMMAND } });
        // An error of ours comes with the code of the specification and a text without a stack; input may be quoted in it.
        const fault = /AssertionError|TypeError|RangeError|\n\s+at /.exec(stdout)?.[0];
        if (status !== 0 && fault !== undefined && !stdin.includes(fault)) throw new CniError(999, stdout);
      }
  },
};

const HNS: Target = {
  name: "hns",
  about: "documents of HNS objects, made and asked for",
  seeds: texts(
    '{"Name":"cbr0","Type":"L2Bridge","Ipams":[{"Subnets":[{"IpAddressPrefix":"10.244.1.0/24","Routes":[{"NextHop":"10.244.1.1","DestinationPrefix":"0.0.0.0/0"}]}]}],"SchemaVersion":{"Major":2,"Minor":0}}',
    '{"Name":"e","HostComputeNetwork":"5e2b1d2a-5f3a-4c7b-9a53-2f1d6c0a9b11","IpConfigurations":[{"IpAddress":"10.244.1.7"}],"Policies":[{"Type":"OutBoundNAT","Settings":{"Exceptions":["10.96.0.0/12"]}}]}',
    '{"HostComputeEndpoints":[],"FrontendVIPs":["10.96.0.1"],"PortMappings":[{"Protocol":6,"InternalPort":80,"ExternalPort":80}]}',
  ),
  async run(bytes) {
    let document: JsonValue;
    try {
      document = JSON.parse(decodeUtf8(bytes)) as JsonValue;
    } catch {
      return;
    }
    if (!isJsonObject(document)) return;
    const { client } = createHns();
    for (const kind of HCN_KINDS) {
      try {
        await client.create(kind, document);
      } catch (error) {
        if (!(error instanceof HcnError)) throw error;
      }
    }
  },
};

const PROTOBUF: Target = {
  name: "protobuf",
  about: "a body in Kubernetes' protobuf",
  seeds: [
    Uint8Array.of(
      0x6b,
      0x38,
      0x73,
      0,
      0x0a,
      9,
      0x0a,
      2,
      0x76,
      0x31,
      0x12,
      3,
      0x50,
      0x6f,
      0x64,
      0x12,
      4,
      0x0a,
      2,
      0x0a,
      0,
    ),
  ],
  run(bytes) {
    answered(() => decodeProtobuf(bytes), KubeError);
  },
};

/** A frame of SPDY/3.1 with a head and a body. */
function spdyFrame(type: number, body: Uint8Array): Uint8Array {
  const frame = Buffer.alloc(8 + body.length);
  frame.writeUInt32BE((0x8003_0000 | type) >>> 0, 0);
  frame.writeUInt32BE(body.length, 4);
  frame.set(body, 8);
  return frame;
}

/** `kubectl port-forward`'s first frame: a stream with two headers. */
function openingFrame(): Uint8Array {
  const names = ["streamtype", "data", "port", "8080"];
  const number = (value: number): Buffer => Buffer.from([0, 0, 0, value]);
  const block = [number(2), ...names.flatMap((name) => [number(name.length), Buffer.from(name)])];
  const packed = deflateSync(Buffer.concat(block), {
    dictionary: headerDictionary(),
    finishFlush: constants.Z_SYNC_FLUSH,
  });
  return spdyFrame(1, Buffer.concat([Buffer.from([0, 0, 0, 1, 0, 0, 0, 0, 0, 0]), packed]));
}

const SPDY: Target = {
  name: "spdy",
  about: "frames and header blocks of kubectl port-forward, in pieces",
  seeds: [
    openingFrame(),
    Buffer.concat([openingFrame(), writeData(1, encoder.encode("GET / HTTP/1.1\r\n\r\n"), false)]),
    Buffer.concat([writePing(7), writeReset(1), writeData(3, Uint8Array.of(), true)]),
  ],
  async run(bytes) {
    const reader = new FrameReader();
    const headers = new HeaderReader();
    const half = bytes.length >> 1;
    try {
      for (const piece of [bytes.subarray(0, half), bytes.subarray(half)])
        for (const frame of reader.push(piece)) if ("block" in frame) await headers.read(frame.block);
    } catch (error) {
      if (!(error instanceof SpdyError)) throw error;
    } finally {
      headers.close();
    }
  },
};

/** All targets, by name. */
export async function listTargets(): Promise<readonly Target[]> {
  return [await frames(), YAML, DUMPS, VFP, LOGS, CNI, HNS, PROTOBUF, SPDY];
}
