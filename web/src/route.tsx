/** Pages by their addresses: each is a deep link. */
import type { ComponentChildren } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { visibleText } from "#core/base/visible-text.ts";
import { BASE } from "./client.ts";

export interface Route {
  /** `walk`, `node/win-1`: what follows the token. */
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

/** A part of the address; one that is written wrongly stays as it is. */
function partOf(written: string): string {
  try {
    return decodeURIComponent(written);
  } catch {
    return written;
  }
}

/** An address comes from others, as names do. */
function visibleQuery(): [name: string, value: string][] {
  return [...new URLSearchParams(location.search)].map(([name, value]) => [name, visibleText(value)]);
}

function currentRoute(): Route {
  const path = location.pathname.slice(BASE.length + 1).split("/");
  return {
    path: path.map((part) => visibleText(partOf(part))),
    query: new URLSearchParams(visibleQuery()),
  };
}

export function hrefOf(path: string, query: Readonly<Record<string, string | undefined>> = {}): string {
  const fields = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === "" ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return `${BASE}/${path}${fields.length === 0 ? "" : `?${fields.join("&")}`}`;
}

export function navigate(href: string): void {
  history.pushState(undefined, "", href);
  dispatchEvent(new PopStateEvent("popstate", { state: NAVIGATED }));
}

/** Says that a link was followed, not the browser's own way back. */
const NAVIGATED = "navigated";

/** A field of a form that holds text. */
export function textOf(data: FormData, name: string): string {
  const value = data.get(name);
  return typeof value === "string" ? value : "";
}

export function useRoute(): Route {
  const [route, setRoute] = useState(currentRoute);
  const isNew = useRef(false);
  const page = useRef(route.path[0]);
  useEffect(() => {
    const update = ({ state }: PopStateEvent): void => {
      isNew.current = state === NAVIGATED;
      setRoute(currentRoute());
    };
    addEventListener("popstate", update);
    return () => removeEventListener("popstate", update);
  }, []);
  // The new page stands there by now: to focus before would have the browser lay out the one that goes. What is chosen on a
  // page keeps the focus, and the page its place.
  useLayoutEffect(() => {
    const isOther = page.current !== route.path[0];
    page.current = route.path[0];
    if (!isNew.current) return;
    isNew.current = false;
    if (!isOther && document.activeElement !== document.body) return;
    document.querySelector<HTMLElement>("main")?.focus({ preventScroll: true });
    if (isOther) scrollTo(0, 0);
  }, [route]);
  return route;
}

/** A link within the pages; with a modifier key the browser does what it always does. */
export function Link({
  href,
  children,
  ...rest
}: {
  readonly href: string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly title?: string;
  readonly "aria-current"?: "page";
}) {
  const follow = (event: MouseEvent): void => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
    event.preventDefault();
    navigate(href);
  };
  return (
    <a href={href} onClick={follow} {...rest}>
      {children}
    </a>
  );
}
