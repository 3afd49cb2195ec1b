/** The published schemas of traces and verifications, compiled once for all tests. */
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { TRACE_SCHEMA } from "#cluster/trace/trace-report.ts";
import { VERIFY_SCHEMA } from "#cluster/verify/report.ts";

const AJV = new Ajv2020({ strict: true });

export const validateTrace: ValidateFunction = AJV.compile(TRACE_SCHEMA);
export const validateVerification: ValidateFunction = AJV.compile(VERIFY_SCHEMA);
