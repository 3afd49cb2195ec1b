/** `npm test` draws the same values every time; `npm run test:long` draws fresh ones and prints their seed. */
import fc from "fast-check";

fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: 20_348 });
