/** An image made by hand: an OCI layout as a tar file, with one layer that is not compressed. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const OCI = "application/vnd.oci.image";

interface Descriptor {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
}

function tar(file: string, folder: string): void {
  execFileSync("tar", ["--owner=0", "--group=0", "-C", folder, "-cf", file, "."]);
}

/** Writes the image `name`, whose root holds `programs`; the first of them is what it runs. */
export function writeImage(path: string, name: string, programs: Readonly<Record<string, Uint8Array>>): void {
  const work = mkdtempSync(join(tmpdir(), "mullion-image-"));
  const [root, layout] = [join(work, "root"), join(work, "layout")];
  const blobs = join(layout, "blobs", "sha256");
  for (const folder of [join(root, "proc"), join(root, "dev"), join(root, "sys"), join(root, "etc"), blobs])
    mkdirSync(folder, { recursive: true });
  const blob = (mediaType: string, bytes: Uint8Array): Descriptor => {
    const hex = createHash("sha256").update(bytes).digest("hex");
    writeFileSync(join(blobs, hex), bytes);
    return { mediaType, digest: `sha256:${hex}`, size: bytes.length };
  };
  const json = (document: object): Uint8Array => Buffer.from(JSON.stringify(document));
  try {
    for (const [file, bytes] of Object.entries(programs))
      writeFileSync(join(root, file), bytes, { mode: 0o755 });
    tar(join(work, "layer.tar"), root);
    const layer = blob(`${OCI}.layer.v1.tar`, readFileSync(join(work, "layer.tar")));
    const Cmd = [`/${Object.keys(programs)[0] ?? ""}`];
    const config = blob(
      `${OCI}.config.v1+json`,
      json({
        architecture: { x64: "amd64" }[process.arch as string] ?? process.arch,
        os: "linux",
        config: { Cmd },
        rootfs: { type: "layers", diff_ids: [layer.digest] },
      }),
    );
    const mediaType = `${OCI}.manifest.v1+json`;
    const manifest = blob(mediaType, json({ schemaVersion: 2, mediaType, config, layers: [layer] }));
    const annotations = { "io.containerd.image.name": name };
    writeFileSync(
      join(layout, "index.json"),
      json({ schemaVersion: 2, manifests: [{ ...manifest, annotations }] }),
    );
    writeFileSync(join(layout, "oci-layout"), json({ imageLayoutVersion: "1.0.0" }));
    tar(path, layout);
  } finally {
    rmSync(work, { recursive: true });
  }
}
