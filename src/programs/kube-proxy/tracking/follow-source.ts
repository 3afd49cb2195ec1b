/** Feeds `ProxyObjects` from wherever Kubernetes objects come from. */
import type { KubeReader } from "#contracts/kubernetes/source.ts";
import type { ProxyObjects } from "./proxy-objects.ts";

/**
 * Brings all Services and EndpointSlices of `source` to `objects` and keeps them there. `onChange` is called after
 * each later event: the caller runs syncs when it likes.
 * @returns what ends it.
 * @throws KubeError when the source has forgotten the changes between list and watch: call again, which also takes
 * away what is gone since.
 */
export async function followSource(
  source: KubeReader,
  objects: ProxyObjects,
  onChange: () => void = () => undefined,
): Promise<() => void> {
  const services = await source.list("Service");
  objects.servicesListed(services.items);
  const slices = await source.list("EndpointSlice");
  objects.endpointSlicesListed(slices.items);
  const stopServices = source.watch("Service", services.resourceVersion, (event) => {
    objects.serviceChanged(event.object, event.type === "DELETED" ? undefined : event.object);
    onChange();
  });
  try {
    const stopSlices = source.watch("EndpointSlice", slices.resourceVersion, (event) => {
      objects.endpointSliceChanged(event.object, event.type === "DELETED" ? undefined : event.object);
      onChange();
    });
    return () => {
      stopServices();
      stopSlices();
    };
  } catch (error) {
    stopServices();
    throw error;
  }
}
