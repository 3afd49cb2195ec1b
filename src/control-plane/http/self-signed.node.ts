/**
 * A key and a certificate for a server on this machine, made when it starts: kubectl and client-go send no token over
 * plain HTTP. The certificate signs itself, and kubeconfigs name it as the authority (X.509: RFC 5280; keys: RFC 5480).
 */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";
import { isIP, isIPv4 } from "node:net";
import { parseIp } from "#core/net/ip.ts";

const SEQUENCE = 0x30;
const SET = 0x31;
const INTEGER = 0x02;
const BIT_STRING = 0x03;
const OCTET_STRING = 0x04;
const OBJECT_ID = 0x06;
const BOOLEAN = 0x01;
const UTF8_STRING = 0x0c;
const GENERALIZED_TIME = 0x18;
/** `[n]` of a context, primitive and constructed. */
const CONTEXT = 0x80;
const CONSTRUCTED = 0xa0;
const DNS_NAME = 2;
const IP_ADDRESS = 7;

const OIDS = {
  ecdsaWithSha256: [0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
  commonName: [0x55, 0x04, 0x03],
  basicConstraints: [0x55, 0x1d, 0x13],
  keyUsage: [0x55, 0x1d, 0x0f],
  extendedKeyUsage: [0x55, 0x1d, 0x25],
  subjectAltName: [0x55, 0x1d, 0x11],
  serverAuth: [0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01],
} as const;

const DAY_MS = 86_400_000;
const VALID_DAYS = 365;
const SERIAL_BYTES = 16;

/** One element of DER: tag, length, contents. */
function der(tag: number, ...contents: readonly (Uint8Array | readonly number[])[]): Buffer {
  const body = Buffer.concat(contents.map((part) => Buffer.from(part)));
  const length: number[] = [];
  if (body.length < 0x80) length.push(body.length);
  else {
    for (let rest = body.length; rest > 0; rest = Math.floor(rest / 256)) length.unshift(rest & 0xff);
    length.unshift(0x80 | length.length);
  }
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

function extension(id: readonly number[], isCritical: boolean, value: Buffer): Buffer {
  const critical = isCritical ? [der(BOOLEAN, [0xff])] : [];
  return der(SEQUENCE, der(OBJECT_ID, id), ...critical, der(OCTET_STRING, value));
}

/** `20260102030405Z` */
function time(ms: number): Buffer {
  const text = new Date(ms)
    .toISOString()
    .replace(/[-:T]/g, "")
    .replace(/\.\d+Z$/, "Z");
  return der(GENERALIZED_TIME, Buffer.from(text));
}

function bytesOfIp(text: string): readonly number[] {
  if (isIPv4(text)) return text.split(".").map(Number);
  const value = parseIp(text);
  const hex = (typeof value === "bigint" ? value : 0n).toString(16).padStart(32, "0");
  return [...Buffer.from(hex, "hex")];
}

/** An address or a name under which the server is reached. */
function alternativeName(host: string): Buffer {
  return isIP(host) === 0
    ? der(CONTEXT | DNS_NAME, Buffer.from(host))
    : der(CONTEXT | IP_ADDRESS, bytesOfIp(host));
}

export interface ServerCertificate {
  /** PEM. */
  readonly key: string;
  readonly certificate: string;
}

/** Makes both, for a server that is reached under `hosts`, valid from a day ago for a year. */
export function makeCertificate(
  commonName: string,
  hosts: readonly string[],
  nowMs: number,
): ServerCertificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(SEQUENCE, der(OBJECT_ID, OIDS.ecdsaWithSha256));
  const attribute = der(SEQUENCE, der(OBJECT_ID, OIDS.commonName), der(UTF8_STRING, Buffer.from(commonName)));
  const name = der(SEQUENCE, der(SET, attribute));
  const serial = randomBytes(SERIAL_BYTES);
  // Positive, and without a zero in front.
  serial[0] = ((serial[0] ?? 0) & 0x7f) | 0x40;
  const extensions = der(
    SEQUENCE,
    extension(OIDS.basicConstraints, true, der(SEQUENCE, der(BOOLEAN, [0xff]))),
    // digitalSignature and keyCertSign.
    extension(OIDS.keyUsage, true, der(BIT_STRING, [2, 0x84])),
    extension(OIDS.extendedKeyUsage, false, der(SEQUENCE, der(OBJECT_ID, OIDS.serverAuth))),
    extension(OIDS.subjectAltName, false, der(SEQUENCE, ...hosts.map(alternativeName))),
  );
  const unsigned = der(
    SEQUENCE,
    der(CONSTRUCTED, der(INTEGER, [2])),
    der(INTEGER, serial),
    algorithm,
    name,
    der(SEQUENCE, time(nowMs - DAY_MS), time(nowMs + VALID_DAYS * DAY_MS)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(CONSTRUCTED | 3, extensions),
  );
  const signature = sign("sha256", unsigned, { key: privateKey, dsaEncoding: "der" });
  const whole = der(SEQUENCE, unsigned, algorithm, der(BIT_STRING, [0], signature));
  const lines = whole.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    certificate: `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`,
  };
}
