// A slice of the long run: one thing is broken.
import { breakTheWorld } from "#test/support/cluster/mutations.suite.ts";

breakTheWorld({ each: 1, kinds: 1 });
