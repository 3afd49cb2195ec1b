/** The paths of dumps on a served HNS (`hcn/dump-protocol.ts`). */
import type { HttpBindings } from "@hono/node-server";
import type { Context, Hono } from "hono";
import { bodyLimit } from "hono/body-limit";
import { LIMITS } from "#core/base/limits.ts";
import type { HnsDumps } from "#contracts/hcn/dumps.ts";
import { DUMP_PATH, RESTORE_PATH, parseRestoreRequest } from "#contracts/hcn/http/dump-protocol.ts";
import { HcnError } from "#contracts/hcn/error.ts";
import { formatHttpError } from "#contracts/hcn/http/http-protocol.ts";
import { parseAnswerText } from "#contracts/hcn/description/json.ts";

const TOO_LARGE = 413;
const JSON_TYPE = { "content-type": "application/json" };

function tooLarge(): Response {
  const error = new HcnError("HCN_E_INVALID_JSON", {
    detail: `The dump is longer than ${LIMITS.httpResponseBytesMax} bytes`,
  });
  return new Response(formatHttpError(error), {
    status: TOO_LARGE,
    headers: { ...JSON_TYPE, connection: "close" },
  });
}

function answer(result: unknown): Response {
  return new Response(JSON.stringify({ result }), { headers: JSON_TYPE });
}

/** A dump is as long as the service has objects, so it has a limit of its own. */
export function addDumpPaths(app: Hono<{ Bindings: HttpBindings }>, dumps: HnsDumps): void {
  app.get(DUMP_PATH, async () => answer(await dumps.dump()));
  app.post(
    RESTORE_PATH,
    bodyLimit({ maxSize: LIMITS.httpResponseBytesMax, onError: tooLarge }),
    async (context: Context) => {
      const body = parseAnswerText(await context.req.text());
      return answer({ notes: await dumps.restore(parseRestoreRequest(body)) });
    },
  );
}
