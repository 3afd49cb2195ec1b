import { breakTheWorld } from "#test/support/cluster/mutations.suite.ts";

breakTheWorld({ each: Number.POSITIVE_INFINITY });
