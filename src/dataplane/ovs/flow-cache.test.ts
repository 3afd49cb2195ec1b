// A flow cache answers as the tables do. What the twins send and change is chance with a fixed seed; the long test goes on with others.
import { describe, expect, it } from "vitest";
import { Prng } from "#core/base/prng.ts";
import { TWIN_TOPOLOGIES } from "#test/support/dataplane/twin-topologies.ts";
import { TwinWorld } from "#test/support/dataplane/logical-twins.ts";

const PACKETS = 120;

describe("with and without a flow cache, frames and connections are the same", () => {
  it.each(TWIN_TOPOLOGIES)("%s", (name, options) => {
    const told = new TwinWorld(options(), new Prng(`cache ${name}`)).run(PACKETS);
    expect(told.hits).toBeGreaterThan(PACKETS / 40);
    expect(told.delivered).toBeGreaterThan(PACKETS / 10);
    expect(told.dropped).toBeGreaterThan(PACKETS / 20);
  });
});
