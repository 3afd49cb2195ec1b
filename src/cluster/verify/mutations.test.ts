// A slice of the long run: one thing of each kind is broken.
import { breakTheWorld } from "#test/support/cluster/mutations.suite.ts";

breakTheWorld({ each: 1 });
