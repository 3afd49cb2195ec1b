import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { GoMissingError, findGo } from "./go-toolchain.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "mullion-go-"));
});

afterEach(() => {
  rmSync(folder, { recursive: true });
});

/** A program that says this version. What else it is asked goes wrong, or `script` does it. */
function program(
  name: string,
  version: string,
  script = "echo 'dial tcp: no such host' >&2; exit 1",
): string {
  const path = join(folder, name);
  const text = `#!/bin/sh\nif [ "$1" = version ]; then echo "go version go${version} linux/amd64"; else ${script}; fi\n`;
  writeFileSync(path, text, { mode: 0o755 });
  return path;
}

const find = (...programs: readonly string[]): string => findGo({ programs, cache: join(folder, "cache") });

describe("findGo", () => {
  it("takes the first that is new enough", () => {
    const old = program("old", "1.19.8");
    const current = program("current", "1.23");
    expect(find(join(folder, "none"), old, current)).toBe(current);
    expect(find(program("next", "2.0.1"))).toBe(join(folder, "next"));
  });

  it("lets an old one fetch a newer one, once", () => {
    // What `go mod download` leaves: files that are not executable.
    const root = `$GOMODCACHE/$3`;
    const script =
      `echo fetched >> ${folder}/log; mkdir -p ${root}/bin ${root}/pkg/tool; ` +
      `printf '#!/bin/sh\\necho go version go1.26.8' > ${root}/bin/go; touch ${root}/pkg/tool/compile`;
    const old = program("old", "1.19.8", script);
    const fetched = find(old);
    expect(fetched).toMatch(
      /cache\/golang\.org\/toolchain@v0\.0\.1-go1\.26\.8\.linux-(?:amd64|arm64)\/bin\/go$/,
    );
    rmSync(join(folder, "log"));
    expect(find(old)).toBe(fetched);
    expect(() => rmSync(join(folder, "log"))).toThrow("no such file");
  });

  it("says what to install, and why nothing could be fetched", () => {
    expect(() => find(join(folder, "none"))).toThrow(GoMissingError);
    expect(() => find(join(folder, "none"))).toThrow(
      /^Go is not installed\. Install it: apt-get install .*golang-go/,
    );
    expect(() => find(program("old", "1.19.8"))).toThrow(
      /^Go 1\.23 or later is needed, Go 1\.19\.8 is installed, and .*no such host.*GOPROXY/,
    );
  });
});
