// The same as flow-cache.test.ts, for longer and with another seed each time, which is in the titles.
import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { TwinWorld } from "#test/support/dataplane/logical-twins.ts";
import { TWIN_TOPOLOGIES } from "#test/support/dataplane/twin-topologies.ts";

const PACKETS = 10_000;
const SEED = process.env["MULLION_SEED"] ?? String(randomInt(1_000_000));

describe(`MULLION_SEED=${SEED}: with and without a flow cache, frames and connections are the same`, () => {
  it.each(TWIN_TOPOLOGIES)(
    "%s",
    (name, options) => {
      const told = new TwinWorld(options(), new Prng(`${SEED} ${name}`)).run(PACKETS);
      expect(told.hits).toBeGreaterThan(PACKETS / 10);
      expect(told.delivered).toBeGreaterThan(PACKETS / 4);
      expect(told.dropped).toBeGreaterThan(PACKETS / 20);
    },
    600_000,
  );
});
