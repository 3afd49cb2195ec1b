/** HNS as programs meet it while its service does not run. */
import type { Guid, HcnObjectKind, JsonObject } from "../../hcn/client.ts";
import { HcnError } from "../../hcn/error.ts";
import { ForwardingHcnClient } from "../../hcn/forwarding-client.ts";

/** ERROR_SERVICE_DISABLED (winerror.h 1058): nobody can start the service on demand. */
const DISABLED = {
  Error:
    "The service cannot be started, either because it is disabled or because it has no enabled devices associated with it. ",
  ErrorCode: 0x8007_0422,
};

function refuse(): Promise<never> {
  return Promise.reject(
    new HcnError("unknown", { reported: DISABLED, explanation: "hns-service-not-running" }),
  );
}

export class StoppedHns extends ForwardingHcnClient {
  override enumerate(): Promise<readonly Guid[]> {
    return refuse();
  }

  override create(): Promise<Guid> {
    return refuse();
  }

  override query(): Promise<JsonObject> {
    return refuse();
  }

  override modify(): Promise<void> {
    return refuse();
  }

  override delete(_kind: HcnObjectKind, _id: Guid): Promise<void> {
    return refuse();
  }

  override call(): Promise<JsonObject> {
    return refuse();
  }
}
