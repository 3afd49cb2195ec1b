/** `SEED=N npm run test:long` draws the same values again; without it properties draw fresh ones and print their seed. */
import fc from "fast-check";

const given = process.env["SEED"];
if (given !== undefined) fc.configureGlobal({ ...fc.readConfigureGlobal(), seed: Number(given) });
