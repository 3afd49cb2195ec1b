import { describe, expect, it } from "vitest";
import type { SessionEvent } from "../session/session.ts";
import { EventHistory } from "./held-cluster.ts";

function event(id: number): SessionEvent {
  return { id } as SessionEvent;
}

describe("who waits for the next event", () => {
  it("is called once, with that event or with a call to wake, and never when it has taken itself back", () => {
    const history = new EventHistory(2);
    const called: string[] = [];
    const wait = (name: string): (() => void) => history.onNext(() => called.push(name));
    wait("first");
    const takeBack = wait("second");
    takeBack();
    history.add(event(1));
    history.add(event(2));
    expect(called).toEqual(["first"]);
    wait("third");
    history.wake();
    history.wake();
    expect(called).toEqual(["first", "third"]);
  });
});

describe("the events behind an id", () => {
  it("are those that are kept, with how many are not", () => {
    const history = new EventHistory(2);
    expect(history.after(0)).toEqual({ missed: 0, events: [] });
    for (let id = 5; id <= 9; id++) history.add(event(id));
    expect(history.newestId).toBe(9);
    // What came before the first event that was heard here was never here.
    expect(history.after(0)).toEqual({ missed: 3, events: [event(8), event(9)] });
    expect(history.after(6)).toEqual({ missed: 1, events: [event(8), event(9)] });
    expect(history.after(8)).toEqual({ missed: 0, events: [event(9)] });
    expect(history.after(9)).toEqual({ missed: 0, events: [] });
    expect(history.after(99)).toEqual({ missed: 0, events: [] });
  });
});
