import {
  NODE_TROUBLES,
  TROUBLES,
  describeNodeTroubles,
  describeTroubles,
} from "#test/support/cli/trouble-examples.suite.ts";

describeTroubles(TROUBLES);
describeNodeTroubles(NODE_TROUBLES);
